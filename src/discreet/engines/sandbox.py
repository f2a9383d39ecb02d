"""An in-memory DuckDB for arithmetic above noisy tables: it can reach no file, network or setting.

The connection alone closes files, the network, extensions, the caller's variables and settings. The
functions left open (reading settings and catalogues, running text as SQL) harm no data, since none is in it;
`sql.syntax.parse` refuses them by name all the same, with the lists in `functions`. One thing remains: a single value
may be as large as memory and a single call of a function cannot be interrupted. So a process that lets strangers in
evaluates `elsewhere`, in processes of their own (`isolated`).
"""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from discreet.engines.duckdb.connection import connect, seal
from discreet.engines.duckdb.hexagons import provide
from discreet.errors import PostProcessingError, QueryRefused
from discreet.records import dataclass

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


QUOTED = "DuckDB refused the post-processing of the noisy tables:"
"""Begins the cause of an error that goes on in DuckDB's words, which may quote a public value."""
_NOT_CAST = re.compile(
    "can't be cast|Could not cast|Could not convert string|Casting value|Failed to cast|field format|"
    "field value out of range|Malformed JSON|Invalid character encountered in string -> bit"
)
_TOO_LARGE = re.compile("Overflow in (addition|subtraction|multiplication)")
LARGEST = 1 << 30
"""Bytes of a result. DuckDB's own limit of memory does not count the rows that it has handed out."""
BATCH = 1 << 17
"""Rows of a result that are fetched at once."""
OUT_OF_MEMORY = "Out of Memory"
SETTINGS = {"memory_limit": "2GB", "temp_directory": "", "preserve_insertion_order": "true", "threads": "1"}
"""On one thread, for several add up doubles in whichever order: an answer would have other last digits each time."""
UNCHARGED_MEMORY = "1GB"
"""All that is evaluated before a charge may take; a table of three million texts is sorted in it. In a process of its
own a statement has the memory of that process, which is less."""
UNCHARGED_SECONDS = 10.0
"""Seconds that all sandboxes together may take of one question before its charge; waiting for a process is none."""
UNCHARGED_ROWS = 10_000_000
"""Rows of a result before the charge."""
SHORTEST = 1.0
"""Seconds that a statement has at least while any time is left, so that a small one ends that is begun in the last
moment. Once the time is over, none is begun, however small."""


@dataclass(frozen=True)
class Bounds:
    """How much one query may take.

    Attributes:
        seconds: of its evaluation.
        waiting: seconds before that, until there is a process for it.
        rows: of its result; None for any number.
    """

    seconds: float
    waiting: float
    rows: int | None = None


class Evaluator(Protocol):
    """Runs one query over some tables in another process; see `Sandbox.run`."""

    def run(
        self, tables: Mapping[str, pa.Table], sql: str, bounds: Bounds, evaluating: Evaluating
    ) -> pa.Table:
        """Run one query and return its result; `evaluating` is entered while it is evaluated, and for nothing else."""


Evaluating = Callable[[], AbstractContextManager[None]]


_evaluators: list[Evaluator] = []


@contextmanager
def elsewhere(evaluator: Evaluator) -> Iterator[None]:
    """Let all sandboxes of this process evaluate elsewhere."""
    _evaluators.append(evaluator)
    try:
        yield
    finally:
        _evaluators.remove(evaluator)


_callers: ContextVar[str] = ContextVar("_callers", default="")


@contextmanager
def asked_by(name: str) -> Iterator[None]:
    """Let the sandboxes within be those of a caller: with many at once, they wait for those of others with fewer."""
    token = _callers.set(name)
    try:
        yield
    finally:
        _callers.reset(token)


def caller() -> str:
    """Whose sandboxes these are; empty where nobody said so."""
    return _callers.get()


def for_strangers() -> bool:
    """Whether the sandboxes of this process evaluate the statements of strangers."""
    return bool(_evaluators)


