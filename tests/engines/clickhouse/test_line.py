"""A mistyped folder is refused, since ClickHouse would make it; and who looks at a server waits for no query."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from tests import servers
from tests.engines.clickhouse.server import serving

from discreet.engines.clickhouse import ClickHouseEngine
from discreet.engines.clickhouse.line import Server, dial
from discreet.engines.sources import open_source
from discreet.errors import SourceError


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    pytest.importorskip("chdb")
    with pytest.raises(SourceError, match="No folder has this name"):
        dial(f"clickhouse:{tmp_path / 'mistyped'}#t")
    assert not (tmp_path / "mistyped").exists()


LOOKS: dict[str, Callable[[ClickHouseEngine], object]] = {
    "version": lambda engine: engine.version("t"),
    "probe": lambda engine: engine.probe("SELECT toInt64(count()) AS n FROM `t`"),
    "unreadable": lambda engine: engine.unreadable("t") is None,
}


@contextmanager
def at_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ClickHouseEngine, ThreadPoolExecutor]]:
    """While a query of an engine runs, with threads that others may use."""
    pytest.importorskip("clickhouse_connect")
    servers.load_clickhouse("aside", {"t": pa.table({"x": [1, 2]})})
    started, end, asked = threading.Event(), threading.Event(), Server.ask

    def ask(self: Server, sql: str, aside: bool = False) -> pa.Table:
        if "long" in sql:
            started.set()
            assert end.wait(60)
        return asked(self, sql, aside)

    monkeypatch.setattr(Server, "ask", ask)
    with serving() as (place, _), ThreadPoolExecutor() as pool:
        engine = open_source(f"clickhouse://{place}/aside#t")
        assert isinstance(engine, ClickHouseEngine)
        long = pool.submit(engine.integers, "SELECT toInt64(count()) AS long FROM `t`")
        try:
            assert started.wait(30)
            yield engine, pool
        finally:
            end.set()
            servers.clickhouse().query("USE default")
        assert long.result(30).to_pydict() == {"long": [2]}
        engine.close()


@pytest.mark.parametrize("ask", LOOKS.values(), ids=LOOKS)
def test_nobody_waits_for_the_query_of_somebody_else(
    ask: Callable[[ClickHouseEngine], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_work(monkeypatch) as (engine, pool):
        line = engine._line
        assert isinstance(line, Server)
        running = line._query
        assert pool.submit(ask, engine).result(30)
        assert line._query == running, "it is the query that runs that is stopped"


@pytest.mark.parametrize("ask", LOOKS.values(), ids=LOOKS)
def test_one_who_waits_is_found(
    ask: Callable[[ClickHouseEngine], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: the client is taken for one that runs one query at a time, as the caller's may be."""
    with at_work(monkeypatch) as (engine, pool):
        engine._line.several = False
        waiting = pool.submit(ask, engine)
        with pytest.raises(TooLate):
            waiting.result(0.5)


def test_a_session_takes_one_query_at_a_time() -> None:
    pytest.importorskip("clickhouse_connect")
    with serving() as (place, _):
        for more, several in (("", True), ("?session_id=ours", False)):
            line = dial(f"clickhouse://{place}/default{more}")
            assert line.several is several
            assert not Server(line._client, own=False).several  # type: ignore[attr-defined]
            line.close()
