"""protect(...): from a source and a policy to a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.errors import DiscreetError, PolicyError, tell
from discreet.imports import loading
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.session.session import Session
from discreet.session.sources import csv_types


@contextmanager
def _naming_the_charge() -> Iterator[None]:
    """Say of an error of opening that nothing was charged."""
    try:
        yield
    except DiscreetError as error:
        tell(error, None)
        raise


@_naming_the_charge()
def protect(
    source: object = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    table: str | None = None,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    through: Mapping[str, str] | None = None,
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, object] | None = None,
    types: Mapping[str, object] | None = None,
    budget: object = None,
    neighbours: str = "add_remove",
    public: Iterable[str] = (),
    ledger: str | os.PathLike[str] | None = None,
) -> Session:
    """Put a data set under protection.

    Either a `policy` (a TOML file or a Policy) or the keyword arguments that stand for one.

    Args:
        source: a path or url (Parquet, CSV, a DuckDB file, `postgresql://…`, `spark:table`), a pandas, Polars or
            Spark DataFrame, an Arrow table, a connection (DuckDB, psycopg, SQLAlchemy, Ibis) or SparkSession, or a
            mapping from table names to these. May be left out when the policy names it.
        policy: the declarations of the steward, instead of the arguments below.
        table: the name of the private table; by default that of the file, or `data` for a frame.
        privacy_unit: the column that tells people apart, or "row" when each row is one person.
        max_rows: how many rows of one unit count; needed when privacy_unit is a column.
        through: where the unit stands in another table, as in privacy_unit="orders.customer": which column of this one
            holds which key of that, {"order_id": "orders.id"}. That table is private, too, with the same max_rows.
        bounds: least and greatest value that counts, by column; values outside are clamped.
        keys: the public groups, by column: a list, a Series, or "table.column" of a public table.
        types: how columns of a CSV file or a frame of pandas are read: text, integer, float, boolean, date or
            timestamp. By default as their keys or bounds are written, and as texts where there are none; no value is
            looked at.
        budget: the epsilon that may ever be spent, or a `Budget`.
        neighbours: "add_remove" (one unit more or fewer) or "replace_one".
        public: the names of the tables that hold nothing private.
        ledger: where the budget is kept. By default beside the policy file or the data file, one for each data set
            however its name is spelled; for a database in ~/.local/state/discreet, one for each database; for frames
            in memory, where it is forgotten with the process.

    Raises:
        PolicyError: the policy is incomplete or does not fit the data. Nothing was charged.
        SourceError: the source cannot be opened. Nothing was charged.
        LedgerError: the ledger cannot be opened. Nothing was charged.

    Example:
        >>> import pandas as pd
        >>> import discreet as dp
        >>> visits = pd.DataFrame({"patient_id": [1, 1, 2], "age": [31, 31, 62]})
        >>> session = dp.protect(visits, privacy_unit="patient_id", max_rows=2, bounds={"age": (0, 120)}, budget=1)
        >>> session.preview("SELECT AVG(age) AS age FROM data", epsilon=0.5).epsilon
        Fraction(1, 2)
    """
    with loading():
        from discreet.engines.sources import open_source

    if policy is not None:
        given = {"table": table, "privacy_unit": privacy_unit, "max_rows": max_rows, "through": through,
                 "bounds": bounds, "keys": keys, "types": types, "budget": budget}  # fmt: skip
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise PolicyError(
                f"{' and '.join(extra)} cannot be given beside a policy.", "Write it into the policy."
            )
        return _by_policy(policy, source, ledger)
    if source is None:
        raise PolicyError("There is neither a source nor a policy.", 'Write protect("visits.parquet", …).')
    if privacy_unit is None:
        raise PolicyError(
            "privacy_unit is missing.", 'Name the column that tells people apart, or write "row".'
        )
    if budget is None:
        raise PolicyError("budget is missing.", "Write budget=3, the epsilon that may ever be spent.")
    _by_column(bounds=bounds, keys=keys, types=types)
    hidden = set(public)
    engine = open_source(
        source, table, csv_types.of_arguments(source, table, bounds, keys, types, hidden), hidden
    )
    if table is not None and "." in table and table not in engine.schema():
        table = table.rpartition(".")[2]  # schema.table is called table
    parents = {str(key).rpartition(".")[0].lower() for key in (through or {}).values()}
    private = [name for name in engine.schema() if name not in hidden and name.lower() not in parents]
    if table is None and len(private) != 1:
        raise PolicyError(f"Which of the tables {', '.join(private)} is private is not said.",
                          "Name it with table=, and the public ones with public=[…].")  # fmt: skip
    declared = Policy.for_table(
        table or private[0], privacy_unit=privacy_unit, max_rows=max_rows, bounds=bounds, keys=keys, types=types,
        budget=budget, neighbours=neighbours, public=tuple(hidden), through=through,
    )  # fmt: skip
    return _open(engine, declared, ledger or _beside(engine, source, declared))


def _by_column(**given: object) -> None:
    """Refuse an argument that is not a mapping from columns."""
    examples = {"bounds": "(0, 120)", "keys": '["A", "B"]', "types": '"integer"'}
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise PolicyError(
                f"{name} does not say of which column.", f'Write {name}={{"column": {examples[name]}}}.'
            )


def _by_policy(
    policy: Policy | str | os.PathLike[str], source: object, ledger: str | os.PathLike[str] | None
) -> Session:
    """A session under a policy, over the source that is given or else named there."""
    from discreet.session.sources.ledger_place import beside_policy
    from discreet.session.sources.policy_sources import opening_of, sources_of

    if not isinstance(policy, Policy | str | os.PathLike):
        raise PolicyError(
            "policy is neither the path of a TOML file nor a Policy.",
            'Write policy="policy.toml", or from a mapping policy=discreet.Policy(**declared).',
        )
    home = None if isinstance(policy, Policy) else Path(policy)
    declared = policy if isinstance(policy, Policy) else Policy.from_toml(policy)
    engine = opening_of(declared, source)()
    source = sources_of(declared) if source is None else source
    place = ledger or declared.ledger or (beside_policy(home) if home else _beside(engine, source, declared))
    session = _open(engine, declared, place)
    if home and session.ledger.made and not (ledger or declared.ledger):
        from discreet.session.sources.earlier_ledger import tell_of_earlier

        tell_of_earlier(session.ledger.where, declared)
    return session


def _open(engine: Engine, policy: Policy, place: str | os.PathLike[str] | None) -> Session:
    try:
        # A policy that does not fit the data leaves no ledger behind.
        policy.check(engine.schema(), getattr(engine, "csv_tables", ()))
        session = Session(engine, policy, open_ledger(place, may_read=True))
    except BaseException:
        engine.close()
        raise
    if (getattr(engine, "place", None) or "").startswith("postgresql:"):
        from discreet.session.sources.one_server import tell_of_one_server

        tell_of_one_server(engine, place)
    return session


def _beside(engine: Engine, source: object, policy: Policy) -> Path | None:
    from discreet.session.sources.ledger_place import beside

    try:
        return beside(source, engine, [name for name, table in policy.tables.items() if not table.public])
    except BaseException:
        engine.close()
        raise
