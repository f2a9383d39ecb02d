"""What the steward declares about a data set: budget, privacy unit, bounds and keys.

One model stands behind the keyword arguments of `protect` and the TOML file. Numbers are exact: a bound or
an epsilon written as 0.1 is 1/10.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Protocol, TypeAlias

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
Problem: TypeAlias = tuple[str, str, str]  # dotted key, cause, fix

MAX_KEYS = 10_000_000


def _wrong(cause: str, fix: str, key: str = "") -> PydanticCustomError:
    """Make the error that a validator raises; `key` is what to add to the place that pydantic knows."""
    return PydanticCustomError("policy", "{cause} {fix}", {"cause": cause, "fix": fix, "key": key})


class _Meta(type(BaseModel)):  # type: ignore[misc]
    """Makes the constructor of a model raise one `PolicyError`; inside of it pydantic collects as always."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
        _complain([_problem(cls, problem) for problem in found])


if TYPE_CHECKING:

    class _Model(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
else:

    class _Model(BaseModel, metaclass=_Meta):
        model_config = ConfigDict(extra="forbid", frozen=True)


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


def _rows(value: object) -> int | None:
    if value is None:
        return None
    number = _number(value)
    if number.denominator != 1 or number < 1:
        raise _wrong("It must be a whole number, at least 1.", "Decide how many rows of one unit may count.")
    return int(number)


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
    if isinstance(value, Mapping):
        return KeyReference(**value)
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
    if kinds == {int} and not all(-(2**63) <= key < 2**63 for key in (min(found), max(found))):  # type: ignore[type-var,operator]
        raise _wrong("A key does not fit into 64 bits.", "Give smaller keys.")
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
    max_rows: Annotated[int | None, PlainValidator(_rows)] = None
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
        elif not self.privacy_unit:
            raise _wrong(
                "It is missing.",
                'Name the column that tells people apart, or write "row" when each row is one person; a table '
                "that holds nothing private declares public = true.",
                "privacy_unit",
            )
        elif self.privacy_unit == "row":
            if self.max_rows not in (None, 1):
                raise _wrong('It is 1 when privacy_unit is "row".', "Remove it.", "max_rows")
            object.__setattr__(self, "max_rows", 1)
        elif self.max_rows is None:
            raise _wrong(
                "It is missing.",
                "Decide how many rows of one unit may count, such as max_rows = 3: fewer mean less noise, but the "
                "rows beyond are left out.",
                "max_rows",
            )
        return self


class _Column(Protocol):
    """The part of a column's schema that a policy is compared with; `type` is an enum or its name."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> Any: ...


def _budget(value: object) -> object:
    return value if isinstance(value, Mapping | Budget) else {"epsilon": value}


def _url(value: object) -> object:
    """Read a place, in TOML a table with the one key url."""
    if isinstance(value, Mapping):
        unknown = [str(key) for key in value if key != "url"]
        if unknown:
            raise _wrong("There is no such key.", "The only key here is url.", unknown[0])
        return value.get("url")
    return value


class Policy(_Model):
    """Everything that a steward declares about a data set.

    Attributes:
        budget: the privacy loss it may ever spend; a bare number is its epsilon.
        source: the url of the data, or None when it is given otherwise.
        tables: what is declared about each table, by name.
        neighbours: whether neighbouring data sets differ by adding or removing one unit, or by replacing one.
        ledger: the place of the ledger, or None for the default.

    Raises:
        PolicyError: one error that names every key at fault, with its fix.

    Example:
        >>> policy = Policy.for_table("visits", privacy_unit="patient", max_rows=3, bounds={"age": (0, 120)}, budget=3)
        >>> policy.tables["visits"].columns["age"].bounds
        (Fraction(0, 1), Fraction(120, 1))
        >>> print(policy.to_toml())
        neighbours = "add_remove"
        <BLANKLINE>
        [budget]
        epsilon = 3
        <BLANKLINE>
        [tables.visits]
        privacy_unit = "patient"
        max_rows = 3
        <BLANKLINE>
        [tables.visits.columns]
        age = { bounds = [0, 120] }
        <BLANKLINE>
    """

    budget: Annotated[Budget, BeforeValidator(_budget)]
    source: Annotated[str | None, BeforeValidator(_url)] = None
    tables: dict[str, TablePolicy]
    neighbours: Neighbours = "add_remove"
    ledger: Annotated[str | None, BeforeValidator(_url)] = None

    @model_validator(mode="after")
    def _coherent(self) -> Policy:
        if not self.tables:
            raise _wrong("There is no table.", "Declare at least one.", "tables")
        for name, names in [("tables", self.tables)] + [
            (f"tables.{table}.columns", declared.columns) for table, declared in self.tables.items()
        ]:
            folded = [each.lower() for each in names]
            twice = next((each for each in names if folded.count(each.lower()) > 1), None)
            if twice is not None:
                raise _wrong("It is declared twice; case does not count.", "Keep one.", f"{name}.{twice}")
        public = {name.lower() for name, table in self.tables.items() if table.public}
        for key, column in self._columns():
            if isinstance(column.keys, KeyReference) and column.keys.table.lower() not in public:
                raise _wrong(
                    f"The table {column.keys.table} is not declared public.",
                    f"Write [tables.{_toml_key(column.keys.table)}] public = true, if nothing in it is private.",
                    f"{key}.keys",
                )
        return self

    def _columns(self) -> Iterable[tuple[str, ColumnPolicy]]:
        for table, declared in self.tables.items():
            for name, column in declared.columns.items():
                yield f"tables.{table}.columns.{name}", column

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
        """Make the policy of one private table, and perhaps public ones, from keyword arguments.

        Args:
            table: the name of the private table.
            privacy_unit: the column that tells people apart, or "row" when each row is one person.
            budget: an epsilon, or a `Budget`.
            max_rows: rows kept of a unit; needed when the unit is a column.
            bounds: column -> (least, greatest).
            keys: column -> list, array, Series or Arrow column of keys, or "table.column" of a public table.
            neighbours: "add_remove" or "replace_one".
            public: names of the public tables.
            source: the url of the data.
            ledger: the place of the ledger.

        Raises:
            PolicyError: one error that names every key at fault, with its fix.
        """
        bounds, keys = dict(bounds or {}), dict(keys or {})
        tables: dict[str, Any] = {name: {"public": True} for name in public}
        if table in tables:
            _complain([(f"tables.{table}", "It is the private table.", "Remove it from public.")])
        columns = dict.fromkeys([*bounds, *keys])
        tables[table] = {
            "privacy_unit": privacy_unit,
            "max_rows": max_rows,
            "columns": {name: {"bounds": bounds.get(name), "keys": keys.get(name)} for name in columns},
        }
        values: dict[str, Any] = {
            "budget": budget,
            "source": source,
            "neighbours": neighbours,
            "ledger": ledger,
        }
        return cls(tables=tables, **values)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file; relative paths in it start from its folder.

        Raises:
            PolicyError: the file cannot be read, is no TOML, or declares something that is wrong.
        """
        import tomllib

        try:
            # Decimals are read as they are written, so that they are exact however long they are.
            values = tomllib.loads(Path(path).read_text("utf-8"), parse_float=Decimal)
            cause = ""
        except OSError:
            cause, fix = f"The policy file {path} cannot be read.", "Check the path."
        except ValueError as error:
            cause, fix = f"The policy file {path} is not TOML: {error}.", "Mend the place."
        if cause:
            raise PolicyError(cause, fix)
        policy = cls(**values)
        folder = Path(path).absolute().parent
        tables = {
            name: table.model_copy(update={"url": _resolved(table.url, folder)})
            for name, table in policy.tables.items()
        }
        places = {"source": _resolved(policy.source, folder), "ledger": _resolved(policy.ledger, folder)}
        return policy.model_copy(update={"tables": tables, **places})

    def to_toml(self) -> str:
        """Write the policy as TOML that reads back as an equal policy."""
        lines = [
            f"neighbours = {_toml(self.neighbours)}",
            "",
            "[budget]",
            f"epsilon = {_toml(self.budget.epsilon)}",
        ]
        if self.budget.delta:
            lines.append(f"delta = {_toml(self.budget.delta)}")
        for name, place in (("source", self.source), ("ledger", self.ledger)):
            if place is not None:
                lines += ["", f"[{name}]", f"url = {_toml(place)}"]
        for name, table in self.tables.items():
            lines += ["", f"[tables.{_toml_key(name)}]"]
            if table.url is not None:
                lines.append(f"url = {_toml(table.url)}")
            if table.public:
                lines.append("public = true")
            else:
                lines.append(f"privacy_unit = {_toml(table.privacy_unit)}")
                if table.privacy_unit != "row":
                    lines.append(f"max_rows = {_toml(table.max_rows)}")
            if table.columns:
                lines += ["", f"[tables.{_toml_key(name)}.columns]"]
            for column, declared in table.columns.items():
                both = {"bounds": declared.bounds, "keys": declared.keys}
                inside = ", ".join(
                    f"{key} = {_toml(value)}" for key, value in both.items() if value is not None
                )
                lines.append(f"{_toml_key(column)} = {{ {inside} }}")
        return "\n".join(lines) + "\n"

    def digest(self) -> str:
        """Return the SHA-256, in hexadecimal, of all that matters to an answer.

        Budget, places and the case of names do not: an answer stays what it was when the budget is raised.

        Example:
            >>> one = Policy.for_table("t", privacy_unit="row", bounds={"Age": (0, 100)}, budget=1)
            >>> two = Policy.for_table("T", privacy_unit="row", bounds={"age": (0, 100.0)}, budget=2)
            >>> one.digest() == two.digest()
            True
        """
        tables = {
            name.lower(): [
                table.public,
                (table.privacy_unit or "").lower(),
                table.max_rows,
                {
                    column.lower(): [_toml(declared.bounds), _toml(declared.keys)]
                    for column, declared in table.columns.items()
                },
            ]
            for name, table in self.tables.items()
        }
        canonical = json.dumps({"neighbours": self.neighbours, "tables": tables}, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def check(self, schemas: Mapping[str, Mapping[str, _Column]]) -> None:
        """Compare the policy with the schema of the data; sees names and types, never data.

        Args:
            schemas: table name -> column name -> an object with `name` and `type`, as an engine gives them.

        Raises:
            PolicyError: one error that names every key at fault, with its fix.
        """
        folded = {name.lower(): {col.lower(): c for col, c in s.items()} for name, s in schemas.items()}
        shown = {name.lower(): [column.name for column in s.values()] for name, s in schemas.items()}
        problems: list[Problem] = []
        for name, table in self.tables.items():
            place = f"tables.{name}"
            schema = folded.get(name.lower())
            if schema is None:
                problems.append((place, "The data has no such table.", _instead(name, schemas)))
                continue
            named = [(f"{place}.columns.{column}", column) for column in table.columns]
            if table.privacy_unit not in (None, "row"):
                named.append((f"{place}.privacy_unit", str(table.privacy_unit)))
            problems += [
                (key, f"The table {name} has no column {column}.", _instead(column, shown[name.lower()]))
                for key, column in named
                if column.lower() not in schema
            ]
            unit = schema.get((table.privacy_unit or "").lower())
            if table.privacy_unit != "row" and unit is not None and _kind(unit) == "OTHER":
                problems.append(
                    (
                        f"{place}.privacy_unit",
                        "The column is of a type that names nobody.",
                        "Name another column.",
                    )
                )
            for column, declared in table.columns.items():
                if column.lower() in schema:
                    kind = _kind(schema[column.lower()])
                    problems += _unfit(f"{place}.columns.{column}", kind, declared, folded)
        if problems:
            _complain(problems)


_BOUND_KINDS = {"INTEGER": "numbers", "FLOAT": "numbers", "DATE": "dates", "TIMESTAMP": "date-times"}
_KEY_KINDS = {"INTEGER": "whole numbers", "TEXT": "texts", "BOOLEAN": "booleans", "DATE": "dates"}
_KINDS: dict[type, str] = {
    Fraction: "numbers",
    dt.datetime: "date-times",
    dt.date: "dates",
    bool: "booleans",
    int: "whole numbers",
    str: "texts",
}


def _kind(column: _Column) -> str:
    return str(getattr(column.type, "name", column.type))


def _unfit(
    place: str, kind: str, declared: ColumnPolicy, schemas: Mapping[str, Mapping[str, _Column]]
) -> list[Problem]:
    """Say what of a column's bounds and keys does not fit its type."""
    problems: list[Problem] = []
    if declared.bounds is not None:
        wanted, given = _BOUND_KINDS.get(kind), _KINDS[type(declared.bounds[0])]
        if wanted is None:
            problems.append((f"{place}.bounds", f"A column of type {kind} has no bounds.", "Remove them."))
        elif wanted != given:
            problems.append(
                (f"{place}.bounds", f"The column is of type {kind}.", f"Give {wanted}, not {given}.")
            )
    keys = declared.keys
    if keys is None:
        return problems
    if kind not in _KEY_KINDS:
        fix = "Give bounds, and group by an expression such as a range of the column, with its keys."
        problems.append((f"{place}.keys", f"A column of type {kind} has no keys.", fix))
    elif isinstance(keys, KeyReference):
        table = schemas.get(keys.table.lower(), {})
        other = table.get(keys.column.lower())
        if other is None:
            names = [column.name for column in table.values()]
            fix = _instead(keys.column, names)
            problems.append((f"{place}.keys", f"The table {keys.table} has no column {keys.column}.", fix))
        elif _kind(other) != kind:
            cause = f"The column is of type {kind}, its keys are of type {_kind(other)}."
            problems.append((f"{place}.keys", cause, "Give the public column the same type."))
    elif _KEY_KINDS[kind] != _KINDS[type(keys[0])]:
        fix = f"Give {_KEY_KINDS[kind]}, not {_KINDS[type(keys[0])]}."
        problems.append((f"{place}.keys", f"The column is of type {kind}.", fix))
    return problems


def _instead(name: str, options: Iterable[str]) -> str:
    """Suggest the closest valid name, else list them."""
    import difflib

    listed = list(options)
    folded = {each.lower(): each for each in listed}
    close = difflib.get_close_matches(name.lower(), folded, n=1)
    if close:
        return f"Did you mean {folded[close[0]]}?"
    if not listed:
        return "Check the name."
    return f"Choose from {', '.join(listed[:20])}{', …' if len(listed) > 20 else ''}."


_NATIVE = {
    "missing": ("It is missing.", "Add it."),
    "string_type": ("It is not a text.", "Write it in quotes."),
    "bool_type": ("It is neither true nor false.", "Write true or false."),
    "dict_type": ("It is not a set of keys and values.", "Write it as a table."),
    "model_type": ("It is not a set of keys and values.", "Write it as a table."),
    "literal_error": ("It is no relation that is known.", 'Write "add_remove" or "replace_one".'),
}


def _problem(model: type[BaseModel], found: Mapping[str, Any]) -> Problem:
    """Turn one problem of pydantic's into ours."""
    place, kind = tuple(found["loc"]), found["type"]
    context = found.get("ctx", {})
    if kind == "extra_forbidden":
        if model is Policy:
            inner = {("budget",): Budget, ("tables", "columns"): ColumnPolicy, ("tables",): TablePolicy}
            model = inner.get(place[:-1:2], Policy) if place[:-1] else Policy
        return _dotted(place), "There is no such key.", _instead(str(place[-1]), model.model_fields)
    if kind == "policy":
        key = _dotted((*place, context["key"]) if context["key"] else place)
        return key, context["cause"], context["fix"]
    cause, fix = _NATIVE.get(kind, (f"{found['msg']}.", "Mend it."))
    return _dotted(place), cause, fix


def _dotted(place: Sequence[object]) -> str:
    return ".".join(map(str, place))


def _complain(problems: Sequence[Problem]) -> NoReturn:
    """Raise one error for all problems."""
    if len(problems) == 1:
        ((key, cause, fix),) = problems
        raise PolicyError(cause, fix, key=key)
    listed = "\n".join(f"  {key}: {cause} {fix}" for key, cause, fix in problems)
    error = PolicyError(f"The policy has {len(problems)} problems.\n{listed}")
    error.key = problems[0][0]
    raise error


def _resolved(url: str | None, folder: Path) -> str | None:
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


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object) -> str:
    """Write a value of a policy as TOML, exactly."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        return _toml_number(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, KeyReference):
        if "." in value.column:
            return f"{{ table = {_toml(value.table)}, column = {_toml(value.column)} }}"
        return _toml(f"{value.table}.{value.column}")
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_number(value: Fraction) -> str:
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
