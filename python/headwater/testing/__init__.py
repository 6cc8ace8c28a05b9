"""The contract that every learner keeps, as checks: see docs/how-to/own-learners.md."""

from headwater.testing.contract import ALL_CHECKS, Check, check_learner, checks, stream_for
from headwater.testing.small_stream import Make, SmallStream

__all__ = ["ALL_CHECKS", "Check", "Make", "SmallStream", "check_learner", "checks", "stream_for"]
