"""`headwater run`, `predict`, `show` and `diff`: they do what the package does, and say so."""

import csv
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import headwater as hw
from headwater.cli import main
from headwater.cli.learner_options import build, value_of
from headwater.learners.feature_history import born, gone, heaviest, moves
from headwater.types import Feature

COMMAND = [sys.executable, "-c", "from headwater.cli import main; main(prog_name='headwater')"]


def call(*arguments: object) -> Result:
    """The command in this process; it must not fail in a way that is not a sentence."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def told(*arguments: object) -> Any:
    """What the command says as JSON."""
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A sensor network as JSON lines."""
    return write(tmp_path / "events.jsonl", seed=3)


def write(path: Path, seed: int, count: int = 400) -> Path:
    with path.open("w") as file:
        for number, (x, y) in enumerate(hw.streams.SensorNetwork(count, seed=seed)):
            print(json.dumps({"id": f"e{number}", **x, "y": bool(y)}), file=file)
    return path


# run

LINEAR = ["--learner", "Linear"]
PLAIN = hw.Linear(update=hw.update.DualLogistic(balance=False))
MODELS: list[tuple[list[str], hw.Learner]] = [
    ([], hw.Spring()),
    (["--budget", "0.2"], hw.Spring(label_rate=0.2)),
    (["--set", "label_rate=0.2", "--seed", "4"], hw.Spring(label_rate=0.2, seed=4)),
    (["--learner", "spring", "--set", "max_features=9"], hw.Spring(max_features=9)),
    (["--set", "classes=false,true"], hw.Spring(classes=(False, True))),
    (["--set", "multiclass=true"], hw.Spring(multiclass=True)),
    (LINEAR, hw.Linear()),
    ([*LINEAR, "--budget", "0.2"], hw.Linear(query=hw.query.Budget(0.2))),
    ([*LINEAR, "--set", "update=dual_logistic", "--set", "update.balance=false"], PLAIN),
    (["--learner", "RFLLS-II", "--budget", "0.2"], hw.named("RFLLS-II", rate=0.2)),
    (["--learner", "OLVF", "--budget", "0.2"], hw.OLVF(query=hw.query.Budget(0.2))),
    ([*LINEAR, "--budget", "0.2", "--set", "query=quota"], hw.Linear(query=hw.query.Quota(0.2))),
    (["--learner", "FLLS", "--set", "query_width=.5"], hw.named("FLLS", query_width=0.5)),
    (
        [*LINEAR, "--set", "update=pa1", "--set", "update.C=0.5"],
        hw.Linear(update=hw.update.PA1(0.5)),
    ),
    ([*LINEAR, "--set", "query.rate=0.3"], hw.Linear(query=hw.query.Budget(0.3))),
    ([*LINEAR, "--set", "scale=none"], hw.Linear(scale=None)),
    ([*LINEAR, "--set", "multiclass=true"], hw.Linear(multiclass=True)),
    (["--learner", "OLSF", "--set", "l1_radius=inf"], hw.named("OLSF", l1_radius=float("inf"))),
]


