"""The demo's two tables as text, for the terminal and the page alike."""

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
            "labels bought",
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
    """What choosing the labels was worth to the recommended learner, in a sentence."""
    every, chance, _, few, ours = demo.outcomes
    share = 100 * ours.labels / demo.events
    return (
        f"Choosing {share:.0f} % of the labels, Linear made {ours.errors:,} errors on the way;"
        f" given as many by chance it made {chance.errors:,}, and told every label"
        f" {every.errors:,}. With {few.labels:,} labels in all Spring's balanced accuracy was"
        f" {few.balanced_accuracy:.3f}, Linear's with {ours.labels:,} {ours.balanced_accuracy:.3f}."
    )
