"""Learners, and the slots that they are made of; all are imported, so that a file may name any."""

from headwater.learners import (
    fesl,
    flls,
    linear,
    normalize,
    ofs,
    olsf,
    olvf,
    paa,
    query,
    regression,
    second_order,
    sparsify,
    spring,
    update,
)

__all__ = [
    "fesl",
    "flls",
    "linear",
    "normalize",
    "ofs",
    "olsf",
    "olvf",
    "paa",
    "query",
    "regression",
    "second_order",
    "sparsify",
    "spring",
    "update",
]
