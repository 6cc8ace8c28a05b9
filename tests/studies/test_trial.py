"""One run: what it sees, what it is scored by, what it never looks at."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.catalogue import algorithm
from headwater.errors import ParameterError
from headwater.evaluation.metrics import balanced_accuracy, f_measure
from headwater.streams.evolvable import min_max
from headwater.streams.table import DenseTable, SparseTable
from headwater.studies.learners import build
from headwater.studies.plan import (
    Cell,
    DataPlan,
    LabelDelivery,
    LearnerPlan,
    StreamPlan,
    Study,
)
from headwater.studies.plan_file import read_study
from headwater.studies.protocol import (
    Data,
    load,
    rescaled,
    split,
    unit_rows,
    with_gross_errors,
    z_scores,
)
from headwater.studies.results import ResultStore
from headwater.studies.trial import Chosen, TrialResult, block_error, choose, run

WHOLE = StreamPlan("whole", "Trapezoid", {"chunks": 1})


def table(rows: int = 200, columns: int = 6, seed: int = 0) -> Data:
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    labels = np.where(values @ np.arange(1, columns + 1) > 0, 1, -1)
    return Data(DenseTable(values), tuple(range(columns)), labels, "made up")


def study_of(*learners: LearnerPlan, **other: object) -> Study:
    plan = Study("s", "S", (DataPlan("d", "d"),), (WHOLE,), learners)
    return replace(plan, **other)  # type: ignore[arg-type]


def test_scaling_is_by_column_and_then_by_row() -> None:
    values = np.array([[1.0, 2.0, 7.0], [3.0, 2.0, 1.0], [5.0, 2.0, 4.0]])
    z = z_scores(values)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(z.std(axis=0), [1, 0, 1])
    np.testing.assert_allclose(np.linalg.norm(unit_rows(z), axis=1), 1)
    assert min_max(values).tolist() == [[0, 0, 1], [0.5, 0, 0], [1, 0, 0.5]]


def test_rows_alone_may_be_scaled_and_what_is_not_stored_stays_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "few_words.py").write_text(
        "import numpy as np\nfrom headwater.types import Rows\n\n\n"
        "def texts():\n"
        "    X = Rows(np.array([0, 2, 2, 3]), np.array([0, 2, 1]), np.array([3.0, 4.0, -5.0]),"
        " ('a', 'b', 'c'))\n"
        "    return X, np.array([1, -1, 1])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    data = load(DataPlan("texts", "few_words:texts"), "rows", None)
    assert isinstance(data.table, SparseTable)
    assert data.table.data.tolist() == [0.6, 0.8, -1.0]
    assert data.table.indptr.tolist() == [0, 2, 2, 3]
    sys.modules.pop("few_words")


def test_odd_units_and_gross_errors_are_the_same_in_every_repeat() -> None:
    values = np.random.default_rng(1).normal(3, 2, size=(500, 8))
    odd = rescaled(values)
    np.testing.assert_allclose(z_scores(odd), z_scores(values), atol=1e-9)
    assert odd.std(axis=0).max() > 1e3 * odd.std(axis=0).min()
    np.testing.assert_array_equal(odd, rescaled(values))
    wrong = with_gross_errors(values) != values
    assert 0 < wrong.sum() < 20  # 4 of 4,000 expected
    np.testing.assert_array_equal(with_gross_errors(values)[wrong], 1e4 * values[wrong])


def test_where_columns_are_replaced_the_test_shows_those_of_the_end() -> None:
    data = table()
    study = study_of(LearnerPlan("PA", "PA"), held_out=0.2)
    replaced = StreamPlan("replaced", "Replacement", {"overlap": 5})
    shown = split(study, data, replaced, seed=5)
    order = np.random.default_rng(5).permutation(200)
    assert isinstance(data.table, DenseTable)
    assert list(shown.test_X.names) == [3, 4, 5]
    expected = data.table.values[order[160:], 3:]
    np.testing.assert_array_equal(shown.test_X.data.reshape(40, 3), expected)
    assert set(np.diff(shown.X.indptr)) == {3, 6}  # both spaces for five events


def test_a_score_that_a_repeat_does_not_have_leaves_the_cell_without_one(tmp_path: Path) -> None:
    study = study_of(LearnerPlan("PA", "PA"), repeats=2)
    store = ResultStore(tmp_path, study)
    (cell,) = study.cells()
    for seed, score in enumerate((0.5, math.nan)):  # no positive row in the second test
        store.runs[cell, seed] = TrialResult({"accuracy": score}, [], 0.0)
    found = store.summary(cell, "accuracy")
    assert found is not None
    assert math.isnan(found.mean)
    assert math.isnan(found.std)


def test_a_split_permutes_all_rows_and_keeps_the_last_for_the_test() -> None:
    data = table()
    study = study_of(LearnerPlan("PA", "PA"), held_out=0.2)
    shown = split(study, data, WHOLE, seed=5)
    order = np.random.default_rng(5).permutation(200)
    assert isinstance(data.table, DenseTable)
    values = data.table.values[order]
    np.testing.assert_array_equal(shown.X.data.reshape(160, 6), values[:160])
    np.testing.assert_array_equal(shown.test_X.data.reshape(40, 6), values[160:])
    np.testing.assert_array_equal(shown.y, data.labels[order[:160]])
    np.testing.assert_array_equal(shown.test_y, data.labels[order[160:]])


def test_a_run_is_the_learner_s_own_simulation_scored() -> None:
    plan = LearnerPlan("PAA-I", "PAA-I", {"C": 0.5, "query_width": 0.3})
    study = study_of(plan, held_out=0.2)
    shown = split(study, table(), WHOLE, seed=1)
    cell = Cell("d", "whole", "PAA-I", None, LabelDelivery())
    outcome = run(study, cell, Chosen({}, None), shown, seed=1)
    model = hw.named("PAA-I", C=0.5, query_width=0.3, seed=1)
    trace = model.simulate(shown.X, shown.y)
    assert outcome.scores["f_measure"] == f_measure(trace.margin, shown.y)
    assert outcome.scores["label_rate"] == trace.asked.mean()
    tested = balanced_accuracy(model.margin_many(shown.test_X), shown.test_y)
    assert outcome.scores["test_balanced_accuracy"] == tested


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("FLLS-II", {}),
        ("RFLLS-I", {}),
        ("RPA", {}),
        ("Linear", {}),
        ("Linear", {"query": "random"}),
    ],
)
def test_every_kind_of_learner_keeps_to_a_label_rate(name: str, parameters: dict[str, str]) -> None:
    plan = LearnerPlan("l", name, parameters)
    study = study_of(plan)
    shown = split(study, table(2_000), WHOLE, seed=0)
    built = build(plan, study.data[0], [shown], 0.2, {}, seed=0)
    assert built.learner.simulate(shown.X, shown.y).asked.mean() == pytest.approx(0.2, abs=0.03)
    assert (built.width is not None) == (name == "FLLS-II")


def test_a_learner_that_has_no_label_rate_is_refused_by_name() -> None:
    plan = LearnerPlan("all", "PA")
    study = study_of(plan)
    shown = split(study, table(), WHOLE, seed=0)
    with pytest.raises(ParameterError, match=r"learners\.all: PA keeps to no label rate"):
        build(plan, study.data[0], [shown], 0.2, {}, seed=0)


def test_an_algorithm_that_does_not_exist_is_refused_by_name() -> None:
    for name in ("FLSS", "math:nothing", "no_such_module:x"):
        with pytest.raises(ParameterError, match=name):
            algorithm(name)


def test_a_choice_never_looks_at_the_test(world: Path) -> None:
    """Flip every label that repeats are tested on alone: what is chosen stays the same."""
    study = read_study(world / "small.toml")
    study = replace(study, choice_repeats=1, data=(study.data[1],))
    cell = next(cell for cell in study.cells() if cell.learner == "FLLS-II")
    chosen = choose(study, cell, None)
    data = load(study.data[0], study.preprocess, None)
    order = np.random.default_rng(0).permutation(len(data.labels))
    tested = order[-len(order) // 5 :]
    data.labels[tested] *= -1  # the loaded table is shared, so that the choice sees the change
    try:
        assert choose(study, cell, None) == chosen
    finally:
        data.labels[tested] *= -1


def test_late_labels_that_come_at_once_change_nothing() -> None:
    plan = LearnerPlan("FLLS-I", "FLLS-I", {"query_width": 0.3})
    study = study_of(plan)
    shown = split(study, table(), WHOLE, seed=2)
    prompt = run(
        study, Cell("d", "whole", "FLLS-I", None, LabelDelivery()), Chosen({}, None), shown, 2
    )
    # A share of answers that is lost one time in 10^9 takes the way of the session.
    late = LabelDelivery(never=1e-9)
    slow = run(study, Cell("d", "whole", "FLLS-I", None, late), Chosen({}, None), shown, 2)
    assert slow.scores == prompt.scores


def test_an_evolvable_stream_is_scored_after_the_replacement_and_tells_its_schedule() -> None:
    plan = LearnerPlan("FESL-c", "FESL-c")
    study = study_of(plan, score="accuracy", figure="loss")
    stream = StreamPlan("e", "Evolvable", {"overlap": 8})
    shown = split(study, table(), stream, seed=0)
    assert shown.first_scored == 100
    assert shown.facts == {"overlap": 8, "horizon": 100}
    study = replace(study, streams=(stream,))
    outcome = run(
        study, Cell("d", "e", "FESL-c", None, LabelDelivery()), Chosen({}, None), shown, 0
    )
    model = hw.named("FESL-c", overlap=8, horizon=100, seed=0)
    right = model.simulate(shown.X, shown.y).margin * shown.y > 0
    assert outcome.scores["accuracy"] == pytest.approx(right[100:].mean())
    assert len(outcome.curve) == 50


def test_several_classes_are_scored_by_what_was_predicted() -> None:
    data = table()
    labels = np.digitize(data.labels * np.arange(200), [-60, 60]) + 1
    plan = LearnerPlan("MPA", "MPA")
    study = study_of(plan)
    shown = split(study, data._replace(labels=labels), WHOLE, seed=0)
    outcome = run(
        study, Cell("d", "whole", "MPA", None, LabelDelivery()), Chosen({}, None), shown, 0
    )
    trace = hw.named("MPA", seed=0).simulate(shown.X, shown.y)
    assert outcome.scores["errors"] == sum(
        said != true for said, true in zip(trace.prediction, shown.y.tolist(), strict=True)
    )


def test_a_score_that_does_not_exist_is_refused_with_those_that_do() -> None:
    study = study_of(LearnerPlan("PA", "PA"), score="beauty")
    shown = split(study, table(), WHOLE, seed=0)
    cell = Cell("d", "whole", "PA", None, LabelDelivery())
    with pytest.raises(ParameterError, match=r"score must be one of accuracy, .*got 'beauty'"):
        run(study, cell, Chosen({}, None), shown, 0)


def test_two_classes_of_several_can_be_picked(world: Path) -> None:
    (world / "small_world.py").write_text(
        "import numpy as np\n"
        "def three():\n    return np.arange(12.0).reshape(6, 2), np.array([1, 2, 3, 1, 2, 3])\n"
    )
    data = load(DataPlan("pair", "small_world:three", (3, 1)), "raw", None)
    assert data.labels.tolist() == [1, -1, 1, -1]


def test_a_source_that_takes_a_seed_is_made_for_each_repeat_and_keeps_its_order() -> None:
    options = {"events": 300, "sensors": 4, "change": "sudden"}
    plan = DataPlan("made", "headwater.streams:LinearConcept", options=options)
    study = replace(study_of(LearnerPlan("Spring", "Spring")), data=(plan,))
    for seed in (0, 1):
        stream = hw.streams.LinearConcept(300, sensors=4, change="sudden", seed=seed)
        one = split(study, load(plan, "raw", None, seed), WHOLE, seed)
        events, labels = stream.batch()
        assert np.array_equal(one.X.data, events.data)
        assert np.array_equal(one.y, np.where(labels, 1, -1))
        assert one.first_scored == 150
        assert not one.is_real


def test_a_stream_may_be_cut_its_beginning_unscored_and_one_label_made_positive() -> None:
    data = table()._replace(limit=50, unscored=0.3)
    one = split(study_of(), data, WHOLE, seed=3)
    assert len(one.y) == 50
    assert one.first_scored == 15
    order = np.random.default_rng(3).permutation(200)[:50]
    assert np.array_equal(one.y, data.labels[order])


def test_real_streams_are_neither_shuffled_nor_taken_for_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip
    import json

    lines = [
        {"t": t, "x": {"a": t, "b": -t} if t % 3 else {"a": t}, "y": ["acq", "earn", "ship"][t % 3]}
        for t in range(30)
    ]
    entry = hw.datasets.Entry("papers", timed=True, sparse=True)
    file = entry.path(tmp_path)
    file.parent.mkdir()
    file.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in lines).encode()))
    monkeypatch.setattr("headwater.datasets.dataset.entry", lambda name: entry)
    plan = DataPlan("papers", "papers", positive="acq")
    one = split(study_of(), load(plan, "raw", tmp_path, 5), WHOLE, seed=5)
    assert one.y.tolist() == [1, -1, -1] * 10
    assert one.is_real
    first = one.X.data[one.X.indptr[:-1]]
    assert first.tolist() == list(range(30))


def test_errors_after_a_change_stand_beside_those_of_a_learner_that_begins_there() -> None:
    options = {"events": 2_000, "sensors": 5, "change": "reversed"}
    plan = DataPlan("d", "headwater.streams:LinearConcept", options=options)
    learner = LearnerPlan("PA", "PA")
    study = study_of(learner, data=(plan,), after=300, score="error_ratio")
    one = split(study, load(plan, "raw", None, 1), WHOLE, 1)
    cell = Cell("d", "whole", "PA", None, LabelDelivery())
    scores = run(study, cell, Chosen({}, None), one, 1).scores
    events, labels = hw.streams.LinearConcept(2_000, sensors=5, change="reversed", seed=1).batch()
    wrong = (hw.named("PA").simulate(events, labels).margin > 0) != labels
    rows = list(hw.streams.LinearConcept(2_000, sensors=5, change="reversed", seed=1))[1_000:1_300]
    fresh, errors = hw.named("PA"), 0
    for event, label in rows:
        errors += (fresh.margin_one(event) > 0) != label or fresh.margin_one(event) == 0
        fresh.learn_one(event, label)
    assert scores["error_before"] == pytest.approx(wrong[700:1_000].mean())
    assert scores["error_after"] == pytest.approx(wrong[1_000:1_300].mean())
    assert scores["error_fresh"] == pytest.approx(errors / 300)
    assert scores["error_ratio"] == pytest.approx(wrong[1_000:1_300].sum() / errors)


def test_the_error_by_blocks_is_that_of_independent_events_and_larger_for_runs_of_them() -> None:
    chance = np.random.default_rng(0)
    y = np.where(chance.random(20_000) < 0.5, 1, -1)
    right = chance.random(20_000) < 0.8
    independent = block_error(np.where(right, y, -y).astype(float), y)
    expected = math.sqrt(0.8 * 0.2 / 20_000)  # two halves of 10,000 each
    assert independent == pytest.approx(expected, rel=0.35)
    in_runs = np.repeat(chance.random(200) < 0.8, 100)
    assert block_error(np.where(in_runs, y, -y).astype(float), y) > 4 * independent
    assert math.isnan(block_error(np.ones(100), np.ones(100)))
