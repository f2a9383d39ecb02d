"""Sessions over tables that a process opens once: to start a database takes longer than most questions.

Each session has a policy and a ledger of its own. For tests of questions alone: one that closes, damages or replaces an
engine, or plants a fault in how tables are opened, calls `dp.protect`.

An engine holds a dozen threads, and is a part of a cycle, which the garbage collector finds late: thousands of threads
would pile up. So an engine that was let go is closed with the last of its sessions.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, cast
from unittest import mock

import duckdb
import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine

MOST = 6
"""So many engines stay open, those that were asked for last."""
LARGE = 1 << 14
"""The bytes of a table from which on it is known by its identity alone."""
_open_all: Any = DuckDBEngine.open_all


@dataclass(eq=False)
class Kept:
    """An engine over some tables.

    Attributes:
        engine: whose own `close` does nothing.
        tables: kept beside it, so that no other object has the identity of one.
        sessions: the identities of those that nobody closed.
        left: whether no further session gets it.
    """

    engine: DuckDBEngine
    tables: object
    sessions: set[int] = field(default_factory=set)
    left: bool = False

    def see(self) -> None:
        """Close the engine where nobody can ask it."""
        if self.left and not self.sessions:
            DuckDBEngine.close(self.engine)


@cache
def _plain() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def plain() -> duckdb.DuckDBPyConnection:
    """A connection to one plain and empty DuckDB of the process, to open which takes as long as ten questions.

    What it registers is its own. A test that makes tables, macros or settings opens a database of its own.
    """
    return _plain().cursor()


_engines: OrderedDict[tuple[Any, ...], Kept] = OrderedDict()
"""By the identities of their tables."""


def protect(source: Any, **given: Any) -> dp.Session:
    """As `dp.protect`; the engine may be that of earlier sessions over the same tables, or over small ones alike.

    Args:
        source: a table of Arrow, or several by name; others are opened anew each time.
        given: the other arguments of `dp.protect`.
    """
    used: list[Kept] = []
    with mock.patch.object(DuckDBEngine, "open_all", partial(_kept, used)):
        session = dp.protect(source, **given)
    for kept in used:
        kept.sessions.add(id(session))
        session.__dict__["close"] = partial(_close, weakref.ref(session), kept)
    return session


def _close(session: weakref.ref[dp.Session], kept: Kept) -> None:
    closed = session()
    assert closed is not None
    type(closed).close(closed)
    kept.sessions.discard(id(closed))
    kept.see()


def _likeness(table: pa.Table) -> object:
    """What small tables have in common that are alike, as of two tests of one file; the identity of a large one."""
    if table.nbytes > LARGE:
        return id(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def _kept(used: list[Kept], sources: Iterable[tuple[str | None, object, object]]) -> DuckDBEngine:
    listed = list(sources)
    if not all(isinstance(source, pa.Table) for _, source, _ in listed):
        return cast(DuckDBEngine, _open_all(listed))  # files and connections may change
    key = tuple((name, _likeness(cast(pa.Table, source)), repr(types)) for name, source, types in listed)
    if key not in _engines:
        engine: DuckDBEngine = _open_all(listed)
        engine.__dict__["close"] = lambda: None
        _engines[key] = Kept(engine, listed)
    _engines.move_to_end(key)
    used.append(_engines[key])
    while len(_engines) > MOST:
        _, oldest = _engines.popitem(last=False)
        oldest.left = True
        oldest.see()
    return used[-1].engine
