"""The demo's two tables as text, for the terminal and for the page."""

from headwater.demo.five_learners import Demo
from headwater.types import TextTable


def learner_table(demo: Demo) -> TextTable:
    """What each learner cost and achieved."""
    return TextTable(
        (
            "learner",
            "errors on the stream",
            "balanced accuracy",
            "ROC AUC",
            "labels asked for",
            "weights kept",
            "events per second",
        ),
        tuple(
            (
                outcome.name,
                f"{outcome.errors:,}",
                f"{outcome.balanced_accuracy:.3f}",
                f"{outcome.roc_auc:.3f}",
                f"{outcome.labels:,}",
                f"{outcome.weights}/{outcome.features}",
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
    """The effect of choosing labels for the recommended learner, in a sentence."""
    every, chance, _, few, ours = demo.outcomes
    share = 100 * ours.labels / demo.events
    return (
        f"With {share:.0f} % of the labels, chosen by itself, Linear made {ours.errors:,} errors"
        f" on the stream; with as many random labels it made {chance.errors:,}, and with every"
        f" label {every.errors:,}. Spring's balanced accuracy with {few.labels:,} labels was"
        f" {few.balanced_accuracy:.3f}, Linear's with {ours.labels:,} labels"
        f" {ours.balanced_accuracy:.3f}."
    )
