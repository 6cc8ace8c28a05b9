"""Learners written in Python, one per task, as a user would write them."""

import math
from collections.abc import Mapping
from typing import Any

import headwater as hw
from headwater.errors import StepError
from headwater.types import Label, Name

Event = dict[Name, float]


class HingeSteps(hw.PythonLearner):
    """Gradient steps on the hinge loss, with all that a learner may tell."""

    step: float = 0.1

    def start(self) -> None:
        self.w: Event = {}

    def score(self, x: Event) -> float:
        return sum(self.w.get(name, 0.0) * value for name, value in x.items())

    def learn(self, x: Event, y: Any) -> None:
        sign = 1.0 if y else -1.0
        if sign * self.score(x) < 1:
            for name, value in x.items():
                self.w[name] = self.w.get(name, 0.0) + self.step * sign * value

    def contributions(self, x: Event) -> Event:
        return {name: self.w.get(name, 0.0) * value for name, value in x.items()}

    def weights(self) -> dict[Any, Any]:
        return {name: weight for name, weight in self.w.items() if weight}


class Voices(hw.PythonLearner, task="multiclass"):
    """One perceptron per class; it tells nothing of its weights."""

    def start(self) -> None:
        self.votes: dict[Label, Event] = {}

    def score(self, x: Event) -> Mapping[Label, float]:
        return {
            label: sum(w.get(name, 0.0) * value for name, value in x.items())
            for label, w in self.votes.items()
        }

    def learn(self, x: Event, y: Any) -> None:
        self.votes.setdefault(y, {})
        scores = self.score(x)
        best = max(scores, key=lambda label: scores[label])
        for label, sign in ((y, 1.0), (best, -1.0)):
            for name, value in x.items():
                weights = self.votes[label]
                weights[name] = weights.get(name, 0.0) + sign * value


class Means(hw.PythonLearner, task="regression"):
    """The mean of the targets, and one of the errors that are left per feature."""

    query: hw.query.Query | str = "all"

    def start(self) -> None:
        self.rounds = 0
        self.mean = 0.0
        self.slopes: Event = {}

    def score(self, x: Event) -> float:
        return self.mean + sum(self.slopes.get(name, 0.0) * value for name, value in x.items())

    def learn(self, x: Event, y: Any) -> None:
        norm = 1 + sum(value * value for value in x.values())
        if math.isinf(norm):
            raise StepError("Means: its values are too large.")
        error = y - self.score(x)
        self.rounds += 1
        self.mean += error / self.rounds
        for name, value in x.items():
            self.slopes[name] = self.slopes.get(name, 0.0) + 0.5 * error * value / norm
