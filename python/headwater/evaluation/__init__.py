"""Evaluation of learners: scores, runs along a stream, error estimates, choices, comparisons."""

from typing import TYPE_CHECKING

from headwater.evaluation.choice import Choice, cross_validated
from headwater.evaluation.comparison import PairedTest, paired_t_test
from headwater.evaluation.error_estimate import ErrorEstimate, Interval, audited, estimate_error
from headwater.evaluation.held_out import held_out, sparsity
from headwater.evaluation.prequential import Prequential, learning_curve, prequential
from headwater.evaluation.scores import ClassScores, Scores
from headwater.evaluation.width_search import AtRate, width_for_rate
from headwater.parameters import no_such_name

__all__ = [
    "AtRate",
    "Choice",
    "ClassScores",
    "ErrorEstimate",
    "Interval",
    "PairedTest",
    "Prequential",
    "Scores",
    "audited",
    "cross_validated",
    "estimate_error",
    "held_out",
    "learning_curve",
    "paired_t_test",
    "prequential",
    "sparsity",
    "width_for_rate",
]

if not TYPE_CHECKING:
    __getattr__ = no_such_name("headwater.evaluation", __all__)
