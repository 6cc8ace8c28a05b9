"""Learn from streams whose features come and go and whose labels are scarce."""

from headwater import datasets, errors, evaluation, labels, streams
from headwater._core import Decision, __version__
from headwater.files import EventFile, Record, open
from headwater.learners import normalize, query, sparsify, update
from headwater.learners.base import Learner, from_bytes, load
from headwater.learners.fesl import FESL, RFESL
from headwater.learners.flls import FLLS
from headwater.learners.linear import Linear
from headwater.learners.names import named, names
from headwater.learners.ofs import OFSP
from headwater.learners.olsf import OLSF
from headwater.learners.olvf import OLVF
from headwater.learners.paa import CSPAA, MPAA, PAA
from headwater.learners.regression import PARegressor
from headwater.learners.second_order import SEL2
from headwater.learners.spring import Spring
from headwater.session import Session
from headwater.types import Explanation, Feature, FileRun, Rows, Trace

__all__ = [
    "CSPAA",
    "FESL",
    "FLLS",
    "MPAA",
    "OFSP",
    "OLSF",
    "OLVF",
    "PAA",
    "RFESL",
    "SEL2",
    "Decision",
    "EventFile",
    "Explanation",
    "Feature",
    "FileRun",
    "Learner",
    "Linear",
    "PARegressor",
    "Record",
    "Rows",
    "Session",
    "Spring",
    "Trace",
    "__version__",
    "datasets",
    "errors",
    "evaluation",
    "from_bytes",
    "labels",
    "load",
    "named",
    "names",
    "normalize",
    "open",
    "query",
    "sparsify",
    "streams",
    "update",
]
