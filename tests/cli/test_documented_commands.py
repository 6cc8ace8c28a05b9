"""Every command shown in README and docs is run as it stands there, mistakes included."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import click
import pytest

import headwater as hw
from headwater.cli import main

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]

BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(headwater [^`]+)`")
ROW = re.compile(r"^\|[^|]*\| `(headwater [^`]+)` \| ([^|]+) \| (\d+) \|$", re.MULTILINE)

SHORTER = {
    "headwater demo --seed 1": "headwater demo --seed 1 --events 1000",
    "headwater demo --live": "headwater demo --live --minutes 0.05",
}
"""What is run in place of a command that takes long; nothing else differs."""
WITHOUT_DATA = {
    "headwater study recommended --data vote,wdbc --repeats 3": "none of its data sets is there"
}
"""What needs data sets, of which there are none here, and what is said to that."""
PARSED_ONLY = {
    "headwater datasets fetch a9a",
    "headwater serve",
    "headwater work --kafka localhost:9092 --events plant --answers answers --questions questions"
    " --decisions decisions --dead dead --db postgresql://localhost/plant",
    "headwater work --kafka localhost:9092 --reports reports --models models --answers answers"
    " --questions questions --dead dead --db postgresql://localhost/plant",
    "headwater decide --kafka localhost:9092 --events plant --reports reports --models models"
    " --decisions decisions --dead dead",
    "headwater work --mqtt localhost --events plant/+/events --answers plant/answers"
    " --questions plant/questions --db plant.db",
    "headwater serve --db reviews.db --learner Spring --set multiclass=true",
    "headwater label reviews.csv --classes no,yes --out labelled.jsonl --save model.hw",
    "headwater label tasks.jsonl --text text --ignore _input_hash,_task_hash --classes no,yes"
    " --out labelled.jsonl",
    "headwater label reviews.csv",
    "headwater label reviews.csv --out labelled.jsonl",
}
"""What needs the network, or runs until it is stopped: tests/datasets fetches from a folder, and
tests/service, tests/demo and tests/connectors stop it."""


ANSWERED_BY_PEOPLE = {"desk.md"}
"""Pages on which people fill in a file between two commands; tests/live runs them."""
WITH_A_SERVICE = {"serve.md", "integrate.md", "operate.md", "secure.md"}
"""Pages whose commands need a running service; tests/service runs them."""


def shown(page: Path) -> list[str]:
    """The lines of a page's shell blocks that call headwater, without their comments."""
    lines = [line for block in BLOCK.findall(page.read_text()) for line in block.splitlines()]
    lines = [line.partition("  #")[0].strip() for line in lines]
    return [line for line in lines if re.search(r"(^|\| )headwater ", line)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages speak of, small."""
    place = tmp_path_factory.mktemp("files")
    days = ("monday", "tuesday", "wednesday", "events", "tomorrow")
    for seed, day in enumerate(days, 1):
        network = hw.streams.SensorNetwork(300, seed=seed)
        with (place / f"{day}.jsonl").open("w") as file:
            for number, (x, y) in enumerate(network):
                event = {"id": f"{day}-{number}", **x}
                event |= {} if day in ("wednesday", "tomorrow") else {"y": bool(y)}
                print(json.dumps(event), file=file)
    text = (place / "monday.jsonl").read_text()
    (place / "monday.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (place / "cut.jsonl.gz").write_bytes(gzip.compress(text.encode())[:-100])
    events = [json.loads(line) for line in text.splitlines()]
    columns = sorted({name for event in events for name in event})
    rows = [",".join(str(event.get(column, "")) for column in columns) for event in events]
    (place / "monday.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    small = {
        "fruit.csv": "sweet,sour,kind\n1,0,apple\n0,1,lemon\n2,1,plum\n",
        "mail.csv": "offer,hello,kind\n0,1,ham\n1,0,spam\n1,,spam\n",
        "unlabelled.csv": "rain,wind\n1,2\n",
        "unlabelled.jsonl": '{"rain": 1.0}\n{"rain": 2.0}\n',
        "half.jsonl": '{"rain": 1.0, "y": true}\n{"rain": -1.0, "y": false}\n{"rain": 2.0, "y"',
        "once.jsonl": '{"rain": 1.0, "y": true}\n',
        "empty.jsonl": "",
        "empty.csv": "",
        "events.dat": "1 2 3\n",
    }
    for name, content in small.items():
        (place / name).write_text(content)
    (place / "junk.jsonl").write_bytes(bytes([0x93, 0x00, 0xFF, 0x0A, 0x8B]) * 100)
    for name in ("monday.hw", "tuesday.hw", "model.hw"):
        model = hw.Spring()
        model.simulate_file(place / name.replace(".hw", ".jsonl").replace("model", "events"))
        model.save(place / name)
    (place / "cut.hw").write_bytes((place / "monday.hw").read_bytes()[:-9])
    return place


def run(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A line of shell in that folder, with the installed command and without data sets."""
    scripts = sysconfig.get_path("scripts")
    env = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HEADWATER_DATA": str(place / "no data"),
        "PYTHONPATH": os.pathsep.join([str(Path(hw.__file__).parent.parent)]),
    }
    return subprocess.run(
        line,
        shell=True,
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def parse(line: str) -> None:
    """Read a command's words and options as the command does, and go no further."""
    words = shlex.split(line)[1:]
    if words[0].startswith("-"):
        words = []
    command: click.Command = main
    context = click.Context(main, info_name="headwater")
    while words and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            break
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    assert command is not main, f"there is no command {line}"
    if words:
        command.make_context(command.name, words, parent=context.parent)


def test_there_are_commands_to_run() -> None:
    readme = (PROJECT / "README.md").read_text()
    assert len(re.findall(r"^\$ headwater ", readme, re.MULTILINE)) >= 3  # test_journey runs them
    assert sum(len(shown(page)) for page in PAGES) > 20


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if shown(page) and page.name not in WITH_A_SERVICE],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_run_one_after_the_other(
    page: Path, folder: Path, tmp_path: Path
) -> None:
    if page.name == "studies.md":
        pytest.importorskip("matplotlib")
        pytest.importorskip("joblib")
    place = shutil.copytree(folder, tmp_path / "files")
    for line in shown(page):
        if line in PARSED_ONLY or page.name in ANSWERED_BY_PEOPLE:
            parse(line.partition(" > ")[0])
            continue
        finished = run(SHORTER.get(line, line), place)
        if line in WITHOUT_DATA:
            assert finished.returncode == 2
            assert WITHOUT_DATA[line] in finished.stderr
            continue
        assert finished.returncode == 0, f"{line}: {finished.stderr}"
        assert "Traceback" not in finished.stderr


