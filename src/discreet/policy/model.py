"""The steward's declarations about a data set: budget, privacy unit, bounds and keys.

One model stands behind the keyword arguments of `protect` and the TOML file. Numbers are exact: a bound or
an epsilon written as 0.1 is 1/10.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from discreet import escaping
from discreet.accounting.events import Neighbours
from discreet.errors import PolicyError
from discreet.policy import classes, path, toml, values
from discreet.policy.check import SchemaColumn, check
from discreet.policy.declarations import About, Budget, ColumnPolicy, TablePolicy
from discreet.policy.problems import PolicyModel, complain, wrong
from discreet.policy.values import KeyReference
from discreet.rational import show, small


def _budget(value: object) -> object:
    return value if isinstance(value, Mapping | Budget) else {"epsilon": value}


def _url(value: object) -> object:
    """Read a place, in TOML a table with the one key url."""
    if isinstance(value, Mapping):
        unknown = [str(key) for key in value if key != "url"]
        if unknown:
            raise wrong("The policy has no key of this name.", "The only key here is url.", unknown[0])
        return values.place(value.get("url"))
    return values.place(value)


class Policy(PolicyModel):
    """Everything that a steward declares about a data set.

    Attributes:
        budget: the privacy loss it may ever spend; a bare number is its epsilon.
        source: the url of the data, or None when it is given otherwise.
        tables: the declarations about each table, by name.
        neighbours: whether neighbouring data sets differ by adding or removing one unit, or by replacing one.
        ledger: the place of the ledger, or None for the default.
        about: the facts that only people know, for cards.
        random_dp: whether sampled sensitivities are allowed, whose guarantee is weaker than differential privacy.

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
    about: About = Field(default_factory=About)
    random_dp: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _coherent(self) -> Policy:
        if not self.tables:
            raise wrong("There is no table.", "Declare at least one.", "tables")
        for name, names in [("tables", self.tables)] + [
            (f"tables.{table}.columns", declared.columns) for table, declared in self.tables.items()
        ]:
            folded = [each.lower() for each in names]
            twice = next((each for each in names if folded.count(each.lower()) > 1), None)
            if twice is not None:
                raise wrong("It is declared twice; case does not count.", "Keep one.", f"{name}.{twice}")
        public = {name.lower() for name, table in self.tables.items() if table.public}
        for key, column in self._columns():
            if isinstance(column.keys, KeyReference) and column.keys.table.lower() not in public:
                raise wrong(
                    f"The table {column.keys.table} is not declared public.",
                    f"Write [tables.{toml.key(column.keys.table)}] public = true, if nothing in it is private.",
                    f"{key}.keys",
                )
        faults = [*path.faults(self.tables), *classes.faults(self.tables, self.neighbours, self.budget)]
        for key, cause, fix in faults:
            raise wrong(cause, fix, key)
        return self

    @property
    def personal(self) -> bool:
        """Whether people allow different epsilons."""
        return classes.personal_of(self.tables) is not None

    def lines(self) -> list[tuple[str, str]]:
        """The declarations, one by one in words, without the place of the data."""
        step = "adding or removing one unit" if self.neighbours == "add_remove" else "replacing one unit"
        out = [("neighbours", step)]
        for name, table in self.tables.items():
            unit = (
                "each row is one unit"
                if table.privacy_unit == "row"
                else f"privacy unit {path.unit_words(table)}"
            )
            most = f", at most {table.max_rows} of its rows" if table.privacy_unit != "row" else ""
            most += f", {table.max_rows_per_group} in one group" if most and table.max_rows_per_group else ""
            out.append((name, "public" if table.public else unit + most))
            if table.personal is not None:
                out.append((f"{name}, personal", table.personal.words(self.budget.epsilon)))
            for column, declared in table.columns.items():
                out.append((f"{name}.{column}", declared.words()))
        return out

    def _repr_html_(self) -> str:
        limit = f"epsilon {show(self.budget.epsilon)}"
        limit += f", delta {small(self.budget.delta)}" if self.budget.delta else ""
        return escaping.table([("budget", limit), *self.lines()], "Policy")

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
        types: Mapping[str, object] | None = None,
        neighbours: str = "add_remove",
        public: Iterable[str] = (),
        through: Mapping[str, str] | None = None,
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
            types: column of a CSV file -> how it is read.
            neighbours: "add_remove" or "replace_one".
            public: names of the public tables.
            through: where the unit is "table.column" of another table: column -> "table.column", the key there that
                it holds. That table is private, too, with the same max_rows.
            source: the url of the data.
            ledger: the place of the ledger.

        Raises:
            PolicyError: one error that names every key at fault, with its fix.
        """
        tables: dict[str, Any] = {name: {"public": True} for name in public}
        if table in tables:
            complain([(f"tables.{table}", "It is the private table.", "Remove it from public.")])
        columns: dict[str, dict[str, object]] = {}
        for part, given in (("bounds", bounds or {}), ("keys", keys or {}), ("type", types or {})):
            for name, value in given.items():
                alike = (
                    each for each in columns if each.lower() == name.lower() and part not in columns[each]
                )
                columns.setdefault(next(alike, name), {})[part] = value
        tables[table] = {"privacy_unit": privacy_unit, "max_rows": max_rows, "columns": columns}
        if through is not None:
            tables[table]["through"] = through
            end, _, unit = privacy_unit.rpartition(".")
            if end and end not in tables:
                tables[end] = {"privacy_unit": unit, "max_rows": max_rows}
        rest: dict[str, Any] = {
            "budget": budget,
            "source": source,
            "neighbours": neighbours,
            "ledger": ledger,
        }
        return cls(tables=tables, **rest)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file; relative paths in it start from its folder.

        Raises:
            PolicyError: the file cannot be read, is no TOML, or has a wrong declaration.
        """
        import tomllib

        try:
            # Decimals are read from their text, so that they are exact at any length.
            declared = tomllib.loads(Path(path).read_text("utf-8-sig"), parse_float=Decimal)
            cause = ""
        except OSError:
            cause, fix = f"The policy file {path} cannot be read.", "Check the path."
        except UnicodeDecodeError:
            cause, fix = f"The policy file {path} is not written in UTF-8.", "Save it as UTF-8."
        except RecursionError:
            cause, fix = f"The policy file {path} is nested too deeply.", "Write it plainly."
        except ValueError as error:
            cause = f"The policy file {path} is not TOML: {error}."
            fix = (
                'Mend the place: texts stand in quotes, as in privacy_unit = "patient_id", and so does the name of a '
                'column with spaces or signs in it, as in "Time spent" = { bounds = [0, 90] }.'
            )
        if cause:
            raise PolicyError(cause, fix)
        policy = cls(**declared)
        folder = Path(path).absolute().parent
        tables = {
            name: table.model_copy(update={"url": toml.resolved(table.url, folder)})
            for name, table in policy.tables.items()
        }
        places = {
            "source": toml.resolved(policy.source, folder),
            "ledger": toml.resolved(policy.ledger, folder),
        }
        return policy.model_copy(update={"tables": tables, **places})

    def to_toml(self) -> str:
        """Write the policy as TOML that reads back as an equal policy."""
        return toml.write(self)

    def digest(self) -> str:
        """Return the SHA-256, in hexadecimal, of the declarations that an answer depends on.

        No answer depends on the budget, on places or on the case of names: it stays the same when the budget is raised.

        Example:
            >>> first = Policy.for_table("t", privacy_unit="row", bounds={"Age": (0, 100)}, budget=1)
            >>> second = Policy.for_table("T", privacy_unit="row", bounds={"age": (0, 100.0)}, budget=2)
            >>> first.digest() == second.digest()
            True
        """
        tables = {
            name.lower(): [
                table.public,
                (table.privacy_unit or "").lower(),
                table.max_rows,
                {
                    column.lower(): [
                        toml.value(declared.bounds),
                        toml.value(declared.keys),
                        *([declared.type] if declared.type else []),
                    ]
                    for column, declared in table.columns.items()
                },
                *([toml.step(table.through).lower()] if table.through else []),
                *([{"per group": table.max_rows_per_group}] if table.max_rows_per_group else []),
                *([{"personal": table.personal.canonical()}] if table.personal else []),
            ]
            for name, table in self.tables.items()
        }
        canonical = json.dumps({"neighbours": self.neighbours, "tables": tables}, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def check(
        self, schemas: Mapping[str, Mapping[str, SchemaColumn]], from_text: Collection[str] = ()
    ) -> None:
        """Compare the policy with the schema of the data; sees names and types, never data.

        Args:
            schemas: table name -> column name -> an object with `name` and `type`, as an engine gives them.
            from_text: the tables, in lower case, whose names of columns are the first line of a file. That line may be
                a row, so that no error shows it unless the policy names a column of it.

        Raises:
            PolicyError: one error that names every key at fault, with its fix.
        """
        check(self.tables, schemas, from_text)
