"""The demo's two tables as text, for the terminal and for the page."""

from headwater.demo.five_learners import Demo
from headwater.types import TextTable


def learner_table(demo: Demo) -> TextTable:
    """What each learner cost and achieved."""
    return TextTable(
        (
            "learner",
            "missed",
            "false alarms",
            "balanced accuracy",
            "ROC AUC",
            "labels asked for",
            "events per second",
        ),
        tuple(
            (
                outcome.name,
                f"{outcome.missed:,}",
                f"{outcome.false_alarms:,}",
                f"{outcome.balanced_accuracy:.3f}",
                f"{outcome.roc_auc:.3f}",
                f"{outcome.labels:,}",
                f"{outcome.events_per_second:,.0f}",
            )
            for outcome in demo.outcomes
        ),
    )


def sensor_table(demo: Demo) -> TextTable:
    """The running sensors that matter most to the recommended learner."""
    return TextTable(
        ("sensor", "weight", "installed at event", "labels learned from"),
        tuple(
            (
                top.sensor.name,
                f"{top.weight:+.3f}",
                f"{top.sensor.installed:,}" if top.sensor.installed else "the first",
                f"{top.labels:,}",
            )
            for top in demo.top_sensors
        ),
    )


def verdict(demo: Demo) -> str:
    """What few labels were worth to the recommended learner, in two sentences."""
    every, _, linear, more, few = demo.outcomes
    return (
        f"With {few.labels:,} labels, chosen by itself, Spring missed {few.missed:,} of"
        f" {demo.incidents.sum():,} incidents and raised {few.false_alarms:,} false alarms; with"
        f" {more.labels:,} labels, {more.missed:,} and {more.false_alarms:,}. Linear missed"
        f" {linear.missed:,} and raised {linear.false_alarms:,} with {linear.labels:,} labels;"
        f" with every label, {every.missed:,} and {every.false_alarms:,}."
    )
