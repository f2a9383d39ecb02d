"""Ctrl-C while DuckDB reads a file is an interrupt, and no error of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb.connection import INTERRUPTED


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("words", "kind"), [(INTERRUPTED, KeyboardInterrupt), ("another", RuntimeError)])
def test_an_interrupt_while_a_file_opens(
    many: bool, words: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> DuckDBEngine:
        raise RuntimeError(words)

    monkeypatch.setattr(DuckDBEngine, "open_all", fails)
    table = pa.table({"age": [1]})
    with pytest.raises(kind) as caught:
        dp.protect({"data": table} if many else table, privacy_unit="row", budget=1)
    assert type(caught.value) is kind