def test_what_is_run_shorter_or_only_parsed_is_shown_somewhere() -> None:
    lines = {line for page in PAGES for line in shown(page)}
    assert {*SHORTER, *PARSED_ONLY} <= lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_named_in_the_text_exist_with_their_options(page: Path) -> None:
    for line in SPAN.findall(page.read_text()):
        if line != "headwater COMMAND --help":
            parse(line)


WRONG = ROW.findall((PROJECT / "docs/reference/command-line.md").read_text())


def test_the_page_says_what_goes_wrong() -> None:
    text = " ".join(what for what, _, _ in WRONG)
    for file in ("nowhere", "unlabelled.csv", "half", "junk", "empty", "once"):
        assert file in text


@pytest.mark.parametrize(("line", "sentence", "code"), WRONG, ids=[line for line, _, _ in WRONG])
def test_a_mistake_gets_the_sentence_and_the_exit_code_of_the_page(
    line: str, sentence: str, code: str, folder: Path, tmp_path: Path
) -> None:
    place = shutil.copytree(folder, tmp_path / "files")
    finished = run(line, place)
    assert sentence in finished.stderr
    assert finished.returncode == int(code)
    assert "Traceback" not in finished.stderr
    if code != "0":
        assert finished.stdout == ""
        assert len(finished.stderr.splitlines()) == 1
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before
