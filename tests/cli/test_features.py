"""`headwater features` and the register in `headwater show`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import headwater as hw
from headwater.cli import main
from headwater.cli.feature_table import duration, moment, sentence, spark
from headwater.register import FeatureFinding


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose feature `b` is gone."""
    learner = hw.Spring(track=True)
    for hour in range(400):
        learner.tell_time(hour * 3_600.0)
        event = {"a": hour % 7, **({"b": hour % 5} if hour < 200 else {})}
        decision = learner.decide_one(event)
        if decision.asked:
            learner.answer(decision, hour % 7 > 3)
    path = tmp_path_factory.mktemp("model") / "plant.hw"
    learner.save(path)
    return path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_table_shows_states_and_findings(model: Path) -> None:
    output = said("features", str(model), "--top", "5")
    assert "gone" in output
    assert "absent for" in output
    assert "1970-01-09" in output  # when b was last seen
    only = said("features", str(model), "--state", "live", "--by", "weight")
    table = only.partition("Features of all")[0]
    assert "live" in table
    assert "gone" not in table


def test_json_has_every_feature_with_its_values(model: Path) -> None:
    told = json.loads(said("features", str(model), "--json"))
    assert told["states"] == {"new": 0, "live": 1, "silent": 0, "gone": 1, "back": 0}
    lives = {life["name"]: life for life in told["lives"]}
    assert lives["b"]["state"] == "gone"
    assert lives["a"]["arrivals"] == 400
    assert lives["a"]["values"][-1] == 399 % 7
    assert lives["a"]["weight"] != 0
    assert [one["kind"] for one in told["last"]] == ["silent", "gone"]


def test_show_counts_states_and_findings_of_a_learner_that_tracks(model: Path) -> None:
    assert "Features of all 400 events: 1 live, 1 gone" in said("show", str(model))
    assert json.loads(said("show", str(model), "--json"))["register"]["events"] == 400


def test_a_live_stream_is_shown_beside_its_writer(tmp_path: Path) -> None:
    with hw.live.open(tmp_path / "plant.db", learner=hw.Spring(track=True)) as plant:
        plant.receive({"a": 1.0}, id=1)
        assert "new" in said("features", "--db", str(tmp_path / "plant.db"))


def test_a_mistake_is_one_sentence(model: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    neither = runner.invoke(main, ["features"])
    assert (neither.exit_code, "expected a model file or --db" in neither.output) == (2, True)
    hw.Spring().save(tmp_path / "plain.hw")
    untracked = runner.invoke(main, ["features", str(tmp_path / "plain.hw")])
    assert (untracked.exit_code, "track=True" in untracked.output) == (2, True)


@pytest.mark.parametrize("verb", ["show", "features"])
def test_a_database_in_place_of_a_model_file_is_told_apart(verb: str, tmp_path: Path) -> None:
    url = str(tmp_path / "plant.db")
    with hw.live.open(url, learner=hw.Spring(track=True)) as plant:
        plant.receive({"a": 1.0}, id=1)
    result = CliRunner().invoke(main, [verb, url])
    assert (result.exit_code, f"`headwater status --db {url}`" in result.output) == (2, True)


def test_spark_lines_durations_and_moments() -> None:
    assert spark([]) == ""
    assert spark([2.0, 2.0]) == "▄▄"
    assert spark([-1e308, 1e308]) == "▁█"
    assert [duration(x, True) for x in (30.0, 7_200.0, 172_800.0)] == ["30 s", "2 h", "2 d"]
    assert moment(1_200, None) == "event 1,200"
    assert moment(1, 1e30) == "1e+30 s"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("born", "new, once per 1 h"),
        ("back", "back after 1 h"),
        ("changed scale", "from about 60 to 3600"),
        ("stuck", "stuck at 3600"),
        ("replaced", "replaced by b"),
    ],
)
def test_a_finding_is_a_sentence(kind: str, words: str) -> None:
    finding = FeatureFinding(1, 1, 0.0, kind, "a", 60.0, 3_600.0, "b")  # type: ignore[arg-type]
    assert words in sentence(finding, timed=True)


@pytest.mark.parametrize(("width", "heads"), [("80", 6), ("140", 8)])
def test_a_row_of_features_is_one_line_whatever_the_width(
    model: Path, width: str, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    table = said("features", str(model)).partition("Features of all")[0].splitlines()
    assert len([line for line in table if line.strip()]) == 2 + 2  # head, rule, a and b
    words = ("feature", "state", "last seen", "arrivals", "share", "once per", "values", "weight")
    assert sum(word in "\n".join(table) for word in words) == heads
    assert "…" not in "\n".join(table)
