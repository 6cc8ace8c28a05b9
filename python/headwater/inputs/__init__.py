"""Inputs: batches of rows, frames, and files of seven formats, compressed or not."""

from headwater.inputs.columns import Columns
from headwater.inputs.files import EventFile, open
from headwater.inputs.records import Record

__all__ = ["Columns", "EventFile", "Record", "open"]
