"""Which engine opens a source, and that a package can bring one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import registry
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.sources import open_source
from discreet.errors import QueryRefused, SourceError


class Elsewhere(DuckDBEngine):
    """An engine of a package: DuckDB under another name, without regular expressions."""

    lacks = frozenset({"regexp_matches"})
    place = None

    @classmethod
    def open_all(cls, sources: Iterable[Any]) -> Elsewhere:
        """Open the same table whatever is asked for."""
        return super().open_all(
            [(name or "t", pa.table({"a": [1, 2], "c": ["x", "y"]}), {}) for name, _ in sources]
        )  # type: ignore[return-value]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def points(*, group: str, name: str) -> list[Any]:
        assert group == "discreet.engines"
        return [SimpleNamespace(load=lambda: Elsewhere)] if name == "elsewhere" else []

    monkeypatch.setattr(registry, "entry_points", points)
    registry._registered.cache_clear()
    yield
    registry._registered.cache_clear()


def test_a_package_brings_an_engine(installed: None) -> None:
    engine: Engine = open_source("elsewhere://warehouse/t", "t")
    assert isinstance(engine, Elsewhere)
    assert registry.opener("postgresql://host/db") is not None
    assert all(
        registry.opener(one) is None
        for one in ("a.parquet", "parquet:a", Path("a"), pa.table({}), r"C:\a.csv")
    )
    with pytest.raises(SourceError):
        open_source({"t": "elsewhere://warehouse/t", "u": pa.table({"a": [1]})})


def test_a_package_that_comes_while_python_runs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.opener("newcomer://warehouse") is None
    folder = tmp_path / "newcomer-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[{registry.GROUP}]\nnewcomer = {__name__}:Elsewhere\n")
    os.utime(tmp_path, ns=(1, 1))  # as a clock of coarse steps may not have moved
    monkeypatch.setattr(EntryPoint, "load", lambda point: Elsewhere)
    assert registry.opener("newcomer://warehouse") is Elsewhere


def test_what_an_engine_lacks_is_refused_before_the_charge(installed: None) -> None:
    with dp.protect("elsewhere://warehouse", table="t", privacy_unit="row", budget=2) as session:
        for sql in (
            "SELECT COUNT(*) AS n FROM t WHERE regexp_matches(c, 'x')",
            "SELECT COUNT(*) AS n FROM (SELECT regexp_matches(c, 'x') AS d FROM t) WHERE d",
            "SELECT SUM(CASE WHEN c ~ 'x' THEN 1 ELSE 0 END) AS n FROM t",
        ):
            with pytest.raises(QueryRefused, match="regexp_matches is not possible"):
                session.sql(sql, epsilon=1)
            with pytest.raises(QueryRefused):
                session.preview(sql, epsilon=1)
        assert session.budget.spent == 0
        session.sql("SELECT COUNT(*) AS n FROM t WHERE c LIKE 'x'", epsilon=1)
