"""What looks wrong in the columns of a file, as sentences with the cure."""

from collections.abc import Callable
from typing import NamedTuple

Cure = Callable[[str, str], str]
"""How a role is given: from a role and the name of a column."""


def in_python(role: str, column: str) -> str:
    """A role as `headwater.Columns` takes it."""
    single = ("label", "id", "time", "decimal")
    return f"{role}={column!r}" if role in single else f"{role}=[{column!r}]"


class Finding(NamedTuple):
    """What looks wrong in a column: `kind`, how many values of how many, and one of them.

    Examples
    --------
    >>> print(Finding("unused", "wnid", 0, 0, "").sentence())
    No event has a field 'wnid', which was given a role.
    """

    kind: str
    column: str
    found: int
    of: int
    example: str

    def sentence(self, cure: Cure = in_python) -> str:
        """What is wrong and what to do, in the words of whoever gives the roles."""
        shown = self.example if len(self.example) <= 40 else f"{self.example[:37]}..."
        what = f"Column {self.column!r}"
        share = f"{self.found:,} of {self.of:,} texts"

        def roles(*names: str) -> str:
            return " or ".join(cure(name, self.column) for name in names)

        match self.kind:
            case "times":
                return (
                    f"{what} holds times ({shown!r}); each would be a feature of its own. Give it a"
                    f" role: {roles('time', 'ignore')}."
                )
            case "commas":
                return (
                    f"{what} holds numbers with a comma ({share}, such as {shown!r}), which are"
                    f" taken for texts. Give it a role and say what the comma is:"
                    f" {roles('number')} and {cure('decimal', ',')}."
                )
            case "units":
                return (
                    f"{what} holds numbers written as texts ({share}, such as {shown!r}), which"
                    f" become indicators. Give it a role: {roles('number', 'category')}."
                )
            case "unused":
                return f"No event has a field {self.column!r}, which was given a role."
            case "out_of_order":
                return (
                    f"{self.found:,} of {self.of:,} events are earlier in {self.column!r} than the"
                    " event before; events are learned in the order of the file, so sort it."
                )
            case _:
                return (
                    f"{what} holds ever new texts ({self.found:,} different ones in {self.of:,},"
                    f" such as {shown!r}); each becomes a feature of its own. Give it a role:"
                    f" {roles('text', 'ignore', 'id')}."
                )
