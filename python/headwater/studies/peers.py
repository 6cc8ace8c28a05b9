"""Learners of other libraries, as a study runs them: River's usual pipeline."""

import math
from typing import Any

from headwater.errors import ParameterError
from headwater.learners.python_learner import PythonLearner
from headwater.rules.query import Query
from headwater.types import Name

LARGEST = 40.0
"""Log-odds beyond which a probability is 0 or 1."""


class RiverPipeline(PythonLearner):
    """`StandardScaler() | LogisticRegression()` of River, which learns every label it is given.

    It is a learner for studies, and cannot be saved. It needs River.

    Examples
    --------
    >>> model = RiverPipeline()
    >>> for hour in range(50):
    ...     model.learn_one({"rain": hour % 7, "wind": 1.0}, hour % 7 > 3)
    >>> model.predict_one({"rain": 6.0})
    True
    """

    query: Query | str = "all"

    def start(self) -> None:
        """A fresh pipeline."""
        try:
            from river import linear_model, preprocessing
        except ModuleNotFoundError as missing:
            raise ParameterError(
                "RiverPipeline: it needs River: pip install 'headwater[river]'."
            ) from missing
        self.pipeline: Any = preprocessing.StandardScaler() | linear_model.LogisticRegression()

    def score(self, x: dict[Name, float]) -> float:
        """The log-odds."""
        p = self.pipeline.predict_proba_one(x).get(True, 0.5)
        if not 0 < p < 1:
            return math.copysign(LARGEST, p - 0.5)
        return math.log(p / (1 - p))

    def learn(self, x: dict[Name, float], y: Any) -> None:
        """One step of scaler and regression."""
        self.pipeline.learn_one(x, bool(y))
