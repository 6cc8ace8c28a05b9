"""Where labels come from."""

from typing import TYPE_CHECKING

from headwater.labels.base import LabelSource
from headwater.labels.oracle import Oracle
from headwater.parameters import no_such_name

__all__ = ["LabelSource", "Oracle"]

if not TYPE_CHECKING:
    __getattr__ = no_such_name("headwater.labels", __all__)
