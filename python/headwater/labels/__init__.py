"""Where labels come from."""

from headwater.labels.base import LabelSource
from headwater.labels.oracle import Oracle

__all__ = ["LabelSource", "Oracle"]
