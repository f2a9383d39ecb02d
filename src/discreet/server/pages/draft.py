"""A policy in the making: the columns of a file, and a form's decisions about them as a policy.

Names and types are all that is known of the data; every number is the steward's.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import InvalidParameter
from discreet.policy import Policy
from discreet.policy.listed import read_keys
from discreet.rational import decimal
from discreet.records import dataclass
from discreet.server.pages.checks import MUCH

MOST = 100
"""The largest budget that a form makes; whoever wants more knows how to write it down."""


@dataclass(frozen=True)
class DraftColumn:
    """A column and the declaration that its name proposes.

    Attributes:
        name: in the data.
        kind: its type; empty in a CSV file.
        rule: "bounds", "keys", or empty to leave it out.
        values: the two bounds, or the keys, with commas between.
        why: the reason of the proposal.
        example: of such values, where there is no proposal.
    """

    name: str
    kind: str
    rule: str = ""
    values: str = ""
    why: str = ""
    example: str = ""


@dataclass(frozen=True)
class PolicyDraft:
    """A policy in the making.

    Attributes:
        place: the file that it becomes.
        url: of the data.
        table: its name in questions.
        columns: of the table.
        units: the columns that may tell people apart, the likeliest first.
        max_rows: an example of the rows of one person that count.
        epsilon: an example of a budget.
    """

    place: Path
    url: str
    table: str
    columns: tuple[DraftColumn, ...]
    units: tuple[str, ...] = ()
    max_rows: str = ""
    epsilon: str = ""


def proposed(draft: PolicyDraft) -> dict[str, str]:
    """The fields of the form before anybody has decided.

    Who is protected, how many rows of them count and how much may be spent are nobody's to guess.
    """
    fields = {"unit": "", "max_rows": "", "epsilon": ""}
    for i, column in enumerate(draft.columns):
        fields |= {f"rule{i}": column.rule, f"values{i}": column.values}
    return fields


def policy_of(draft: PolicyDraft, fields: Mapping[str, str]) -> Policy:
    """The policy that a form says.

    Raises:
        InvalidParameter: a field cannot be read, or the budget protects nobody.
        PolicyError: the policy does not hold together.

    Example:
        >>> draft = PolicyDraft(Path("v.toml"), "csv:v.csv", "v", (DraftColumn("who", ""), DraftColumn("age", "")))
        >>> fields = {"unit": "who", "max_rows": "2", "epsilon": "1", "rule1": "bounds", "values1": "0, 120"}
        >>> policy_of(draft, fields).tables["v"].columns["age"].words()
        '0 … 120'
    """
    unit = fields.get("unit", "")
    if unit not in ("row", *(column.name for column in draft.columns)):
        raise InvalidParameter(
            "Nobody is protected yet.", "Say who: the column that tells people apart, or each row."
        )
    rules: dict[str, dict[str, Any]] = {"bounds": {}, "keys": {}, "types": {}}
    for i, column in enumerate(draft.columns):
        if column.name != unit:
            for rule, declared in _declared(column, fields.get(f"rule{i}", ""), fields.get(f"values{i}", "")):
                rules[rule][column.name] = declared
    rows = None if unit == "row" else _rows(fields.get("max_rows", ""))
    epsilon = _budget(fields.get("epsilon", "").strip())
    return Policy.for_table(
        draft.table, privacy_unit=unit, budget=epsilon, max_rows=rows, source=draft.url,
        bounds=rules["bounds"], keys=rules["keys"], types=rules["types"],
    )  # fmt: skip


def _declared(column: DraftColumn, rule: str, text: str) -> Iterator[tuple[str, object]]:
    """The declarations of a column, each with the option of `Policy.for_table` that takes it."""
    given = [part.strip() for part in text.split(",") if part.strip()]
    if not rule:
        if given and text != column.values:
            raise InvalidParameter(
                f"Values of {column.name} are given, and it is left out.",
                "Choose bounds or keys beside them, or empty the field.",
            )
        return
    if rule == "keys" and given:  # commas alone are a slip
        keys = read_keys(text)
        if column.kind == "INTEGER" and _whole(given):
            yield "keys", [int(part) for part in given]
        else:
            yield "keys", keys if column.kind in ("", "INTEGER") else [str(key) for key in keys]
        return
    read = [_read(part) for part in given]
    if rule != "bounds" or len(given) != 2 or None in read:
        raise InvalidParameter(
            f"The declaration of {column.name} cannot be read.",
            "Write two bounds, such as 0, 120, or the keys with commas between.",
        )
    yield "bounds", tuple(read)
    if not column.kind and _whole(given):
        yield "types", "integer"


def _budget(text: str) -> Fraction:
    if not text:
        raise InvalidParameter(
            "How much may ever be spent is not decided yet.",
            "Write a budget: smaller protects more, above 10 little.",
        )
    epsilon = decimal(text, "The budget")
    if epsilon > MOST:
        raise InvalidParameter(
            f"A budget above {MOST} protects nobody: from about {MUCH} on, it promises little to one person.",
            "Write 1, or 3; a larger number than this page takes can be written into the policy file.",
        )
    return epsilon


def _whole(given: list[str]) -> bool:
    return all(re.fullmatch(r"[+-]?[0-9]{1,18}", part, re.ASCII) for part in given)


def _read(text: str) -> object:
    """A bound: a number, a date or a moment; None for another text."""
    for read in (decimal, dt.date.fromisoformat, dt.datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:  # InvalidParameter is one
            continue
    return None


def _rows(text: str) -> int:
    if not text.strip():
        raise InvalidParameter(
            "How many rows of one person count is not decided yet.",
            "Write a number: further rows of a person are left out, and a larger number needs more noise.",
        )
    if not re.fullmatch(r"[0-9]{1,9}", text.strip(), re.ASCII):
        raise InvalidParameter("The rows of a person are no whole number.", "Write 3.")
    return int(text)
