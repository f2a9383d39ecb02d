"""Spark: one aggregate query runs on the cluster, integers come back.

Queries run in a session cloned from the caller's, which has the settings that decide their meaning (no ANSI mode, UTC)
and views of the tables in their logical types. Nothing of the caller's session changes.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.capabilities import Spelling
from discreet.engines.engine import NO_TABLES, Choose, failed, no_table, only_integers, see_no_clash
from discreet.engines.paths import with_fields
from discreet.engines.schema import ColumnSchema, TableSchema
from discreet.engines.spark.capabilities import CAPABILITIES
from discreet.engines.spark.hexagons import provide, see
from discreet.engines.spark.quiet import quiet
from discreet.engines.spark.rounds import settled
from discreet.engines.spark.units import identity_of
from discreet.engines.twins import see_no_twin_tables, see_no_twins
from discreet.errors import SourceError
from discreet.quoting import quote_for_spark as quote

if TYPE_CHECKING:
    import pyarrow as pa

_SETTINGS = {
    "spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.variable.substitute": "false", "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false", "spark.sql.groupByOrdinal": "true",
    "spark.sql.caseSensitive": "false", "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true", "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.datetime.java8API.enabled": "true", "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.crossJoin.enabled": "true",
}  # fmt: skip
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_READS_ROWS = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
"""The rule by which planning a query computes the rows of a table that is held on this machine: so would a probe."""
LOOKED_AT = 1000
"""How many files of a query are looked for before the charge."""


class SparkEngine:
    """Tables of one Spark session.

    Calls are taken one at a time. A query that is interrupted is cancelled on the cluster as well.
    """

    dialect: str = CAPABILITIES.dialect
    spelling: Spelling = CAPABILITIES.spelling
    lacks: frozenset[str] = CAPABILITIES.lacks

    def __init__(self, session: Any, schema: Mapping[str, TableSchema], place: str | None) -> None:
        self._session: Final = session
        self._schema: Final = MappingProxyType(dict(schema))
        self._lock: Final = threading.Lock()
        self._group: Final = f"discreet-{secrets.token_hex(8)}"
        self._token: Final = secrets.token_hex(16)
        self._closed = False
        self.place = place

    @classmethod
    def open_all(cls, sources: Iterable[tuple[str | None, object]]) -> SparkEngine:
        """Open (name, source) each: `spark:table`, `spark://host:port#table`, a DataFrame, or a SparkSession.

        A SparkSession without a table name gives all tables and views of its current database. `spark:` uses the
        session that is active, or starts one as the environment says, by default on this machine.

        Raises:
            SourceError: pyspark is not installed, there is no such table, or the session is of Spark Connect.
        """
        listed = list(sources)
        try:
            import pyspark.sql  # noqa: F401
        except ImportError:
            raise SourceError("Spark needs pyspark.", "Run pip install 'discreet[spark]'.") from None
        sessions = [_session(source) for _, source in listed]
        if any(session is not sessions[0] for session in sessions):
            raise SourceError(
                "Tables of several Spark sessions cannot be opened together.", "Use one session."
            )
        frames: dict[str, Any] = {}
        for name, source in listed:
            found = _frames(sessions[0], name, source)
            see_no_twin_tables([*frames, *found])
            frames.update(found)
        for name, frame in frames.items():
            see_no_twins(str(name), frame.columns)
        cloned = _clone(sessions[0], frames)
        if cloned is None:
            raise SourceError("This Spark session cannot be used.",
                              "Pass a session that is running, and not of Spark Connect.")  # fmt: skip
        session, seen = cloned
        schema = {name: _show(frame, name) for name, frame in seen.items()}
        urls = {_place(sessions[0], source) for _, source in listed if isinstance(source, str)}
        return cls(session, schema, " ".join(sorted(urls)) or None)

    def schema(self) -> Mapping[str, TableSchema]:
        """Return the schema of every table at the time of opening."""
        return self._schema

    def integers(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> pa.Table:
        """Run one aggregate query and return its integers; see `Engine.integers`.

        Privacy: a table of int64 without NULL leaves, or an error that is the same for all data.

        Raises:
            EngineError: Spark failed or was interrupted, or the result is not all BIGINT without NULL.
        """
        return only_integers(self._run(sql, tables))

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Choose) -> pa.Table:
        """Run one query of groups and return the keys of those that are chosen by their counts; see `Engine.keys`.

        Privacy: the counts are read first; of the keys, only those that are chosen leave the cluster.

        Raises:
            EngineError: Spark failed or was interrupted.
        """

        def ask(session: Any) -> pa.Table:
            import numpy as np
            import pyarrow as pa

            provide(session, sql)
            groups = session.sql(sql)
            *names, count = groups.columns
            order = ", ".join(map(quote, names))
            numbered = groups.selectExpr("*", f"row_number() OVER (ORDER BY {order}) - 1 AS __row").persist()
            try:
                counts = numbered.selectExpr(quote(count), "__row").toArrow().sort_by("__row")
                chosen = choose(counts.column(0).to_numpy()).tolist()
                wanted = session.createDataFrame(pa.table({"__row": pa.array(chosen, pa.int64())}))
                found = numbered.join(wanted, "__row").select("__row", *map(quote, names)).toArrow()
            finally:
                numbered.unpersist()
            place_of = {row: place for place, row in enumerate(found.column("__row").to_pylist())}
            places = np.array([place_of[row] for row in chosen], dtype=np.int64)
            return _naive(found.drop_columns("__row")).take(pa.array(places))

        return self._ask(ask, tables)

    def public(self, table: str, columns: Collection[str] | None = None) -> pa.Table:
        """Return the content of a table that the policy calls public, or some columns, in logical types.

        Raises:
            EngineError: there is no such table, or Spark failed.
        """
        found = next((schema for name, schema in self._schema.items() if name.lower() == table.lower()), None)
        if found is None:
            raise no_table(table)
        shown = [quote(n) for n, c in found.items() if not c.within and (columns is None or n in columns)]
        return _naive(self._run(f"SELECT {', '.join(shown)} FROM {quote(table)}", NO_TABLES))

    def settled(
        self, state: str, start: str, step: str, left: str, tables: Mapping[str, pa.Table] = NO_TABLES
    ) -> int:
        """Repeat a statement on the cluster until nothing is left to do, and count the rows; see `rounds`.

        Raises:
            EngineError: Spark failed or was interrupted.
        """
        ask = partial(settled, state=state, start=start, step=step, left=left)
        return int(only_integers(self._ask(ask, tables)).column(0)[0].as_py())

    def version(self, table: str) -> str:
        """Return a text that is the same until the source is opened again; reads no data.

        Raises:
            EngineError: there is no such table.
        """
        if table.lower() not in map(str.lower, self._schema):
            raise no_table(table)
        return self._token

    def probe(self, sql: str, tables: Mapping[str, pa.Table] = NO_TABLES) -> bool:
        """Whether a query could be run, as far as that can be known without reading a row; see `query.probe`."""
        import pyarrow as pa

        def ask(session: Any) -> pa.Table:
            see(session, sql)
            _there(session, session.sql(sql).inputFiles())
            return pa.table({})

        see_no_clash(tables, self._schema)
        with self._lock:
            return not self._closed and _quietly(self._session, ask, tables, self._group) is not None

    def interrupt(self) -> None:
        """Cancel the query that another thread is running, on the cluster; it then raises `EngineError`."""
        self._session.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        """Stop the running query; further queries raise `EngineError`. The caller's session stays open."""
        if not self._closed:
            self._closed = True
            self.interrupt()

    def _run(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        def ask(session: Any) -> pa.Table:
            provide(session, sql)
            return session.sql(sql).toArrow()

        return self._ask(ask, tables)

    def _ask(self, ask: Callable[[Any], pa.Table], tables: Mapping[str, pa.Table]) -> pa.Table:
        see_no_clash(tables, self._schema)
        with self._lock:
            result = None if self._closed else _quietly(self._session, ask, tables, self._group)
        if result is None:
            raise failed()
        return result


def _quietly(
    session: Any, ask: Callable[[Any], pa.Table], tables: Mapping[str, pa.Table], group: str
) -> pa.Table | None:
    """Ask a session; None when it fails. No exception gets out, so none is in the chain of another."""
    shown = []
    try:
        for name, table in tables.items():
            _as_instants(session.createDataFrame(_plain(table))).createOrReplaceTempView(name)
            shown.append(name)
        session.sparkContext.setJobGroup(group, "discreet", interruptOnCancel=True)
        with quiet():
            return ask(session)
    except Exception:
        return None
    except BaseException:
        session.sparkContext.cancelJobGroup(group)
        raise
    finally:
        for name in shown:
            session.catalog.dropTempView(name)


def _there(session: Any, files: Iterable[str]) -> None:
    """See that the first files of a query are there: Spark lists them when a table is opened, and reads them later.

    Raises:
        FileNotFoundError: one is not.
    """
    jvm, settings = session._jvm, session._jsparkSession.sessionState().newHadoopConf()
    for file in islice(files, LOOKED_AT):
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
        if not path.getFileSystem(settings).exists(path):
            raise FileNotFoundError


def _naive(table: pa.Table) -> pa.Table:
    """Time stamps without a zone, as queries see them."""
    import pyarrow as pa

    columns = [
        column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
        for column in table.itercolumns()
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _plain(table: pa.Table) -> pa.Table:
    """A small table in types that Spark reads."""
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        kind = column.type
        wide = (
            pa.int64() if pa.types.is_integer(kind) else pa.string() if pa.types.is_dictionary(kind) else kind
        )
        columns[name] = column.cast(wide)
    return pa.table(columns)


def _as_instants(frame: Any) -> Any:
    """Every time stamp as an instant in UTC."""
    shown = [
        f"CAST({quote(name)} AS TIMESTAMP) AS {quote(name)}" if kind.startswith("timestamp") else quote(name)
        for name, kind in frame.dtypes
    ]
    return frame.selectExpr(*shown)


# Opening ---------------------------------------------------------------------------------------------------


def _session(source: object) -> Any:
    from pyspark.sql import SparkSession

    if isinstance(source, SparkSession):
        return source
    if not isinstance(source, str):
        return getattr(source, "sparkSession", None)
    builder = SparkSession.builder.appName("discreet")
    if source.startswith("spark://"):
        builder = builder.master(source.partition("#")[0])
    started: Any = None
    with contextlib.suppress(Exception):
        started = builder.getOrCreate()
    if started is None:
        raise SourceError(
            "Spark cannot be started.", "Check that there is a Java of version 17 or newer, and the url."
        )
    return started


def _place(session: Any, url: str) -> str:
    """The name of the place of a url, the same however it is spelled."""
    if url.startswith("spark://"):
        return url.partition("#")[0].rstrip("/").lower()
    table = url.partition(":")[2].replace("`", "").lower()
    return f"spark:{table}" if "." in table else f"spark:{session.catalog.currentDatabase().lower()}.{table}"


def _frames(session: Any, name: str | None, source: object) -> dict[str, Any]:
    """The DataFrames that a source stands for, by the name that queries use."""
    from pyspark.sql import SparkSession

    try:
        if isinstance(source, SparkSession):
            names = [name] if name else [row["tableName"] for row in session.sql("SHOW TABLES").collect()]
            found = {table: session.table(table) for table in names}
        elif isinstance(source, str):
            _, _, table = source.partition("#") if source.startswith("spark://") else source.partition(":")
            found = {name or table.rpartition(".")[2]: session.table(table or name)}
        else:
            found = {name or "data": source}
    except Exception:
        found = {}
    if not found:
        raise SourceError("Spark has no such table.", "Check the name, or pass a DataFrame.")
    return found


def _clone(session: Any, frames: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """A session with the same catalog and settings of its own, and the frames in it."""
    from pyspark.sql import SparkSession

    hidden = {name: f"discreet_{secrets.token_hex(8)}" for name in frames}
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(hidden[name])
        clone = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
        for key, value in _SETTINGS.items():
            clone.conf.set(key, value)
        clone.conf.set(_EXCLUDED, ",".join(filter(None, (clone.conf.get(_EXCLUDED, ""), _READS_ROWS))))
        seen = {name: clone.table(view) for name, view in hidden.items()}
    except Exception:
        return None
    finally:
        for view in hidden.values():
            _forget(session, view)
    return clone, seen


def _forget(session: Any, view: str) -> None:
    with contextlib.suppress(Exception):
        session.catalog.dropTempView(view)


def _show(frame: Any, name: str) -> TableSchema:
    """Make the view that queries see of a table, and return its schema."""
    shown, fields = [], {}
    stored = [(field.name, quote(field.name), field.dataType) for field in frame.schema.fields]
    columns = with_fields(stored, _inside, lambda struct, own: f"{struct}.{quote(own)}")
    names = [name for name, *_ in columns]
    for column, sql, kind, within in columns:
        read, field = _column(column, sql, kind.simpleString())
        shown.append(f"{read} AS {quote(column)}")
        identity, own, called = identity_of(column, kind.simpleString(), names, sql)
        fields[column] = replace(field, identity=identity, within=within)
        shown += [f"{own} AS {quote(called)}"] if own else []
    frame.selectExpr(*shown).createOrReplaceTempView(name)
    return MappingProxyType(fields)


def _inside(kind: Any) -> list[tuple[str, Any]]:
    """The fields of a struct, by name."""
    return [(field.name, field.dataType) for field in getattr(kind, "fields", ())]


def _column(name: str, stored: str, kind: str) -> tuple[str, ColumnSchema]:
    listed = re.split(r"[^a-z_]", kind, maxsplit=1)[0]
    return CAPABILITIES.physical(listed).read.format(stored), CAPABILITIES.column(name, listed)