@pytest.mark.parametrize(
    ("options", "model"), MODELS, ids=[" ".join(o) or "nothing" for o, _ in MODELS]
)
def test_a_run_is_simulate_file_to_the_last_bit(
    options: list[str], model: hw.Learner, events: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "model.hw"
    summary = told("run", events, "--id", "id", "--simulate", "--save", saved, *options)
    model = hw.from_bytes(model.to_bytes())  # a fresh one for each test
    run = model.simulate_file(events, columns=hw.Columns(label="y", id="id"))
    assert saved.read_bytes() == model.to_bytes()
    assert summary["events"] == run.events == 400
    assert summary["errors"] == run.mistakes
    assert summary["error_rate"] == run.error_rate
    assert (summary["asked"], summary["learned"]) == (run.asked, run.learned)
    assert summary["features"] == len(model.features())
    assert summary["saved"] == str(saved)


def test_a_run_learns_every_label_and_asks_about_events_without_one(
    events: Path, tmp_path: Path
) -> None:
    saved, some = tmp_path / "model.hw", tmp_path / "some.jsonl"
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    for number, line in enumerate(lines):
        if number % 3 == 0:
            line["y"] = None
    some.write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = told("run", some, "--id", "id", "--save", saved)
    model = hw.Spring()
    run = model.learn_file(some, columns=hw.Columns(label="y", id="id"))
    assert saved.read_bytes() == model.to_bytes()
    assert summary["learned"] == summary["labelled"] == run.learned == 266
    assert summary["asked"] == summary["unanswered"] == run.asked > 0
    text = call("run", some, "--id", "id").stdout
    said = f"400 events: 266 labels learned, {run.asked} asked for, {run.asked} of them not there."
    assert text.splitlines()[0] == said
    loop = hw.Linear()
    for line in lines:
        x = {name: value for name, value in line.items() if name not in ("id", "y")}
        if line.get("y") is None:
            loop.decide_one(x)
        else:
            loop.learn_one(x, line["y"])
    plain = hw.Linear()
    plain.learn_file(some, id="id")
    assert plain.to_bytes() == loop.to_bytes()


def test_a_run_goes_on_with_a_saved_model_as_if_it_had_never_stopped(
    events: Path, tmp_path: Path
) -> None:
    lines = events.read_text().splitlines(keepends=True)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("".join(lines[:150]))
    second.write_text("".join(lines[150:]))
    half, whole = tmp_path / "half.hw", tmp_path / "whole.hw"
    told("run", first, "--id", "id", "--save", half)
    summary = told("run", second, "--id", "id", "--resume", half, "--save", half)
    told("run", events, "--id", "id", "--save", whole)
    assert half.read_bytes() == whole.read_bytes()
    assert summary["events"] == 250


def test_decisions_are_written_as_simulate_file_writes_them(events: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    told("run", events, "--id", "id", "--simulate", "--decisions", here)
    hw.Spring().simulate_file(events, id="id", decisions=there)
    assert here.read_text() == there.read_text()


def test_regression_tells_the_mean_absolute_error_and_no_error_rate(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("rain,y\n1,2.5\n2,4.5\n3,7\n")
    summary = told("run", path, "--learner", "PARegressor")
    run = hw.PARegressor().simulate_file(path)
    assert summary["mean_absolute_error"] == run.mean_absolute_error
    assert "error_rate" not in summary
    assert "error, on average" in call("run", path, "--learner", "PARegressor").stdout


def test_people_get_tables_with_names_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    odd = {"[red]markup": 2.0, "tab\there": -1.0, "site": "roof"}
    path.write_text("\n".join(json.dumps({**odd, "y": y}) for y in (True, True, False)) + "\n")
    result = call("run", path, "--learner", "Linear", "--set", "scale=none")
    assert result.exit_code == 0
    for name in ("[red]markup", "'tab\\there'", "site=roof", "(intercept)"):
        assert name in result.stdout
    assert "labels asked for" in result.stdout
    assert result.stderr == ""


def test_lists_are_as_long_as_wanted(events: Path) -> None:
    assert len(told("run", events, "--id", "id", "--top", "3")["heaviest"]) == 3
    assert told("run", events, "--id", "id", "--top", "0")["heaviest"] == []


def test_skipped_lines_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"a": 1, "y": 1}\n' + "{\n" * 12 + '{"a": -1, "y": 0}\n')
    result = call("run", path, "--on-error", "skip", "--budget", "1", "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert (summary["events"], summary["skipped"]) == (2, 12)
    assert len(summary["problems"]) == 10
    assert result.stderr.startswith("Lines skipped: 12\n")
    assert "line 2:" in result.stderr


def test_a_file_of_which_no_line_can_be_used_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("{\n{\n")
    result = call("run", path, "--on-error", "skip")
    assert result.exit_code == 2
    assert "none of its 2 lines can be used" in result.stderr
    assert "line 1:" in result.stderr


def test_several_classes_of_which_one_was_met_is_worth_a_note(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"a": 1, "y": "plum"}\n')
    result = call("run", path, "--set", "multiclass=true", "--budget", "1")
    assert result.exit_code == 0
    assert "Every label learned was 'plum'" in result.stderr


def test_a_learner_that_never_asks_is_worth_a_note(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"a": 1, "y": true}\n')
    result = call("run", path, *LINEAR, "--budget", "0", "--simulate")
    assert result.exit_code == 0
    assert "No label was learned" in result.stderr


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_run_as_lines_do(suffix: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"rain": [1.0, 2.0, -1.0], "y": [1, 1, 0]})
    path = tmp_path / f"days.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="uncompressed")
    assert told("run", path, "--budget", "1")["learned"] == 3


MISTAKES = [
    (["--set", "C"], "--set: expected NAME=VALUE, got 'C'."),
    (["--set", "seed=1", "--set", "seed=2"], "--set: seed is given twice."),
    (["--set", "C=1"], "Spring has no parameter 'C'; it has classes, label_rate"),
    (["--set", "update.C=1"], "Components are parameters of Linear: --learner Linear."),
    (["--set", "seed.D=1"], "seed of Spring has no parameters of its own."),
    ([*LINEAR, "--set", "C=1"], "A component's own are set like update.C=0.5."),
    ([*LINEAR, "--set", "update.D=1"], "arow of update has no parameter 'D'; it has update.C"),
    ([*LINEAR, "--set", "sparsify.share=0.1"], "sparsify of Linear is none; fill it first"),
    ([*LINEAR, "--set", "update=pa9"], "update must be one of"),
    (["--set", "multiclass=maybe"], "multiclass must be True or False, got 'maybe'."),
    (["--budget", "7"], "label_rate must be in (0, 1], got 7"),
    ([*LINEAR, "--budget", "7"], "rate must be in [0, 1], got 7"),
    (["--budget", "many"], "'many' is not a valid float"),
    ([*LINEAR, "--budget", "0.1", "--set", "query.rate=0.2"], "leave out --set query.NAME=VALUE"),
    ([*LINEAR, "--budget", "0.1", "--set", "query=margin"], "query must be a rule that has a rate"),
    (["--budget", "0.1", "--learner", "OLSF"], "OLSF asks for every label."),
    (["--learner", "Learner"], "there is no learner 'Learner'"),
    (["--learner", "os:system"], "there is no learner 'os:system'"),
    (["--learner", "zzz"], "there is no learner 'zzz'; there are"),
    (["--resume", "model.hw", "--seed", "1"], "--resume brings the learner"),
    (["--resume", "nowhere.hw"], "nowhere.hw: No such file or directory."),
    (["--label", "id"], "'id' has two roles, label and id; leave one out."),
    (["--format", "xml"], "'xml' is not one of"),
    (["--decisions", "nowhere/d.csv"], "--decisions: nowhere/d.csv cannot be written"),
    (["--decisions", "events.jsonl"], "--decisions: events.jsonl is also read here"),
]


@pytest.mark.parametrize(("options", "sentence"), MISTAKES, ids=[" ".join(o) for o, _ in MISTAKES])
def test_a_mistake_is_a_sentence_before_any_work(
    options: list[str], sentence: str, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(events.parent)
    result = call("run", "events.jsonl", "--id", "id", *options, "--save", "new.hw")
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert sorted(path.name for path in events.parent.iterdir()) == ["events.jsonl"]


def test_values_are_read_as_json_or_python_writes_them() -> None:
    texts = ("1", "0.5", ".5", "1e3", "true", "False", "none", "null", "inf", "pa1", "0,1", '["a"]')
    expected = (1, 0.5, 0.5, 1e3, True, False, None, None, float("inf"), "pa1", (0, 1), ("a",))
    assert tuple(map(value_of, texts)) == expected


def test_every_learner_of_the_package_can_be_named() -> None:
    for name in [*hw.names(), "Linear", "Spring", "PARegressor", "FESL", "SEL2", "OFSP"]:
        assert isinstance(build(name, [], None, 5), hw.Learner)
        assert build(name, [], None, 5).parameters()["seed"] == 5


# standard input, the bar, Ctrl-C


def test_standard_input_is_a_file_like_any_other(events: Path, tmp_path: Path) -> None:
    saved, same = tmp_path / "saved.hw", tmp_path / "same.hw"
    arguments = ["run", "-", "--format", "jsonl", "--id", "id", "--save", str(saved), "--json"]
    with events.open("rb") as file:
        finished = subprocess.run(
            [*COMMAND, *arguments], stdin=file, capture_output=True, check=True
        )
    assert finished.stderr == b""  # no bar where there is no terminal
    told("run", events, "--id", "id", "--save", same)
    assert saved.read_bytes() == same.read_bytes()


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ([], "standard input does not say its format; say it with --format"),
        (["--format", "parquet"], "standard input: parquet is read from a file only."),
        (["--format", "jsonl"], "standard input: it is empty; there are no events."),
    ],
)
def test_mistakes_with_standard_input_are_sentences(form: list[str], sentence: str) -> None:
    finished = subprocess.run(
        [*COMMAND, "run", "-", *form],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 2
    assert sentence in finished.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_ctrl_c_saves_what_was_learned_and_says_so_and_a_terminal_shows_a_bar(
    events: Path, tmp_path: Path
) -> None:
    import pty

    saved = tmp_path / "saved.hw"
    terminal, other_end = pty.openpty()
    arguments = ["run", "-", "--format", "jsonl", "--id", "id", "--save", str(saved), "--json"]
    running = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=other_end,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(other_end)
    assert running.stdin is not None
    lines = events.read_bytes().splitlines(keepends=True)
    seen = b""
    for part in range(0, len(lines), 80):  # reports come between lines, a few times per second
        running.stdin.write(b"".join(lines[part : part + 80]))
        running.stdin.flush()
        if select.select([terminal], [], [], 0.3)[0]:
            seen += os.read(terminal, 65_536)
    while b" events, " not in seen:
        assert select.select([terminal], [], [], 60)[0], seen
        seen += os.read(terminal, 65_536)
    assert b"labels asked for" in seen
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)  # while it waits for more
    assert running.wait(60) == 130
    assert running.stdout is not None
    summary = json.loads(running.stdout.read())
    for stream in (running.stdin, running.stdout):
        stream.close()
    os.close(terminal)
    assert summary["stopped"]
    model = hw.Spring()
    done = tmp_path / "done.jsonl"
    done.write_bytes(b"".join(lines[: summary["events"]]))
    model.learn_file(done, columns=hw.Columns(label="y", id="id"))
    assert saved.read_bytes() == model.to_bytes()


# predict


@pytest.fixture
def model(events: Path, tmp_path: Path) -> Path:
    """A model that has learned the events."""
    saved = tmp_path / "model.hw"
    told("run", events, "--id", "id", "--save", saved)
    return saved


def test_predictions_are_those_of_the_model_which_stays_as_it_is(
    model: Path, tmp_path: Path
) -> None:
    file = write(tmp_path / "new.jsonl", seed=3, count=50)
    before = model.read_bytes()
    text = call("predict", model, file, "--label", "y", "--id", "id").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    learner = hw.load(model)
    assert len(rows) == 50
    for row, (id, x, _) in zip(rows, hw.open(file, id="id").records(), strict=True):
        assert row["id"] == id
        assert row["prediction"] == str(learner.predict_one(x)).lower()
        assert float(row["margin"]) == learner.margin_one(x)
        assert float(row["query_probability"]) == learner.explain_one(x).query_probability
        assert float(row["probability_true"]) == learner.predict_proba_one(x)[True]
        assert float(row["probability_false"]) == learner.predict_proba_one(x)[False]
    assert model.read_bytes() == before == learner.to_bytes()


@pytest.mark.parametrize("arguments", [["--json"], ["--out", "p.jsonl"], ["--json", "--out", "p"]])
def test_json_lines_hold_what_csv_holds(
    arguments: list[str], model: Path, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    common = ["predict", model, events, "--label", "y", "--id", "id"]
    table = list(csv.DictReader(io.StringIO(call(*common).stdout)))
    output = call(*common, *arguments).stdout
    if "--out" in arguments:
        assert output == ""
        output = Path(arguments[-1]).read_text()
    lines = [json.loads(line) for line in output.splitlines()]
    assert len(lines) == len(table) == 400
    for line, row in zip(lines, table, strict=True):
        assert line["prediction"] is (row["prediction"] == "true")
        assert line["margin"] == float(row["margin"])
        assert line["probabilities"]["true"] == float(row["probability_true"])
        assert (line["id"], line["query_probability"]) == (
            row["id"],
            float(row["query_probability"]),
        )


def test_a_number_is_predicted_without_probabilities(tmp_path: Path) -> None:
    regressor = hw.PARegressor()
    regressor.learn_one({"rain": 1.0}, 2.0)
    regressor.save(tmp_path / "model.hw")
    (tmp_path / "days.csv").write_text("rain\n1\n-1\n")
    lines = call("predict", tmp_path / "model.hw", tmp_path / "days.csv").stdout.splitlines()
    expected = regressor.predict_one({"rain": 1.0})
    assert lines[0] == "id,prediction,margin,query_probability"
    assert lines[1] == f"0,{expected},{expected},1.0"


def test_several_classes_have_a_column_each(tmp_path: Path) -> None:
    learner = hw.MPAA()
    for sweet, kind in ((1.0, "apple"), (-1.0, "lemon, ripe"), (0.1, "plum")):
        learner.learn_one({"sweet": sweet}, kind)
    learner.save(tmp_path / "model.hw")
    (tmp_path / "fruit.csv").write_text("sweet\n1\n")
    text = call("predict", tmp_path / "model.hw", tmp_path / "fruit.csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    shares = {f"probability_{k}": v for k, v in learner.predict_proba_one({"sweet": 1.0}).items()}
    assert {key: float(rows[0][key]) for key in shares} == shares
    assert rows[0]["prediction"] == "apple"


def test_an_event_that_the_model_refuses_is_named_or_skipped(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"rain-01": 1}\n{"(intercept)": 1}\n{"rain-01":\n{"rain-01": 2}\n')
    stopped = call("predict", model, path)
    assert stopped.exit_code == 2
    assert "odd.jsonl, line 2: feature '(intercept)' is the learner's own" in stopped.stderr
    skipped = call("predict", model, path, "--on-error", "skip")
    assert skipped.exit_code == 0
    assert "Lines skipped: 2" in skipped.stderr
    assert "line 3:" in skipped.stderr
    assert len(skipped.stdout.splitlines()) == 1 + 2


def test_predictions_do_not_overwrite_what_is_read(model: Path, events: Path) -> None:
    for path in (model, events):
        before = path.read_bytes()
        result = call("predict", model, events, "--out", path)
        assert result.exit_code == 2
        assert "is also read here" in result.stderr
        assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe of POSIX")
def test_a_reader_that_has_had_enough_is_no_traceback(model: Path, tmp_path: Path) -> None:
    many = write(tmp_path / "many.jsonl", seed=3, count=3_000)
    arguments = ["predict", str(model), str(many), "--label", "y"]
    running = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait(60) == 1
    running.stderr.close()


# show and diff


def test_show_tells_what_the_model_is(model: Path) -> None:
    learner = hw.load(model)
    shown = told("show", model, "--top", "2")
    assert (shown["learner"], shown["labels"]) == ("Spring", [False, True])
    counts = (learner.seen, learner.asked, 400)
    assert (shown["seen"], shown["asked"], shown["learned"]) == counts
    assert shown["parameters"]["label_rate"] == 0.05
    assert shown["bytes"] == model.stat().st_size
    weights = learner.weights()
    first = max(weights, key=lambda name: abs(weights[name]))
    assert shown["heaviest"][0] == {"name": first, "label": None, "weight": weights[first]}
    text = call("show", model).stdout
    for word in ("Spring", "label_rate", "events learned", str(first), "Born", "Gone"):
        assert word in text


def test_diff_tells_what_moved_and_what_was_gained_and_lost(tmp_path: Path) -> None:
    learner = hw.Linear(update="pa1", query="all", scale=None, intercept=False)
    learner.learn_one({"rain": 2.0}, True)  # a step of 1/4: rain 0.5
    learner.save(tmp_path / "a.hw")
    learner.learn_one({"rain": 1.0, "wind": 1.0}, False)  # loss 1.5, a step of 0.75
    learner.save(tmp_path / "b.hw")
    found = told("diff", tmp_path / "a.hw", tmp_path / "b.hw")
    assert not found["same"]
    assert found["moved"]["count"] == 2
    assert found["moved"]["weights"] == [
        {"name": "rain", "label": None, "before": 0.5, "after": -0.25, "change": -0.75},
        {"name": "wind", "label": None, "before": 0.0, "after": -0.75, "change": -0.75},
    ]
    assert found["gained"] == {"count": 1, "names": ["wind"]}
    assert found["lost"] == {"count": 0, "names": []}
    assert told("diff", tmp_path / "b.hw", tmp_path / "a.hw")["lost"]["names"] == ["wind"]
    text = call("diff", tmp_path / "a.hw", tmp_path / "b.hw").stdout
    assert "of 2 that moved" in text
    assert "Gained, with a weight in the second only: 1 (wind)" in text
    same = call("diff", tmp_path / "a.hw", tmp_path / "a.hw").stdout
    assert same == "The two models are the same, bit for bit.\n"


# The register


def test_the_heaviest_are_the_farthest_from_0_whatever_their_sign_and_class() -> None:
    features = [
        Feature("a", 1, 1, 1, {"x": 0.1, "y": -3.0}),
        Feature("b", 1, 1, 1, {"x": 2.0, "y": 0.0}),
    ]
    found = [(weight.name, weight.label) for weight in heaviest(features, 9)]
    assert found == [("a", "y"), ("b", "x"), ("a", "x")]


def test_born_are_those_of_the_last_tenth_of_what_this_run_learned() -> None:
    features = [Feature(f"f{first}", first, 200, 2, 1.0) for first in (1, 100, 180, 181, 190, 191)]
    assert [feature.name for feature in born(features, 200)] == ["f191", "f190", "f181"]
    assert [feature.name for feature in born(features, 200, since=100)] == ["f191"]
    assert born(features, 200, since=200) == []


def test_gone_are_those_silent_far_longer_than_they_used_to_be() -> None:
    always = Feature("always", 1, 89, 89, 1.0)  # every round, then 11 without it
    lately = Feature("lately", 1, 90, 90, 1.0)  # 10 without it
    rare = Feature("rare", 1, 61, 5, 1.0)  # every 15 rounds, 39 without it
    once = Feature("once", 1, 1, 1, 1.0)
    assert [feature.name for feature in gone([always, lately, rare, once], 100)] == ["always"]
    assert [feature.name for feature in gone([rare], 212)] == ["rare"]


def test_a_weight_that_did_not_move_is_no_move() -> None:
    before = [Feature("a", 1, 1, 1, 1.0), Feature("b", 1, 1, 1, 1.0)]
    after = [Feature("a", 1, 2, 2, 1.0), Feature("b", 1, 2, 2, 3.0)]
    assert [tuple(move) for move in moves(before, after)] == [("b", None, 1.0, 3.0)]
