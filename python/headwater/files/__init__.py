"""Files of events: svmlight, VW text, JSON lines, CSV, Parquet and Arrow, packed or not."""

from headwater.files.events import EventFile, Record, open

__all__ = ["EventFile", "Record", "open"]
