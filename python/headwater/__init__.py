"""Learn from streams whose features come and go and whose labels are scarce."""

from headwater import errors, streams
from headwater._core import Decision, __version__
from headwater.learners import normalize, query, sparsify, update
from headwater.learners.base import Learner, from_bytes, load
from headwater.learners.fesl import FESL, RFESL
from headwater.learners.flls import FLLS
from headwater.learners.linear import Linear
from headwater.learners.names import named, names
from headwater.learners.olsf import OLSF
from headwater.learners.paa import CSPAA, MPAA, PAA
from headwater.types import Explanation, Feature, Rows, Trace

__all__ = [
    "CSPAA",
    "FESL",
    "FLLS",
    "MPAA",
    "OLSF",
    "PAA",
    "RFESL",
    "Decision",
    "Explanation",
    "Feature",
    "Learner",
    "Linear",
    "Rows",
    "Trace",
    "__version__",
    "errors",
    "from_bytes",
    "load",
    "named",
    "names",
    "normalize",
    "query",
    "sparsify",
    "streams",
    "update",
]
