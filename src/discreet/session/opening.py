"""protect(...): from a source and a policy to a session."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.errors import PolicyError
from discreet.imports import loading
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.session.named import open_named
from discreet.session.session import Session


def protect(
    source: object = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    table: str | None = None,
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, object] | None = None,
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
        policy: what the steward declared, instead of the arguments below.
        table: the name of the private table; by default that of the file, or `data` for a frame.
        privacy_unit: the column that tells people apart, or "row" when each row is one person.
        max_rows: how many rows of one unit count; needed when privacy_unit is a column.
        bounds: least and greatest value that counts, by column; values outside are clamped.
        keys: the public groups, by column: a list, a Series, or "table.column" of a public table.
        budget: the epsilon that may ever be spent, or a `Budget`.
        neighbours: "add_remove" (one unit more or fewer) or "replace_one".
        public: the names of the tables that hold nothing private.
        ledger: where the budget is kept. By default beside the policy file or the data file; for a database in
            ~/.local/state/discreet, one for each database; for frames in memory, where it is forgotten with the
            process.

    Raises:
        PolicyError: the policy is incomplete or does not fit the data.
        SourceError: the source cannot be opened.
        LedgerError: the ledger cannot be opened.

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

    if isinstance(policy, Policy):
        declared, home = policy, None
    elif policy is not None:
        declared, home = Policy.from_toml(policy), Path(policy)
    else:
        declared, home = None, None
    if declared is not None:
        given = {"table": table, "privacy_unit": privacy_unit, "max_rows": max_rows, "bounds": bounds, "keys": keys,
                 "budget": budget}  # fmt: skip
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise PolicyError(
                f"{' and '.join(extra)} cannot be given beside a policy.", "Write it into the policy."
            )
        named_here = source is None
        source = _sources(declared) if named_here else source
        named = [name for name, one in declared.tables.items() if not one.public]
        opening = partial(open_source, source, named[0] if len(declared.tables) == 1 else None)
        engine = open_named(declared, opening) if named_here else opening()
        place = (
            ledger or declared.ledger or (home.with_suffix(".ledger.db") if home else _beside(source, engine))
        )
        return _open(engine, declared, place)
    if source is None:
        raise PolicyError("There is neither a source nor a policy.", 'Write protect("visits.parquet", …).')
    if privacy_unit is None:
        raise PolicyError(
            "privacy_unit is missing.", 'Name the column that tells people apart, or write "row".'
        )
    if budget is None:
        raise PolicyError("budget is missing.", "Write budget=3, the epsilon that may ever be spent.")
    engine = open_source(source, table)
    hidden = set(public)
    private = [name for name in engine.schema() if name not in hidden]
    if table is None and len(private) != 1:
        raise PolicyError(f"Which of the tables {', '.join(private)} is private is not said.",
                          "Name it with table=, and the public ones with public=[…].")  # fmt: skip
    declared = Policy.for_table(
        table or private[0], privacy_unit=privacy_unit, max_rows=max_rows, bounds=bounds, keys=keys, budget=budget,
        neighbours=neighbours, public=tuple(hidden),
    )  # fmt: skip
    return _open(engine, declared, ledger or _beside(source, engine))


def _open(engine: Engine, policy: Policy, place: str | os.PathLike[str] | None) -> Session:
    try:
        return Session(engine, policy, open_ledger(place))
    except BaseException:
        engine.close()
        raise


def _sources(policy: Policy) -> object:
    """The sources that a policy names: one for all tables, or one for each."""
    own = {name: table.url for name, table in policy.tables.items() if table.url is not None}
    if not own:
        if policy.source is None:
            raise PolicyError(
                "The policy names no data.", 'Write url = "parquet:visits.parquet".', key="source.url"
            )
        return policy.source
    rest = [name for name in policy.tables if name not in own]
    if rest and policy.source is None:
        raise PolicyError("The table has no data.", "Give it a url.", key=f"tables.{rest[0]}.url")
    return {**own, **dict.fromkeys(rest, policy.source)}


def _beside(source: object, engine: Engine) -> Path | None:
    """The place of the ledger beside a data file; for a database in the user's own folder; None for data in memory."""
    place = getattr(engine, "place", "")
    if place is None:
        return None
    if place:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = state / "discreet"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.ledger.db"
    if isinstance(source, Mapping):
        places = [_beside(one, engine) for one in source.values()]
        return next((place for place in places if place is not None), None)
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    path = Path(text.partition(":")[2] if text.startswith(("parquet:", "csv:", "duckdb:")) else text)
    name = path.name.partition("#")[0].replace("*", "all")
    return path.with_name(f"{name}.ledger.db")
