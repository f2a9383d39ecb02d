"""Writes a policy as TOML, exactly, and places it in its folder."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.escaping import toml_document
from discreet.policy.values import KeyReference

if TYPE_CHECKING:
    from discreet.policy.declarations import About, Budget, TablePolicy


class PolicyDeclarations(Protocol):
    """The parts of a policy that its file holds."""

    @property
    def neighbours(self) -> str:
        """How neighbouring data sets differ."""

    @property
    def random_dp(self) -> bool:
        """Whether sampled sensitivities are allowed."""

    @property
    def budget(self) -> Budget:
        """The privacy loss that may ever be spent."""

    @property
    def about(self) -> About:
        """The facts that only people know."""

    @property
    def source(self) -> str | None:
        """Where the data is."""

    @property
    def ledger(self) -> str | None:
        """Where the budget is kept."""

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The tables by name."""


def write(policy: PolicyDeclarations) -> str:
    """Write the policy as TOML that reads back as an equal policy."""
    lines = [
        f"neighbours = {value(policy.neighbours)}",
        *(["random_dp = true"] if policy.random_dp else []),
        "",
        "[budget]",
        f"epsilon = {value(policy.budget.epsilon)}",
    ]
    if policy.budget.delta:
        lines.append(f"delta = {value(policy.budget.delta)}")
    if policy.budget.accountant != "pure":
        lines.append(f"accountant = {value(policy.budget.accountant)}")
    if policy.budget.version:
        lines.append(f"version = {value(policy.budget.version)}")
    if policy.about.given():
        lines += [
            "",
            "[about]",
            *(f"{name} = {value(words)}" for name, words in policy.about.given().items()),
        ]
    for name, place in (("source", policy.source), ("ledger", policy.ledger)):
        if place is not None:
            lines += ["", f"[{name}]", f"url = {value(place)}"]
    for name, table in policy.tables.items():
        lines += _table(name, table)
    return toml_document("\n".join(lines) + "\n")


def _table(name: str, table: TablePolicy) -> list[str]:
    """The lines of a table."""
    lines = ["", f"[tables.{key(name)}]"]
    if table.url is not None:
        lines.append(f"url = {value(table.url)}")
    if table.public:
        lines.append("public = true")
    else:
        lines.append(f"privacy_unit = {value(table.privacy_unit)}")
        if table.through:
            lines.append(f"through = {step(table.through)}")
        if table.privacy_unit != "row":
            lines.append(f"max_rows = {value(table.max_rows)}")
            if table.max_rows_per_group is not None:
                lines.append(f"max_rows_per_group = {value(table.max_rows_per_group)}")
        if table.personal is not None:
            shares = ", ".join(
                f"{key(label)} = {value(share)}" for label, share in table.personal.shares.items()
            )
            lines.append(f"personal = {{ column = {value(table.personal.column)}, shares = {{ {shares} }} }}")
    if table.columns:
        lines += ["", f"[tables.{key(name)}.columns]"]
    for column, declared in table.columns.items():
        both = {
            "bounds": declared.bounds,
            "keys": declared.keys,
            "type": declared.type,
            "max_items": declared.max_items,
        }
        inside = ", ".join(f"{part} = {value(given)}" for part, given in both.items() if given is not None)
        lines.append(f"{key(column)} = {{ {inside} }}")
    return lines


def step(through: Mapping[str, KeyReference]) -> str:
    """Write the columns that hold a key of another table."""
    return f"{{ {', '.join(f'{key(column)} = {value(held)}' for column, held in through.items())} }}"


def resolved(url: str | None, folder: Path) -> str | None:
    """Make the path in a url start from a folder, when it is relative."""
    if url is None:
        return None
    known = re.match(r"(parquet:|csv:|duckdb:|sqlite:///)(?://)?", url)
    if known is None and re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", url):
        return url
    kind, path = (known[1], url[known.end() :]) if known else ("", url)
    if not path or path.startswith("~") or path == ":memory:":
        return url
    return kind + os.path.normpath(folder / path)


def key(name: str) -> str:
    """Write a name as a key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)


def value(given: object) -> str:
    """Write a value of a policy as TOML, exactly."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, Fraction):
        return _number(given)
    if isinstance(given, dt.date):
        return given.isoformat()
    if isinstance(given, KeyReference):
        if "." in given.column:
            return f"{{ table = {value(given.table)}, column = {value(given.column)} }}"
        return value(f"{given.table}.{given.column}")
    if isinstance(given, tuple):
        return f"[{', '.join(map(value, given))}]"
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: Fraction) -> str:
    """Write a rational as an integer or a decimal when it is one, else as the text of a quotient."""
    digits, rest = 0, value.denominator
    for factor in (2, 5):
        power = 0
        while rest % factor == 0:
            rest, power = rest // factor, power + 1
        digits = max(digits, power)
    if rest != 1:
        return f'"{value}"'
    if digits == 0:
        return str(value.numerator)
    whole = str(abs(value.numerator) * 10**digits // value.denominator).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{whole[:-digits]}.{whole[-digits:]}"
