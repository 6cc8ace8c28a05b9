"""The list of all checks, and which of them fit a learner."""

from collections.abc import Callable
from types import ModuleType

from headwater.errors import ParameterError
from headwater.learners.base import Learner
from headwater.testing import (
    batch_checks,
    feature_checks,
    label_checks,
    parameter_checks,
    question_checks,
    state_checks,
)
from headwater.testing.small_stream import Make, SmallStream, small_stream
from headwater.testing.traits import is_bounded, is_scaled, kind_of, weighs_classes

Check = Callable[[Make, SmallStream], None]


def _checks_in(module: ModuleType) -> list[Check]:
    return [value for name, value in vars(module).items() if name.startswith("check_")]


PARTS = (
    batch_checks,
    state_checks,
    feature_checks,
    question_checks,
    label_checks,
    parameter_checks,
)
ALL_CHECKS: list[Check] = [check for part in PARTS for check in _checks_in(part)]
"""Every check there is."""

FOR_ONE_TASK: dict[Check, set[str]] = {
    label_checks.check_two_classes_may_be_written_in_many_ways: {"binary"},
    label_checks.check_predictions_take_the_form_of_the_labels_learned: {"binary"},
    label_checks.check_classes_are_met_as_they_come: {"multiclass"},
    label_checks.check_classes_may_be_known_from_the_start: {"multiclass"},
    label_checks.check_class_labels_of_any_kind_are_the_same: {"multiclass"},
    label_checks.check_probabilities_agree_with_the_prediction: {"binary", "multiclass"},
    label_checks.check_numbers_have_no_probabilities: {"regression"},
}
"""The tasks of the checks that do not fit every task."""

UNSCALED: set[Check] = {
    state_checks.check_querying_moves_only_the_query_state,
    state_checks.check_a_decision_is_prediction_and_query_in_one,
    question_checks.check_any_decision_may_be_answered,
    question_checks.check_a_late_answer_learns_frozen_features_with_the_current_model,
    question_checks.check_a_decision_may_be_answered_by_a_loaded_learner,
}
"""Checks that a scaler does not fit: it counts decisions, so each sees other values."""

UNBOUNDED: set[Check] = {
    feature_checks.check_the_register_tells_when_features_were_learned,
    feature_checks.check_weights_hold_no_zeros,
}
"""Checks that look for names which a bounded learner may have let go."""


def checks(make: Make) -> list[Check]:
    """The checks that fit the learner that `make()` makes.

    Each is a function of `make` and a short stream: `check(make, stream_for(make))`. Its docstring
    is its claim. A check that fails raises an AssertionError that says what was expected.

    Parameters
    ----------
    make
        Makes a fresh learner, as a class does; `seed` and `classes` may be given to it.

    Examples
    --------
    >>> import headwater as hw
    >>> for check in hw.testing.checks(hw.PAA)[:2]:
    ...     print(check.__name__)
    check_simulate_on_sparse_rows_is_the_event_loop
    check_simulate_on_a_dense_array_is_the_event_loop
    """
    model = _made("checks", make)
    unfit = {check for check, tasks in FOR_ONE_TASK.items() if model.task not in tasks}
    if is_scaled(model):
        unfit |= UNSCALED
    if is_bounded(model):
        unfit |= UNBOUNDED
    if weighs_classes(model):
        unfit.add(label_checks.check_probabilities_agree_with_the_prediction)
    if kind_of(model) == "external":  # the model may use a value whose weight is not learned
        unfit.add(feature_checks.check_a_name_never_learned_adds_nothing)
    return [check for check in ALL_CHECKS if check not in unfit]


def stream_for(make: Make) -> SmallStream:
    """The short stream, with labels that fit the learner that `make()` makes.

    Examples
    --------
    >>> import headwater as hw
    >>> hw.testing.stream_for(hw.MPAA).labels[:3]
    ['ham', 'ham', 'ham']
    """
    return small_stream(_made("stream_for", make).task)


def check_learner(make: Make) -> list[str]:
    """Run every check that fits on the learners that `make` makes; return the checks' names.

    Parameters
    ----------
    make
        As in `checks`.

    Raises
    ------
    AssertionError
        If a check fails: it lists all that failed, each with what was expected and what came.

    Examples
    --------
    >>> import headwater as hw
    >>> "check_decisions_pickle" in hw.testing.check_learner(hw.PAA)
    True
    """
    stream, fitting = stream_for(make), checks(make)
    failed = []
    for check in fitting:
        try:
            check(make, stream)
        except Exception as error:
            failed.append(f"{check.__name__}: {type(error).__name__}: {error}")
    if failed:
        lines = "\n".join(failed)
        raise AssertionError(f"{len(failed)} of {len(fitting)} checks failed:\n{lines}")
    return [check.__name__ for check in fitting]


def _made(owner: str, make: Make) -> Learner:
    made = make() if callable(make) else make
    if not isinstance(made, Learner) or not callable(make):
        raise ParameterError(
            f"{owner}: make must be a class of learners or a function that makes one, got {make!r}."
        )
    return made
