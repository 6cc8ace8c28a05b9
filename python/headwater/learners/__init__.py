"""Learners, and the slots that they are made of. All of them are imported here: a file names one."""

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
