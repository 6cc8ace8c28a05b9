"""The papers' data sets by name: their registry, reading and fetching."""

from typing import TYPE_CHECKING

from headwater.datasets.dataset import Dataset, load
from headwater.datasets.fetching import fetch
from headwater.datasets.registry import Entry, entries, entry
from headwater.parameters import no_such_name

__all__ = ["Dataset", "Entry", "entries", "entry", "fetch", "load"]

if not TYPE_CHECKING:
    __getattr__ = no_such_name("headwater.datasets", __all__)
