"""What the steward declares about a data set: budget, privacy unit, bounds and keys.

One model stands behind the keyword arguments of `protect` and the TOML file. Numbers are exact: a bound or
an epsilon written as 0.1 is 1/10.
"""

from __future__ import annotations

import datetime as dt
import difflib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from discreet.errors import InvalidParameter, PolicyError
from discreet.rational import decimal

Bound: TypeAlias = Fraction | dt.date | dt.datetime
Key: TypeAlias = str | int | bool | dt.date
Neighbours: TypeAlias = Literal["add_remove", "replace_one"]

MAX_KEYS = 10_000_000


def _wrong(cause: str, fix: str) -> PydanticCustomError:
    """Make the error that a validator raises; `_policy_error` turns it into a `PolicyError`."""
    return PydanticCustomError("policy", "{cause} {fix}", {"cause": cause, "fix": fix})


class _Meta(type(BaseModel)):  # type: ignore[misc]
    """Makes the constructor of a model raise `PolicyError`; nested models are still collected by pydantic."""

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **values: Any) -> Any:
            try:
                return super().__call__(*args, **values)
            except ValidationError as error:
                problems = error.errors(include_url=False, include_input=False)
            raise _policy_error(cls, problems)


class _Model(BaseModel, metaclass=_Meta):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _number(value: object) -> Fraction:
    try:
        return decimal(value)
    except InvalidParameter as error:
        cause, fix = error.cause, error.fix
    raise _wrong(cause.replace("value", "It", 1), fix)


def _epsilon(value: object) -> Fraction:
    number = _number(value)
    if number <= 0:
        raise _wrong("It must be above zero.", "Give a positive number such as 1.")
    return number


def _delta(value: object) -> Fraction:
    number = _number(value)
    if not 0 <= number < 1:
        raise _wrong("It must be at least 0 and below 1.", "Give 0, or a tiny number such as 1e-9.")
    return number


class Budget(_Model):
    """The privacy loss that a data set may ever spend.

    Attributes:
        epsilon: above zero, exact; a float is read as its shortest decimal.
        delta: at least 0 and below 1, exact; 0 for pure differential privacy.

    Raises:
        PolicyError: a number is outside its range.

    Example:
        >>> Budget(epsilon=0.1)
        Budget(epsilon=Fraction(1, 10), delta=Fraction(0, 1))
    """

    epsilon: Annotated[Fraction, PlainValidator(_epsilon)]
    delta: Annotated[Fraction, PlainValidator(_delta)] = Fraction(0)

    if TYPE_CHECKING:

        def __init__(self, *, epsilon: object, delta: object = 0) -> None: ...


class KeyReference(_Model):
    """The keys of a column are the values of a column of a public table.

    Attributes:
        table: name of a public table of the policy.
        column: name of its column.
    """

    table: str
    column: str


def _bound(value: object) -> Bound:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str) and re.match(r"\d{4}-\d", value):
        try:
            return (
                dt.date.fromisoformat(value) if len(value) <= 10 else _bound(dt.datetime.fromisoformat(value))
            )
        except ValueError:
            pass
        raise _wrong("A bound is not a date.", "Write it like 2024-01-31 or 2024-01-31T12:00:00.")
    return _number(value)


def _bounds(value: object) -> tuple[Bound, Bound] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or len(pair := tuple(value)) != 2:
        raise _wrong("Bounds are a pair.", "Write bounds = [lo, hi].")
    lo, hi = _bound(pair[0]), _bound(pair[1])
    if type(lo) is not type(hi):
        raise _wrong(
            "The two bounds are of different kinds.", "Give two numbers, two dates or two date-times."
        )
    if not lo < hi:  # type: ignore[operator]
        raise _wrong("The lower bound is not below the upper bound.", "Give lo < hi.")
    return lo, hi


def _keys(value: object) -> tuple[Key, ...] | KeyReference | None:
    if value is None or isinstance(value, KeyReference):
        return value
    if isinstance(value, str):
        table, dot, column = value.rpartition(".")
        if not (table and dot and column):
            raise _wrong(
                "Keys written as one text are a column of a public table.", 'Write "table.column" or a list.'
            )
        return KeyReference(table=table, column=column)
    return _distinct(_plain(value))


