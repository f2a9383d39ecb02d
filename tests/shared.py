"""Sessions over tables that a process opens once: to start a database takes longer than most questions.

Each session has a policy and a ledger of its own. For tests of questions alone: one that closes, damages or replaces an
engine, or plants a fault in how tables are opened, calls `dp.protect`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, cast
from unittest import mock

import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine

MOST = 6
"""So many engines stay open, those that were asked for last."""
_open_all: Any = DuckDBEngine.open_all
_engines: OrderedDict[tuple[Any, ...], tuple[DuckDBEngine, object]] = OrderedDict()
"""By the identities of their tables, which are kept beside each, so that no other object has one of these."""


def protect(source: Any, **given: Any) -> dp.Session:
    """As `dp.protect`; the session does not close its engine, which may be that of earlier ones over the same tables.

    Args:
        source: a table of Arrow, or several by name; others are opened anew each time.
        given: the other arguments of `dp.protect`.
    """
    with mock.patch.object(DuckDBEngine, "open_all", _kept):
        return dp.protect(source, **given)


def _kept(sources: Iterable[tuple[str | None, object, object]]) -> DuckDBEngine:
    listed = list(sources)
    if not all(isinstance(source, pa.Table) for _, source, _ in listed):
        return cast(DuckDBEngine, _open_all(listed))  # files and connections may change
    key = tuple((name, id(source), repr(types)) for name, source, types in listed)
    if key not in _engines:
        engine: DuckDBEngine = _open_all(listed)
        engine.__dict__["close"] = lambda: None
        _engines[key] = engine, listed
    _engines.move_to_end(key)
    while len(_engines) > MOST:
        _engines.popitem(last=False)
    return _engines[key][0]
