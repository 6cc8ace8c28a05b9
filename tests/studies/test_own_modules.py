"""A study's own modules: found beside it, last of all, and sent along to workers elsewhere."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import ParameterError
from headwater.studies import own_modules
from headwater.studies.own_modules import make_importable, named_modules, pack
from headwater.studies.plan_file import read_study

pytest.importorskip("joblib")

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "studies.md"
COMMAND = "from headwater.cli import main; main()"


def block(language: str) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The study of docs/papers/studies.md, a little shorter, in a folder of its own."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text("import mine_too\n" + block("python"))
    (folder / "mine_too.py").write_text("")
    text = block("toml").replace("repeats = 4", "repeats = 2").replace("[0.1, 1, 10]", "[1]")
    (folder / "mine.toml").write_text(text.replace('figure = "rates"\n', ""))
    (tmp_path / "elsewhere").mkdir()
    return folder


def run(
    mine: Path, *options: str, code: str = COMMAND, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """The study, run from another folder and as installed: -P leaves the folder off the path."""
    return subprocess.run(
        [sys.executable, "-P", "-c", code, "study", str(mine / "mine.toml"), *options],
        cwd=mine.parent / "elsewhere",
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def algorithms(mine: Path) -> list[str]:
    with (mine.parent / "elsewhere/mine-results/table.csv").open() as file:
        return [row["algorithm"] for row in csv.DictReader(file)]


def test_a_module_beside_a_study_is_not_taken_for_an_installed_one(mine: Path) -> None:
    for name in ("joblib", "numpy", "scipy", "matplotlib", "statistics"):
        (mine / f"{name}.py").write_text("raise SystemExit('the wrong one')")
    ended = run(mine, "--jobs", "2")
    assert ended.returncode == 0, ended.stderr
    assert "the wrong one" not in ended.stderr
    assert algorithms(mine) == ["careful", "careful", "FLLS-II", "FLLS-II"]


def test_the_folder_is_last_on_the_path_and_only_of_a_study_that_names_modules(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    study = read_study(mine / "mine.toml")
    assert named_modules(study) == ["mine"]
    make_importable(study, mine)
    make_importable(study, mine)
    assert sys.path[-1] == str(mine)
    assert sys.path.count(str(mine)) == 1
    (mine / "plain.toml").write_text('title = "Plain"\ndata = ["vote"]\n[learners.PA]')
    other = mine.parent / "elsewhere"
    make_importable(read_study(mine / "plain.toml"), other)
    assert str(other) not in sys.path


def test_a_module_that_is_hidden_by_an_installed_one_is_named(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (mine / "statistics.py").write_text((mine / "mine.py").read_text())
    text = (mine / "mine.toml").read_text().replace("mine:", "statistics:")
    (mine / "mine.toml").write_text(text)
    with pytest.raises(ParameterError, match=r"statistics beside the study is hidden by .*statist"):
        make_importable(read_study(mine / "mine.toml"), mine)


def test_what_is_installed_is_not_sent_along(mine: Path) -> None:
    text = (mine / "mine.toml").read_text().replace("mine:", "statistics:")
    (mine / "mine.toml").write_text(text)
    assert pack(read_study(mine / "mine.toml")).data == b""


def test_modules_are_installed_once_and_from_their_own_file(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(own_modules, "_DIGESTS", set())
    study = read_study(mine / "mine.toml")
    make_importable(study, mine)
    try:
        archive = pack(study)
        assert archive == pack(study), "the same modules, the same bytes"
        before = len(sys.path)
        archive.install()
        archive.install()
        assert len(sys.path) == before + 1
    finally:
        for name in ("mine", "mine_too"):
            sys.modules.pop(name, None)


ON_DASK = """
import distributed

if __name__ == "__main__":
    import os
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        os.environ["DASK_SCHEDULER_ADDRESS"] = cluster.scheduler_address
        from headwater.cli import main
        main()
"""


def test_dask_workers_elsewhere_get_the_study_s_modules(mine: Path) -> None:
    pytest.importorskip("distributed")
    script = mine.parent / "elsewhere/on_dask.py"
    script.write_text(ON_DASK)
    ended = subprocess.run(
        [sys.executable, "-P", str(script), "study", str(mine / "mine.toml"), "--backend", "dask"],
        cwd=script.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert algorithms(mine) == ["careful", "careful", "FLLS-II", "FLLS-II"]


def test_ray_gives_what_one_process_gives(mine: Path) -> None:
    pytest.importorskip("ray")
    assert run(mine, "--jobs", "1").returncode == 0
    results = mine.parent / "elsewhere/mine-results"
    here = (results / "runs.jsonl").read_bytes()
    results.rename(mine.parent / "here")
    ended = run(mine, "--backend", "ray")
    assert ended.returncode == 0, ended.stderr
    assert (results / "runs.jsonl").read_bytes() == here


def test_without_ray_the_sentence_says_what_to_install(mine: Path) -> None:
    code = "import sys; sys.modules['ray'] = None; " + COMMAND
    ended = run(mine, "--backend", "ray", code=code)
    assert ended.returncode == 2
    assert "--backend: the backend ray needs it: pip install ray." in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_a_sentence_that_names_the_file(mine: Path) -> None:
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)); {COMMAND}"
    )
    ended = run(mine, "--jobs", "1", code=code)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ".jsonl: File too large." in ended.stderr
