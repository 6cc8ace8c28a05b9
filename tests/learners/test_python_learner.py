"""Learners written in Python: what the base class adds, and what it refuses."""

import copy
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.errors import (
    AnswerError,
    EventError,
    LabelError,
    ModelFileError,
    ParameterError,
    StepError,
)
from headwater.testing import stream_for
from headwater.testing.small_stream import follow
from model_bytes import put_together, take_apart
from python_models import Event, HingeSteps, Means, Voices


class SoftMargin(hw.PythonLearner):
    """PA-I in Python, to hold against the core's."""

    C: float = 1.0

    def start(self) -> None:
        self.w: Event = {}

    def score(self, x: Event) -> float:
        total = 0.0
        for name, value in x.items():
            total += self.w.get(name, 0.0) * value
        return total

    def learn(self, x: Event, y: Any) -> None:
        sign = 1.0 if y else -1.0
        loss, norm = max(0.0, 1.0 - sign * self.score(x)), sum(v * v for v in x.values())
        step = min(loss / norm, self.C) if norm else 0.0
        for name, value in x.items():
            self.w[name] = self.w.get(name, 0.0) + step * sign * value


RULES = [
    hw.query.All(),
    hw.query.Random(0.4),
    hw.query.Quota(0.4),
    hw.query.Quota(0.4, total=70),
    hw.query.Margin(0.5),
    hw.query.MarginPlusOne(2.0),
    hw.query.SelAda(0.5),
    hw.query.Decaying(20.0),
    hw.query.Budget(0.3),
    hw.query.Quantile(0.3),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_of_the_package_asks_as_it_does_in_the_core(rule: hw.query.Query) -> None:
    ours = hw.Linear(update=hw.update.PA1(1.0), query=rule, scale=None, intercept=False, seed=4)
    theirs = SoftMargin(query=rule, seed=4)
    stream = stream_for(lambda: ours)
    one = follow(ours, stream.events, stream.labels)
    other = follow(theirs, stream.events, stream.labels)
    assert [step[0] for step in other] == [step[0] for step in one]
    assert [step[3] for step in other] == [step[3] for step in one]
    found, expected = (np.array([step[1:3] for step in steps]) for steps in (other, one))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert (theirs.seen, theirs.asked, theirs.learned) == (ours.seen, ours.asked, ours.learned)
    for x in stream.events:
        shares = [list(model.predict_proba_one(x).values()) for model in (theirs, ours)]
        np.testing.assert_allclose(shares[0], shares[1], rtol=1e-9)


def test_an_error_of_the_model_is_passed_on_and_nothing_counts_as_learned() -> None:
    class Picky(HingeSteps):
        def learn(self, x: Event, y: Any) -> None:
            if "bad" in x:
                raise KeyError("bad")
            super().learn(x, y)

    model = Picky(query="all")
    decision = model.decide_one({"bad": 1.0})
    before = model.to_bytes()
    with pytest.raises(KeyError, match="bad"):
        model.answer(decision, True)
    with pytest.raises(KeyError, match="bad"):
        model.learn_one({"bad": 1.0}, True)
    assert model.to_bytes() == before
    assert not decision.answered
    assert model.learned == 0


class Broken(hw.PythonLearner):
    """Its score is whatever it is told to be."""

    def start(self) -> None:
        self.told: Any = 0.0

    def score(self, x: Event) -> Any:
        return self.told

    def learn(self, x: Event, y: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (float("nan"), "Broken.score: must return a finite number, got nan."),
        (float("inf"), "Broken.score: must return a finite number, got inf."),
        (None, "Broken.score: must return a number, got None."),
        ("one", "Broken.score: must return a number, got 'one'."),
    ],
)
def test_a_score_that_is_no_number_is_refused(score: Any, sentence: str) -> None:
    model = Broken()
    model.told = score
    for verb in (model.predict_one, model.decide_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(StepError, match=re.escape(sentence)):
            verb({"a": 1.0})
    with pytest.raises(StepError, match=re.escape(f"X, row 0: {sentence} The rows before")):
        model.learn_many([[1.0]], [True])
    assert (model.seen, model.learned) == (0, 0)


def test_with_several_classes_the_score_is_a_dict() -> None:
    class Flat(Voices):
        def score(self, x: Event) -> Any:
            return 1.0

    model = Flat()
    with pytest.raises(StepError, match="must return a dict from class to score"):
        model.predict_one({})


def test_methods_that_are_missing_say_so() -> None:
    class Empty(hw.PythonLearner):
        pass

    with pytest.raises(NotImplementedError, match="Empty: score must be written"):
        Empty().predict_one({})


def test_a_task_is_one_of_three_and_numbers_have_no_classes() -> None:
    with pytest.raises(ParameterError, match='task must be "binary", "multiclass" or "regress'):
        type("Odd", (hw.PythonLearner,), {}, task="ranking")
    with pytest.raises(ParameterError, match="classes are for learners of classes"):
        Means(classes=("a", "b"))


def test_the_name_of_a_learner_of_the_package_is_taken() -> None:
    with pytest.raises(ParameterError, match="Spring: a learner of the package has this name"):
        type("Spring", (hw.PythonLearner,), {})
    assert type(hw.from_bytes(hw.Spring().to_bytes())) is hw.Spring


def test_a_class_that_is_written_again_takes_the_place_of_the_old_one() -> None:
    def defined(answer: float) -> type[hw.PythonLearner]:
        class Again(hw.PythonLearner):
            def score(self, x: Event) -> float:
                return answer

            def learn(self, x: Event, y: Any) -> None:
                pass

        return Again

    old, new = defined(-1.0), defined(1.0)
    assert type(hw.from_bytes(old().to_bytes())) is new
    assert type(copy.copy(old())) is old


KEPT: list[Any] = [
    {"a": [1, (2.5, None)], 3: {"x"}, (1, "2"): -0.0},
    [float("inf"), 1e-320, 2**70, "ä\ud800"],
    np.arange(6, dtype=np.int32).reshape(2, 3),
    np.array(2.5),
]


@pytest.mark.parametrize("value", KEPT, ids=lambda value: type(value).__name__)
def test_what_is_learned_is_saved_with_its_types(value: Any) -> None:
    model = Broken()
    model.told, model.more = 0.5, value
    for other in (hw.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        found = vars(other)["more"]
        assert type(found) is type(value)
        if isinstance(value, np.ndarray):
            assert (found.dtype, found.tolist()) == (value.dtype, value.tolist())
        else:
            assert repr(found) == repr(value)
        assert other.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("value", [Counter("a"), object(), np.array(["a"]), [{1: object()}]])
def test_what_cannot_be_saved_is_named(value: Any) -> None:
    model = Broken()
    model.told = value
    with pytest.raises(ParameterError, match=r"Broken\.told: what is saved must be numbers, texts"):
        model.to_bytes()


@pytest.mark.parametrize(
    "memory", ["", "[]", '{"told": {"dict": 3}}', '{"told": {"code": []}}', '{"a": {"array": []}}']
)
def test_a_memory_that_was_altered_is_refused(memory: str) -> None:
    header, state = take_apart(Broken().to_bytes())
    state["model"]["external"]["memory"] = memory
    with pytest.raises(ModelFileError, match="what Broken has learned cannot be read"):
        hw.from_bytes(put_together(header, state))


def test_a_file_of_a_class_that_is_not_imported_says_what_to_do(tmp_path: Path) -> None:
    HingeSteps().save(tmp_path / "model.hw")
    code = f"import headwater as hw; hw.load({str(tmp_path / 'model.hw')!r})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "there is no learner 'HingeSteps'; if it is written in Python, import its" in said.stderr


def test_parameters_are_checked_and_described() -> None:
    assert repr(HingeSteps(step=0.5, query="margin")) == "HingeSteps(step=0.5, query='margin')"
    assert "When to ask for a label" in str(HingeSteps.__doc__)
    with pytest.raises(ParameterError, match="HingeSteps: query must be one of"):
        HingeSteps(query="never")
    with pytest.raises(ParameterError, match="HingeSteps: seed must be a whole number"):
        HingeSteps(seed=-1)


def test_decisions_of_another_class_are_refused() -> None:
    decision = HingeSteps(query="all").decide_one({"a": 1.0})
    with pytest.raises(AnswerError, match="another learner made this decision"):
        SoftMargin(query="all").answer(decision, True)
    with pytest.raises(AnswerError, match="expected a Decision"):
        HingeSteps().answer("yes", True)  # type: ignore[arg-type]


def test_batches_are_checked_whole_before_the_first_row() -> None:
    model = HingeSteps(query="all")
    before = model.to_bytes()
    with pytest.raises(EventError, match="X, row 1: feature 0 must be a finite number"):
        model.simulate([[1.0], [float("inf")]], [True, False])
    with pytest.raises(LabelError, match="y, row 1"):
        model.simulate([[1.0], [2.0]], [True, 7])
    with pytest.raises(LabelError, match="y: expected one label per row, 2 in all, got 1"):
        model.learn_many([[1.0], [2.0]], [True])
    with pytest.raises(LabelError, match="needs a label for every row"):
        model.learn_many([[1.0], [2.0]], [True, None])
    assert model.to_bytes() == before


LINES = '{"a": 1.0, "y": 1}\n{"a": -1.0, "y": 0}\n{"a": 1.0, "y": "x"}\nnothing\n{"a": 2.0}\n'


def test_a_file_is_run_and_its_bad_lines_are_skipped_or_named(tmp_path: Path) -> None:
    path = tmp_path / "days.jsonl"
    path.write_text(LINES)
    told: list[Any] = []
    run = HingeSteps(query="all").simulate_file(path, on_error="skip", progress=told.append)
    assert (run.events, run.labelled, run.asked, run.learned) == (3, 2, 3, 2)
    assert (run.mistakes, run.skipped, run.bytes) == (1, 2, len(LINES))
    assert len(run.problems) == 2
    with pytest.raises(LabelError, match=r"days\.jsonl, event 2: label: expected True or False"):
        HingeSteps().simulate_file(path)
    with pytest.raises(ParameterError, match="writes no file of decisions"):
        HingeSteps().simulate_file(path, decisions=tmp_path / "out.csv")
    with pytest.raises(ParameterError, match="writes no file of predictions"):
        HingeSteps()._predict_file(hw.open(path).reader(), 10, False, 0)


def test_a_file_of_numbers_sums_up_the_errors(tmp_path: Path) -> None:
    path = tmp_path / "days.jsonl"
    path.write_text('{"a": 0.0, "y": 2.5}\n{"a": 0.0, "y": 1.5}\n')
    run = Means().simulate_file(path)
    assert (run.mistakes, run.absolute_error) == (0, 2.5 + 1.0)


def test_it_runs_in_evaluation_and_tells_its_sparsity_if_it_has_weights() -> None:
    network = hw.streams.SensorNetwork(600)
    run = hw.evaluation.prequential(HingeSteps(query=hw.query.Budget(0.3)), network, window=300)
    assert run.scores.events == 600
    assert 0 <= run.sparsity < 1
    assert np.isnan(hw.evaluation.sparsity(SoftMargin()))
    session = hw.Session(SoftMargin(), hw.labels.Oracle(network.batch()[1], delay=(1, 30)))
    late = hw.evaluation.prequential(session, network)
    assert np.isnan(late.sparsity)
    assert 0 < session.learner.learned <= session.learner.asked


def test_several_threads_may_use_one() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = HingeSteps(query="all")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: model.answer(model.decide_one({n % 5: 1.0}), True), range(200)))
    assert (model.seen, model.asked, model.learned) == (200, 200, 200)
