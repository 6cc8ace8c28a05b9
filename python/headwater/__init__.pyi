"""Learn from streams whose features come and go and whose labels are scarce."""

from . import datasets, errors, evaluation, labels, live, streams, testing
from ._core import Decision, FeatureNames, __version__
from .catalogue import named, names
from .client import AsyncClient, Client
from .inputs import Columns, EventFile, Record, open
from .learners.base import Learner, apply_delta, from_bytes, load
from .learners.fesl import FESL, RFESL
from .learners.flls import FLLS
from .learners.linear import Linear
from .learners.ofs import OFSP
from .learners.olsf import OLSF
from .learners.olvf import OLVF
from .learners.paa import CSPAA, MPAA, PAA
from .learners.python_learner import PythonLearner
from .learners.regression import PARegressor
from .learners.second_order import SEL2
from .learners.spring import Spring
from .learners.sweep_files import sweep
from .register import FeatureFinding, FeatureLife, Register
from .rules import query, scale, sparsify, update
from .service.notebook import label_frame
from .session import Session
from .types import Explanation, Feature, Features, FileRun, Rows, Trace

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
    "AsyncClient",
    "Client",
    "Columns",
    "Decision",
    "EventFile",
    "Explanation",
    "Feature",
    "FeatureFinding",
    "FeatureLife",
    "FeatureNames",
    "Features",
    "FileRun",
    "Learner",
    "Linear",
    "PARegressor",
    "PythonLearner",
    "Record",
    "Register",
    "Rows",
    "Session",
    "Spring",
    "Trace",
    "__version__",
    "apply_delta",
    "datasets",
    "errors",
    "evaluation",
    "from_bytes",
    "label_frame",
    "labels",
    "live",
    "load",
    "named",
    "names",
    "open",
    "query",
    "scale",
    "sparsify",
    "streams",
    "sweep",
    "testing",
    "update",
]
