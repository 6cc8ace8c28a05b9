"""Every name of the papers is a learner that can be written out: the same state after a stream."""

from typing import Any

import pytest

import headwater as hw
from headwater import query, sparsify, update
from headwater.testing import stream_for
from headwater.testing.small_stream import follow
from model_bytes import state_of

INFINITE = float("inf")
KEPT = sparsify.KeepLargest(share=0.5, l1_radius=30.0)
DENSE = sparsify.KeepLargest(share=1.0, l1_radius=30.0)
RATE = 0.4
"""The rate of names that ask at random, so that they ask on a stream of a few events."""

STEPS: dict[str, Any] = {"": update.PA(), "-I": update.PA1(C=1.0), "-II": update.PA2(C=1.0)}


def raw(step: Any, rule: Any, kept: Any = None, **more: Any) -> hw.Linear:
    """A linear learner on raw values without an intercept, as all papers have it."""
    return hw.Linear(
        update=step, query=rule, sparsify=kept, scale=None, intercept=False, seed=5, **more
    )


def written_out() -> dict[str, hw.Learner]:
    """Every name, and the learner that its paper describes."""
    names: dict[str, hw.Learner] = {}
    for suffix, step in STEPS.items():
        names |= {
            f"FLLS{suffix}": raw(step, query.Margin(1.0), KEPT),
            f"RFLLS{suffix}": raw(step, query.Quota(RATE), KEPT),
            f"OLSF{suffix}": raw(step, "all", KEPT),
            f"PA{suffix}": raw(step, "all"),
            f"PAA{suffix}": raw(step, query.Margin(1.0)),
            f"RPA{suffix}": raw(step, query.Random(RATE)),
            f"MPA{suffix}": raw(step, "all", multiclass=True),
            f"MPAA{suffix}": raw(step, query.Margin(1.0), multiclass=True),
            f"MRPA{suffix}": raw(step, query.Random(RATE), multiclass=True),
        }
    pea = raw("perceptron", query.Margin(1.0), sparsify.KeepLargest(1.0, INFINITE))
    balanced = update.PA1(C=None, positive_margin="balanced")
    return names | {
        "PEA": pea,
        "LEPE": pea,
        "RPEA": raw("perceptron", query.Quota(RATE), KEPT),
        "FLLS-I_SN": raw(update.PA1(1.0), query.Margin(1.0), DENSE, growth="restart"),
        "FLLS-I_SI": raw(update.PA1(1.0), query.Margin(1.0), DENSE, growth="closed"),
        "FLLS-I_f": raw(update.PA1(1.0), query.Margin(1.0), KEPT),
        "OLSF-I-all": raw(update.PA1(1.0), "all"),
        "OLSF-I-rand": raw(update.PA1(1.0), "all", sparsify.RandomShare(0.5)),
        "OLSF-I-per": raw("perceptron", "all", KEPT),
        "OFS": raw(update.Gradient(0.2, 0.01), "all", sparsify.KeepCount(10, 0.01**-0.5)),
        "OFS_P": hw.OFSP(seed=5),
        "OLVF": hw.OLVF(seed=5),
        "PE": raw("perceptron", "all"),
        "RPE": raw("perceptron", query.Random(RATE)),
        "MPE": raw("perceptron", "all", multiclass=True),
        "MPEA": raw("perceptron", query.Margin(1.0), multiclass=True),
        "MRPE": raw("perceptron", query.Random(RATE), multiclass=True),
        "SEL-ada": raw("perceptron", query.SelAda(1.0)),
        "SEL-2nd": hw.SEL2(seed=5),
        "CSPAA": raw(balanced, query.Margin(1.0)),
        "CSPAA(a)": raw(balanced, query.Decaying(2.0**14)),
        "CSRND": raw(balanced, query.Random(RATE)),
        "PAUM": raw(update.MarginPerceptron("balanced"), "all"),
        "CPA": raw(update.CPA(None, "balanced"), "all"),
        "CW-diag": raw(update.CW(confidence=0.9), "all"),
        "FESL-c": hw.FESL(combine="weights", seed=5),
        "FESL-s": hw.FESL(combine="draw", seed=5),
        "NOGD": hw.FESL(combine="new", seed=5),
        "ROGD-u": hw.FESL(combine="old", seed=5),
        "ROGD-f": hw.FESL(combine="frozen", seed=5),
        "RFESL": hw.RFESL(query=query.Quota(RATE), seed=5),
    }


WRITTEN_OUT = written_out()


@pytest.mark.parametrize("name", hw.names())
def test_a_name_is_the_learner_that_it_stands_for(name: str) -> None:
    at_random = isinstance(WRITTEN_OUT[name].parameters().get("query"), (query.Quota, query.Random))
    given: dict[str, Any] = {"rate": RATE} if at_random else {}
    model, other = hw.named(name, seed=5, **given), hw.from_bytes(WRITTEN_OUT[name].to_bytes())
    stream = stream_for(lambda: model)
    steps = follow(model, stream.events, stream.labels)
    assert follow(other, stream.events, stream.labels) == steps
    assert any(asked for *_, asked in steps)
    assert state_of(other) == state_of(model)


def test_every_name_is_written_out() -> None:
    assert set(WRITTEN_OUT) == set(hw.names())
