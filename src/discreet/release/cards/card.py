"""The card of an answer, or of a whole deployment: a record for readers, and for registries of such deployments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from discreet import escaping
from discreet.escaping import name as one_line

Document = Mapping[str, Any]


class Card(str):
    """The notes for readers of an answer, as text; a notebook shows it as a table.

    Attributes:
        document: the whole record, for machines.
    """

    __slots__ = ("_lines", "document")
    _lines: tuple[tuple[str, str], ...]
    document: Document

    @classmethod
    def of(cls, lines: Sequence[tuple[str, str]], document: Document | None = None) -> Self:
        """A card with some lines, each with a label, and with the record behind them."""
        wide = max((len(label) for label, _ in lines), default=0)
        made = cls("\n".join(f"{label.ljust(wide)}  {one_line(words)}" for label, words in lines))
        made._lines = tuple(lines)
        made.document = {} if document is None else document
        return made

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The notes for readers, each with its label."""
        return self._lines

    def _repr_html_(self) -> str:
        return escaping.table(self._lines)

    def to_dict(self) -> dict[str, Any]:
        """The record."""
        return dict(self.document)

    def to_json(self) -> str:
        """The record as JSON."""
        return escaping.json_text(json.dumps(self.document, ensure_ascii=False, indent=2, allow_nan=False))

    def fields(self) -> list[tuple[str, list[str]]]:
        """The record for readers: each field that says something, in words, with its lines."""
        return [(name.replace("_", " "), _items(value)) for name, value in self.document.items()
                if value not in (None, [], {})]  # fmt: skip

    def to_yaml(self) -> str:
        """The record as YAML; every text in quotes, so that none of it means anything to a reader of YAML."""
        return "".join(_yaml(self.document, 0))

    def to_markdown(self) -> str:
        """The record as a page of Markdown."""
        rows = [f"| {name} | {'<br>'.join(map(_cell, lines))} |\n" for name, lines in self.fields()]
        return "".join(["# Card\n\n| field | value |\n|---|---|\n", *rows])


def _yaml(value: object, deep: int) -> list[str]:
    """The lines of a value, in block style."""
    pad = "  " * deep
    if isinstance(value, Mapping) and value:
        out = []
        for name, inner in value.items():
            nested = isinstance(inner, Mapping | list) and inner
            out += (
                [f"{pad}{name}:\n", *_yaml(inner, deep + 1)]
                if nested
                else [f"{pad}{name}: {_scalar(inner)}\n"]
            )
        return out
    if isinstance(value, list) and value:
        out = []
        for inner in value:
            lines = _yaml(inner, deep + 1) if isinstance(inner, Mapping | list) and inner else []
            out += [f"{pad}- {lines[0].lstrip()}", *lines[1:]] if lines else [f"{pad}- {_scalar(inner)}\n"]
        return out
    return [f"{pad}{_scalar(value)}\n"]


def _scalar(value: object) -> str:
    return escaping.json_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _items(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{name}: {', '.join(_items(inner))}" for name, inner in value.items()]
    if isinstance(value, list):
        return ["; ".join(_items(part)) for part in value]
    return [str(value)]


def _cell(words: str) -> str:
    """Text in a cell of a table, where no sign of Markdown or HTML means anything."""
    plain = one_line(words)
    return "".join(
        f"\\{sign}" if sign in "\\`*_{}[]()<>#|!~" else "&amp;" if sign == "&" else sign for sign in plain
    )