class _Allowance:
    """The time of a question before its charge."""

    def __init__(self) -> None:
        self.spent = 0.0

    def left(self) -> float:
        """Seconds for the next statement.

        Raises:
            QueryRefused: nothing is left.
        """
        if self.spent >= UNCHARGED_SECONDS:
            error = self.over()
            raise QueryRefused(error.cause, error.fix)
        return max(UNCHARGED_SECONDS - self.spent, SHORTEST)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time within."""
        began = monotonic()
        try:
            yield
        finally:
            self.spent += monotonic() - began

    def over(self) -> PostProcessingError:
        """The error for a question whose time is over."""
        return PostProcessingError(
            "The public parts of this question, which are computed before its charge, take more than "
            f"{UNCHARGED_SECONDS:g} seconds.",
            "Filter or aggregate them, or ask the steward for a public table of their rows.",
        )


_allowances: ContextVar[_Allowance | None] = ContextVar("_allowances", default=None)
_questions: ContextVar[_Allowance | None] = ContextVar("_questions", default=None)


def one_question() -> AbstractContextManager[None]:
    """Let all that is `uncharged` within share one time: the readings of a question, of several as one, the rehearsals.

    One inside another shares the time of the outer one. Nothing else within is bounded.
    """
    return _set_once(_questions, _Allowance())


def uncharged() -> AbstractContextManager[None]:
    """Let the sandboxes within share the little time and memory that a question may take before its charge.

    One inside another shares the time of the outer one, and one inside `one_question` that of the question.
    """
    return _set_once(_allowances, _questions.get() or _Allowance())


@contextmanager
def _set_once(variable: ContextVar[_Allowance | None], value: _Allowance) -> Iterator[None]:
    token = None if variable.get() is not None else variable.set(value)
    try:
        yield
    finally:
        if token is not None:
            variable.reset(token)


class Sandbox:
    """Runs SQL over the tables that it was given, and over nothing else.

    Args:
        tables: by name.
        rows: that a result may have; None for any number. Before a charge there is a bound of its own.

    Example:
        >>> import pyarrow as pa
        >>> with Sandbox({"noisy": pa.table({"n": [3, 4]})}) as box:
        ...     box.run("SELECT n + 1 AS n FROM noisy").to_pydict()
        {'n': [4, 5]}
    """

    def __init__(self, tables: Mapping[str, pa.Table], rows: int | None = None) -> None:
        self._tables = tables
        self._allowance = _allowances.get()
        self._rows = rows if self._allowance is None else UNCHARGED_ROWS
        self._elsewhere = _evaluators[-1] if for_strangers() else None
        if self._elsewhere is None:
            # A cursor has a temporary schema of its own, so sandboxes do not see each other's tables.
            self._connection = _database(os.getpid(), self._allowance is not None).cursor()
            for name, table in tables.items():
                self._connection.register(name, table)

    def run(self, sql: str, timeout: float = 60.0) -> pa.Table:
        """Run one query and return its result.

        Args:
            sql: one SELECT in DuckDB's dialect.
            timeout: seconds after which it is interrupted. It may wait as long for a process that evaluates it.

        Raises:
            PostProcessingError: the query is no single SELECT, failed, or took too much time or memory. The
                message quotes DuckDB, which has seen released and public numbers only.
            QueryRefused: nothing is left of the time before the charge.
        """
        if self._allowance is None:
            return self._evaluated(sql, Bounds(timeout, timeout, self._rows), nullcontext)
        left = self._allowance.left()
        try:
            return self._evaluated(
                sql, Bounds(min(timeout, left), timeout, self._rows), self._allowance.counted
            )
        except PostProcessingError as error:
            if error.cause != too_late(left).cause:
                raise
            raise self._allowance.over() from None

    def _evaluated(self, sql: str, bounds: Bounds, evaluating: Evaluating) -> pa.Table:
        if self._elsewhere is not None:
            return self._elsewhere.run(self._tables, sql, bounds, evaluating)
        with evaluating():
            return self._evaluated_here(sql, bounds.seconds)

    def _evaluated_here(self, sql: str, timeout: float) -> pa.Table:
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._connection.interrupt()

        timer = threading.Timer(timeout, stop)
        timer.daemon = True
        timer.start()
        try:
            result, said = _run(self._connection, sql, self._rows)
        finally:
            timer.cancel()
        if result is not None:
            return result
        if late.is_set():
            raise too_late(timeout)
        raise refused(sql, said)

    def close(self) -> None:
        """Release the tables."""
        if self._elsewhere is None:
            self._connection.close()

    def __enter__(self) -> Sandbox:
        """Return the sandbox."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the tables."""
        self.close()


