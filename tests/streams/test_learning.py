"""A stream teaches the same by every door: event by event, by slices, all at once."""

import numpy as np
import pytest

import headwater as hw
from headwater.streams import SensorNetwork, Stream, Trapezoid


def small_table() -> Trapezoid:
    generator = np.random.default_rng(0)
    table = generator.normal(size=(400, 30))
    labels = table @ generator.normal(size=30) > 0
    return Trapezoid(table, labels, permute_columns=True, seed=1)


@pytest.mark.parametrize("stream", [small_table(), SensorNetwork(2_500)], ids=["table", "network"])
@pytest.mark.parametrize("learner", [hw.FLLS, hw.Linear])
def test_the_loop_the_slices_and_the_batch_leave_the_same_weights(
    stream: Stream, learner: type[hw.FLLS | hw.Linear]
) -> None:
    by_loop, by_slices, by_batch = learner(seed=3), learner(seed=3), learner(seed=3)
    for event, label in stream:
        decision = by_loop.decide_one(event)
        if decision.asked:
            by_loop.answer(decision, label)
    for rows, labels in stream.slices():
        by_slices.simulate(rows, labels)
    by_batch.simulate(*stream.batch())
    assert by_loop.weights() == by_slices.weights() == by_batch.weights()
    assert by_loop.features() == by_slices.features() == by_batch.features()
    assert by_loop.asked == by_slices.asked == by_batch.asked > 0


def test_an_empty_table_is_an_empty_stream() -> None:
    stream = Trapezoid(np.empty((0, 3)), [])
    assert list(stream) == []
    assert len(stream.batch()[0]) == 0
