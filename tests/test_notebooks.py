"""What notebooks show: tables and figures, and a sentence where matplotlib is missing."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import headwater as hw
from headwater.cli import COMMANDS, main
from headwater.cli.log_lines import LogLines
from headwater.display import html


def shown(value: object) -> str:
    """What a notebook shows of a value, as text; its HTML must be well formed."""
    found: str = value._repr_html_()  # type: ignore[attr-defined]
    parts = ElementTree.fromstring(f"<all>{found}</all>").itertext()
    return " ".join(parts)


NETWORK = hw.streams.SensorNetwork(600, seed=1)


def test_a_learner_shows_its_counters_and_its_largest_weights() -> None:
    model = hw.PAA()
    model.learn_one({"rain <b>": 2.0, "wind": -1.0}, True)
    text = shown(model)
    for words in ("PAA()", "labels learned", "rain <b>", "0.4", "wind", "-0.2"):
        assert words in text
    assert text.index("rain") < text.index("wind")
    assert "features" in shown(hw.PAA())


def test_several_classes_have_a_column_each() -> None:
    model = hw.MPAA()
    model.learn_one({"a": 1.0}, "plum")
    model.learn_one({"b": 1.0}, "lemon")
    assert {"plum", "lemon", "a", "b"} <= set(shown(model).split())
    columns = model.features().columns()
    assert list(columns)[-2:] == ["weight of plum", "weight of lemon"]
    by_row = [feature.weight for feature in model.features()]
    assert by_row == [
        {"plum": one, "lemon": other}
        for one, other in zip(columns["weight of plum"], columns["weight of lemon"], strict=True)
    ]


def test_features_are_columns_and_a_sequence() -> None:
    model = hw.Spring()
    model.simulate(*NETWORK.batch())
    found = model.features()
    assert [found[place] for place in range(len(found))] == list(found) == found
    assert found[-1] == list(found)[-1]
    assert found[:2] == list(found)[:2]
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert frame.index.tolist() == [feature.name for feature in found]
    assert frame["weight"].tolist() == [feature.weight for feature in found]
    assert len(shown(found)) < 2_000  # only the largest


def test_decisions_explanations_and_traces_show_their_numbers() -> None:
    model = hw.OLSF()
    model.learn_one({"rain": 2.0}, True)
    decision = model.decide_one({"rain": 1.0})
    assert "ask for the label yes" in " ".join(shown(decision).split())
    model.answer(decision, True)
    assert "yes, and answered" in shown(decision)
    assert "rain" in shown(model.explain_one({"rain": 1.0}))
    assert "20 events" in shown(model.simulate([[1.0]] * 20, [True] * 20))


def test_scores_say_their_numbers() -> None:
    scores = hw.evaluation.Scores()
    assert "0 events" in repr(scores)
    scores.update_many([0.5, -0.5], [True, True])
    assert "accuracy 0.5" in repr(scores)
    assert "balanced accuracy" in shown(scores)
    classes = hw.evaluation.ClassScores()
    classes.update("plum", "plum")
    assert repr(classes).startswith("<ClassScores: 1 events, 0 errors")


def test_figures_have_what_they_are_drawn_from() -> None:
    pytest.importorskip("matplotlib").use("agg")
    X, y = NETWORK.batch()
    trace = hw.Spring().simulate(X, y)
    wrong, asked = trace.plot(y, window=100).get_lines()
    last = np.mean(trace.prediction[-100:] != y[-100:])
    assert np.asarray(wrong.get_ydata())[-1] == pytest.approx(100 * last)
    assert np.asarray(asked.get_ydata())[-1] == pytest.approx(100 * np.mean(trace.asked[-100:]))
    run = hw.evaluation.prequential(hw.Spring(), NETWORK, window=200)
    line = run.plot("accuracy").get_lines()[0]
    assert np.asarray(line.get_ydata()).tolist() == run.windows["accuracy"].tolist()
    assert "up to event" in shown(run)
    with pytest.raises(hw.errors.ParameterError, match="did you mean accuracy"):
        run.plot("acuracy")
    register = hw.Register()
    register.observe_many(X)
    assert len(register.plot(limit=7).get_yticklabels()) == 7
    assert "600 events" in shown(register)


def test_without_matplotlib_a_figure_says_what_is_missing() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import headwater as hw\n"
        "trace = hw.OLSF().simulate([[1.0]], [True])\n"
        "try: trace.plot()\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout == "Trace.plot needs matplotlib: pip install 'headwater[plots]'.\n"


def test_a_table_shields_what_means_something_to_html() -> None:
    assert "<script>" not in html.pairs("<script>", {"<script>": "<script>"})


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (lambda: hw.Spring(label_rat=0.1), TypeError, "did you mean label_rate"),  # type: ignore[call-arg]
        (lambda: hw.query.Budget(rat=0.1), TypeError, "did you mean rate"),  # type: ignore[call-arg]
        (lambda: hw.Linear(update="pa11"), hw.errors.ParameterError, "did you mean pa1"),
        (lambda: hw.Linear(growth="opne"), hw.errors.ParameterError, "did you mean open"),  # type: ignore[arg-type]
        (lambda: hw.named("PAA", qury_width=1), hw.errors.ParameterError, "mean query_width"),
        (lambda: hw.Sprng, AttributeError, "did you mean Spring"),  # type: ignore[attr-defined]
    ],
)
def test_python_says_what_was_probably_meant(wrong: object, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        wrong()  # type: ignore[operator]


def test_lists_of_dicts_are_a_batch_for_scikit_learn_and_river() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("river")
    from headwater.adapters import river
    from headwater.adapters.sklearn import HeadwaterClassifier

    events = [
        {"rain": float(day), "site": "roof"} if day % 2 else {"wind": 1.0} for day in range(8)
    ]
    labels = [bool(day % 2) for day in range(8)]
    model = HeadwaterClassifier(random_state=0).fit(events, labels)
    assert model.predict(events).tolist() == labels
    assert model.predict([{"not seen yet": 1.0, "wind": 1.0}]).shape == (1,)
    other = river.PAA()
    other.learn_many(events, labels)
    assert len(other.predict_many(events)) == len(other.predict_proba_many(events)) == 8


def test_categories_without_names_get_a_sentence_with_the_cure() -> None:
    pytest.importorskip("sklearn")
    from headwater.adapters.sklearn import HeadwaterClassifier

    X = np.array([["roof"], ["cellar"]], dtype=object)
    with pytest.raises(hw.errors.EventError, match="DataFrame and feature_space='open'"):
        HeadwaterClassifier().fit(X, [0, 1])


def test_a_log_is_told_every_half_minute() -> None:
    now = [0.0]
    said: list[str] = []
    log = LogLines("events.jsonl", clock=lambda: now[0], say=said.append)
    for second in range(1, 91):
        now[0] = float(second)
        log.show(second / 100, "x")
    assert said == [
        "events.jsonl: 30 % after 30 s, about 1 min 10 s left; x",
        "events.jsonl: 60 % after 1 min 0 s, about 40 s left; x",
        "events.jsonl: 90 % after 1 min 30 s, about 10 s left; x",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command: str) -> None:
    from click.testing import CliRunner

    help_text = CliRunner().invoke(main, [command, "--help"]).output
    assert f"headwater {command}" in help_text.partition("Example")[2]


def test_the_help_says_which_command_is_first() -> None:
    from click.testing import CliRunner

    assert "Begin with `headwater init FILE`" in CliRunner().invoke(main, ["--help"]).output
