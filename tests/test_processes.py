"""Learners in other processes, batches that end early, and the page that promises it all."""

import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import headwater as hw

PATIENCE = 60.0
"""Seconds after which something that should have ended counts as hanging."""


def outcome(script: str) -> list[str]:
    """The lines that a script prints."""
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def learned(events: list[dict[Any, float]], model: hw.Learner) -> bytes:
    for number, event in enumerate(events):
        model.learn_one(event, number % 3 == 0)
    return model.to_bytes()


EVENTS_OF_OTHERS: list[dict[Any, float]] = [{"rain": 1.0, n: n / 7} for n in range(50)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork_parent_and_child_learn_apart() -> None:
    script = f"""
import os
import headwater as hw

EVENTS = {EVENTS_OF_OTHERS!r}
model = hw.Linear(query="all")
for event in EVENTS[:25]:
    model.learn_one(event, True)
child = os.fork()
for event in EVENTS[25:] if child else EVENTS[30:]:
    model.learn_one(event, False)
if child:
    assert os.waitpid(child, 0)[1] == 0
    print(model.learned)
else:
    os._exit(0 if model.learned == 45 else 1)
"""
    assert outcome(script) == ["50"]


def test_a_learner_goes_on_bit_for_bit_in_a_process_that_was_spawned() -> None:
    here = hw.Spring()
    learned(EVENTS_OF_OTHERS[:20], here)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        there = pool.submit(learned, EVENTS_OF_OTHERS[20:], here).result(PATIENCE)
    assert learned(EVENTS_OF_OTHERS[20:], here) == there


def test_a_decision_goes_through_pickle_with_its_features() -> None:
    model, other = hw.OLSF(), hw.OLSF()
    event = {"rain": 2.0, "wind": 1.0}
    decision = pickle.loads(pickle.dumps(model.decide_one(event)))
    assert decision.features == event
    model.answer(decision, True)
    other.answer(other.decide_one(event), True)
    assert model.weights() == other.weights()


# Batches that end early


@pytest.mark.parametrize("verb", ["learn_many", "simulate"])
def test_a_batch_with_a_bad_row_changes_nothing(verb: str) -> None:
    model = hw.OLSF()
    learned(EVENTS_OF_OTHERS[:5], model)
    before = model.to_bytes()
    many: Any = getattr(model, verb)
    with pytest.raises(hw.errors.EventError):
        many([[1.0], [2.0], [float("inf")]], [True, False, True])
    with pytest.raises(hw.errors.LabelError):
        many([[1.0], [2.0], [3.0]], [True, False, "perhaps"])
    assert model.to_bytes() == before


def test_a_bad_line_leaves_the_events_before_it_learned(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"rain": 1, "y": true}\n{"rain": 2, "y": false}\n{"rain": \n')
    model, other = hw.OLSF(), hw.OLSF()
    with pytest.raises(hw.errors.EventFileError, match="line 3"):
        model.simulate_file(path)
    for rain, label in ((1.0, True), (2.0, False)):
        other.answer(other.decide_one({"rain": rain}), label)
    assert model.to_bytes() == other.to_bytes()


def test_every_promise_of_the_page_has_its_test() -> None:
    tests = Path(__file__).parent
    page = (tests.parent / "docs/internals/threads.md").read_text()
    there = {
        name
        for path in tests.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    rows = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named or row == "| promise | test |", row
        assert set(named) <= there, row
