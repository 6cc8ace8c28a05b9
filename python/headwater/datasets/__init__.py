"""The papers' data sets by name: their registry, reading and fetching."""

from headwater.datasets.dataset import Dataset, load
from headwater.datasets.fetching import fetch
from headwater.datasets.registry import Entry, entries, entry

__all__ = ["Dataset", "Entry", "entries", "entry", "fetch", "load"]
