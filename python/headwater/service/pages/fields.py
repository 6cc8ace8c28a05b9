"""How features and labels are shown: `[fields]`, `[labels]` and the units of `headwater.toml`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater.inputs.config import Config
from headwater.service.pages.wording import number, plain
from headwater.types import Label

DIGITS = "123456789"
TAKEN = set("ubgn? ")
"""Keys of the labelling page that no class can have."""
NAME_AND_KEY = re.compile(r"(.*\S)\s*\[(\S)\]\s*")


class Field(NamedTuple):
    """How a feature is shown."""

    label: str = ""
    unit: str = ""
    format: str = ""
    hidden: bool = False


class ClassView(NamedTuple):
    """A class as its button shows it, and the key that chooses it."""

    label: Label
    name: str
    key: str


@dataclass(frozen=True)
class CardLayout:
    """How the features and labels of a service are shown to people.

    Examples
    --------
    >>> layout = CardLayout(names={"true": "incident [i]"})
    >>> layout.label(True), layout.label(False)
    ('incident', 'no')
    >>> [(one.name, one.key) for one in layout.classes([False, True])]
    [('incident', 'i'), ('no', '1')]
    """

    fields: Mapping[str, Field] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: Config) -> "CardLayout":
        """As `headwater.toml` says."""
        fields = {name: Field(unit=unit) for name, unit in config.columns.units.items()}
        for name, told in config.sections.get("fields", {}).items():
            fields[name] = fields.get(name, Field())._replace(**told)
        return cls(fields, dict(config.sections.get("labels", {})))

    def field(self, name: Any) -> Field | None:
        """How a feature is shown, if that was said."""
        return self.fields.get(name if isinstance(name, str) else str(name))

    def title(self, name: Any) -> str:
        """The name of a feature as people see it."""
        told = self.field(name)
        return plain(name if told is None or not told.label else told.label)

    def unit(self, name: Any) -> str:
        """The unit of a feature."""
        told = self.field(name)
        return "" if told is None else plain(told.unit)

    def label(self, label: Label | None) -> str:
        """The name of a label as people see it."""
        return self._named(label)[0]

    def _named(self, label: Label | None) -> tuple[str, str]:
        if label is None:
            return "nothing", ""
        written = str(label).lower() if isinstance(label, bool) else str(label)
        told = self.names.get(written)
        if told is None:
            return (number(label) if not isinstance(label, str) else plain(label)), ""
        parts = NAME_AND_KEY.fullmatch(told)
        if parts is None or parts[2].lower() in TAKEN:
            return plain(told), ""
        return plain(parts[1]), parts[2].lower()

    def classes(self, labels: Iterable[Label]) -> list[ClassView]:
        """The classes with their keys: those that were given, then digits; yes before no."""
        ordered = list(labels)
        if set(map(type, ordered)) == {bool}:
            ordered.sort(reverse=True)
        named = [(label, *self._named(label)) for label in ordered]
        taken = {key for _, _, key in named}
        digits = (digit for digit in DIGITS if digit not in taken)
        return [ClassView(label, name, key or next(digits, "")) for label, name, key in named]
