"""The learners; all are imported, so that a model file may contain any of them."""

from headwater.learners import (
    fesl,
    flls,
    linear,
    ofs,
    olsf,
    olvf,
    paa,
    regression,
    replication,
    second_order,
    spring,
)

__all__ = [
    "fesl",
    "flls",
    "linear",
    "ofs",
    "olsf",
    "olvf",
    "paa",
    "regression",
    "replication",
    "second_order",
    "spring",
]