def _plain(value: object) -> list[object]:
    """Turn a list, array, Series or Arrow column into Python values."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(value, method):
            return list(getattr(value, method)())
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise _wrong(f"Keys cannot be made from a {type(value).__name__}.", 'Give a list, or "table.column".')
    return [each.item() if hasattr(each, "item") else each for each in value]


def _distinct(values: list[object]) -> tuple[Key, ...]:
    # NaN and NaT are the only values that differ from themselves.
    values = [each for each in values if each is not None and each == each]
    kinds = set(map(type, values))
    if kinds == {float} and all(each.is_integer() for each in values):  # type: ignore[attr-defined]
        values, kinds = [int(each) for each in values], {int}  # type: ignore[call-overload]
    if any(issubclass(kind, dt.datetime) for kind in kinds):
        if any(each.time() != dt.time() or each.tzinfo for each in values):  # type: ignore[attr-defined]
            raise _wrong("Keys cannot be date-times.", "Give dates, and group by the date of the column.")
        values, kinds = [each.date() for each in values], {dt.date}  # type: ignore[attr-defined]
    if not values:
        raise _wrong("There are no keys.", "List at least one key.")
    if len(kinds) > 1:
        raise _wrong(
            "The keys are of more than one type.", "Give texts, integers, booleans or dates, not a mixture."
        )
    if not issubclass(next(iter(kinds)), str | int | dt.date):
        raise _wrong(
            f"Keys cannot be of type {next(iter(kinds)).__name__}.",
            "Give texts, integers, booleans or dates.",
        )
    found = tuple(dict.fromkeys(values))
    if len(found) > MAX_KEYS:
        raise _wrong(f"There are more than {MAX_KEYS:,} keys.", "Group by something coarser.")
    return found  # type: ignore[return-value]


class ColumnPolicy(_Model):
    """What is declared about one column.

    Attributes:
        bounds: least and greatest value that counts; what lies outside is clamped. Exact numbers, dates,
            or date-times without zone, in UTC.
        keys: the public set of values to group by, or the column of a public table that holds them; a row
            with another value is dropped.
    """

    bounds: Annotated[tuple[Bound, Bound] | None, PlainValidator(_bounds)] = None
    keys: Annotated[tuple[Key, ...] | KeyReference | None, PlainValidator(_keys)] = None

    if TYPE_CHECKING:

        def __init__(self, *, bounds: object = None, keys: object = None) -> None: ...


class TablePolicy(_Model):
    """What is declared about one table.

    Attributes:
        privacy_unit: the column that names the unit a row belongs to, or "row" when each row is one unit.
        max_rows: rows kept of a unit.
        public: the table holds nothing private.
        columns: what is declared about its columns, by name.
        url: where the table is, when it is not in the source of the policy.
    """

    privacy_unit: str | None = None
    max_rows: Annotated[int, Field(strict=True)] | None = None
    public: Annotated[bool, Field(strict=True)] = False
    columns: dict[str, ColumnPolicy] = Field(default_factory=dict)
    url: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> TablePolicy:
        if self.public:
            if self.privacy_unit is not None or self.max_rows is not None:
                raise _wrong(
                    "A public table has no privacy unit.", "Remove privacy_unit and max_rows, or public."
                )
            return self
        if not self.privacy_unit:
            raise _wrong(
                "privacy_unit is missing.",
                'Name the column that tells people apart, or write "row" when each row is one person; '
                "or declare public = true.",
            )
        if self.privacy_unit == "row":
            if self.max_rows not in (None, 1):
                raise _wrong('max_rows is 1 when privacy_unit is "row".', "Remove max_rows.")
            object.__setattr__(self, "max_rows", 1)
        elif self.max_rows is None:
            raise _wrong(
                "max_rows is missing.", "Decide how many rows of one unit may count, such as max_rows = 3."
            )
        elif self.max_rows < 1:
            raise _wrong("max_rows must be at least 1.", "Decide how many rows of one unit may count.")
        return self


class _Column(Protocol):
    name: str
    type: Any


def _budget(value: object) -> object:
    return value if isinstance(value, Mapping | Budget) else {"epsilon": value}


def _url(value: object) -> object:
    return value["url"] if isinstance(value, Mapping) and set(value) == {"url"} else value


class Policy(_Model):
    """Everything that a steward declares about a data set.

    Attributes:
        budget: the privacy loss it may ever spend.
        source: the url of the data, or None when it is given otherwise.
        tables: what is declared about each table, by name.
        neighbours: whether neighbouring data sets differ by adding or removing one unit, or by replacing one.
        ledger: the place of the ledger, or None for the default.
    """

    budget: Annotated[Budget, BeforeValidator(_budget)]
    source: Annotated[str | None, BeforeValidator(_url)] = None
    tables: dict[str, TablePolicy]
    neighbours: Neighbours = "add_remove"
    ledger: Annotated[str | None, BeforeValidator(_url)] = None

    @classmethod
    def for_table(
        cls,
        table: str,
        *,
        privacy_unit: str,
        budget: object,
        max_rows: int | None = None,
        bounds: Mapping[str, object] | None = None,
        keys: Mapping[str, object] | None = None,
        neighbours: str = "add_remove",
        public: Iterable[str] = (),
        source: str | None = None,
        ledger: str | None = None,
    ) -> Policy:
        """Make the policy of one private table from keyword arguments."""
        bounds, keys = dict(bounds or {}), dict(keys or {})
        columns = {
            name: {"bounds": bounds.get(name), "keys": keys.get(name)}
            for name in dict.fromkeys([*bounds, *keys])
        }
        tables: dict[str, object] = {name: {"public": True} for name in public}
        tables[table] = {"privacy_unit": privacy_unit, "max_rows": max_rows, "columns": columns}
        return cls(  # type: ignore[call-arg]
            budget=budget, source=source, tables=tables, neighbours=neighbours, ledger=ledger
        )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file."""
        return cls(**tomllib.loads(Path(path).read_text("utf-8"), parse_float=Decimal))

    def digest(self) -> str:
        """Return the SHA-256 of what matters to an answer, as hexadecimal text."""
        tables = {
            name.lower(): [
                table.public,
                (table.privacy_unit or "").lower(),
                table.max_rows,
                {
                    column.lower(): [repr(policy.bounds), repr(policy.keys)]
                    for column, policy in table.columns.items()
                },
            ]
            for name, table in self.tables.items()
        }
        canonical = json.dumps({"neighbours": self.neighbours, "tables": tables}, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def check(self, schemas: Mapping[str, Mapping[str, _Column]]) -> None:
        """Compare the policy with the schema of the data."""


def _policy_error(model: type[BaseModel], problems: list[Any]) -> PolicyError:
    lines = []
    for problem in problems:
        key = ".".join(str(part) for part in problem["loc"])
        context = problem.get("ctx", {})
        lines.append((key, context.get("cause", problem["msg"]), context.get("fix", "")))
    if len(lines) == 1:
        return PolicyError(lines[0][1], lines[0][2], key=lines[0][0])
    listed = "\n".join(f"  {key}: {cause} {fix}".rstrip() for key, cause, fix in lines)
    return PolicyError(f"The policy has {len(lines)} problems:\n{listed}", key=lines[0][0])


_ = difflib
