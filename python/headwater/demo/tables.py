"""The demo's two tables and its verdict as text, for the terminal and for the page."""

from headwater.demo.five_learners import CHOSEN, DEAF, EVERY, RANDOM, Demo
from headwater.types import TextTable


def learner_table(demo: Demo) -> TextTable:
    """What each learner cost and achieved."""
    return TextTable(
        ("learner", "labels", "missed", "false alarms", "balanced accuracy", "ROC AUC"),
        tuple(
            (
                outcome.name,
                f"{outcome.labels:,}",
                f"{outcome.missed:,}",
                f"{outcome.false_alarms:,}",
                f"{outcome.balanced_accuracy:.3f}",
                f"{outcome.roc_auc:.3f}",
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
    """What chosen labels and new sensors were worth to the recommended learner."""
    chosen, random, deaf = (demo.outcome(name) for name in (CHOSEN, RANDOM, DEAF))
    every = demo.outcome(EVERY)

    def share(value: float) -> str:
        return f"{100 * value:.1f} %"

    return (
        f"With {chosen.labels:,} labels that it chose itself, Spring recognises"
        f" {share(chosen.balanced_accuracy)} of the incidents and other events (balanced); with as"
        f" many labels drawn at random, {share(random.balanced_accuracy)}. Without the sensors that"
        f" were installed later it is {share(deaf.balanced_accuracy)}. Linear, which learned all"
        f" {every.labels:,} labels, comes to {share(every.balanced_accuracy)}. On the way Spring"
        f" missed {chosen.missed:,} of {demo.incidents.sum():,} incidents and raised"
        f" {chosen.false_alarms:,} false alarms."
    )