def refused(sql: str, said: str) -> PostProcessingError:
    """The error for a query that DuckDB did not run, for a reason in its words, with a fix that fits both.

    Example:
        >>> refused("SELECT CAST(a AS INT) FROM t", "Conversion Error: Could not convert string 'a' to INT32").fix
        'Write TRY_CAST there, which is NULL where a value cannot be converted.'
    """
    fix = "Change the query above its aggregates."
    if _NOT_CAST.search(said) and "CAST(" in sql:
        fix = "Write TRY_CAST there, which is NULL where a value cannot be converted."
    elif _TOO_LARGE.search(said):
        fix = "Compute in DOUBLE there, which holds larger numbers."
    return PostProcessingError(f"{QUOTED} {said.rstrip('.!')}.", fix)


def has_function(name: str) -> bool:
    """Whether DuckDB has a function of a name, with any arguments."""
    return name.lower() in _functions()


@cache
def _functions() -> frozenset[str]:
    with Sandbox({}) as box:
        listed = box.run("SELECT DISTINCT lower(function_name) AS name FROM duckdb_functions()")
    return frozenset(listed.column("name").to_pylist())


def too_late(timeout: float) -> PostProcessingError:
    """The error for a query whose time is over."""
    return PostProcessingError(
        f"The post-processing of the noisy tables took more than {timeout:g} seconds.", "Make it simpler."
    )


@cache
def _database(process: int, little: bool = False) -> duckdb.DuckDBPyConnection:
    """The sealed database that all sandboxes of a process share; opening one takes longer than most queries.

    Those before a charge share another one, with less memory. Each is empty, and stays so: a sandbox can run nothing
    but a SELECT. A forked child opens its own, because the threads of the parent's are not there.
    """
    before = {"memory_limit": UNCHARGED_MEMORY, "threads": str(os.cpu_count() or 1)}  # its time is short
    connection = connect(**{**SETTINGS, **before} if little else SETTINGS)
    seal(connection)
    atexit.register(_forget)
    return connection


def _forget() -> None:
    """Let go of the database before the interpreter tears down the module that it belongs to."""
    _database.cache_clear()


def _run(connection: duckdb.DuckDBPyConnection, sql: str, rows: int | None) -> tuple[pa.Table | None, str]:
    import duckdb

    try:
        provide(connection, sql)
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return None, "it is not one SELECT."
        return _fetched(connection.sql(statements[0]).to_arrow_reader(BATCH), rows)
    except (duckdb.OutOfMemoryException, MemoryError):
        return None, f"{OUT_OF_MEMORY}: it needs more than it may have. Ask for fewer or shorter values."
    except Exception as error:
        return None, str(error).partition("\n")[0]


def _fetched(reader: pa.RecordBatchReader, most: int | None) -> tuple[pa.Table | None, str]:
    """All rows of a result, or the reason why there are too many: a short text can make more than memory holds."""
    import pyarrow as pa

    batches, size, rows = [], 0, 0
    with reader:
        for batch in reader:
            size += batch.nbytes
            if size > LARGEST:
                return None, f"its result is larger than {LARGEST >> 20:,} MiB."
            rows += len(batch)
            if most is not None and rows > most:
                return None, f"it has more than {most:,} rows, which is too many before a charge."
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema), ""
