"""Engines count the same numbers in a table of edges as this process does in the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.sources import open_source
from discreet.graphs import EngineGraph, counts, engine_graph, finds_components, of_table
from tests import servers
from tests.depth import DEEP

COUNTS: list[Callable[[Any], Any]] = [
    counts.triangles, counts.common, counts.end_products, counts.widest, lambda graph: counts.stars(graph, 3),
    lambda graph: graph.edges, lambda graph: counts.at_least(graph, 6).tolist(),
]  # fmt: skip
ODD = [("Zed", "Zed"), (None, "Zed"), ("Zed", None), ("x", "y"), ("y", "x"), ("x", "y"), ("X", "y"), ("x ", "y"),
       ("", "y"), ("é", "e\u0301"), ("'", '"')]  # fmt: skip


def novel() -> pa.Table:
    pairs = [*nx.les_miserables_graph().edges(), *ODD]
    return pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})


def club() -> pa.Table:
    pairs = list(nx.karate_club_graph().edges())
    return pa.table({"a": pa.array([a for a, _ in pairs]), "b": pa.array([b for _, b in pairs])})


NAMES = [*sorted(nx.les_miserables_graph())[:40], "x", "y", "nobody", "1"]
LISTS: dict[str, list[Any] | None] = {
    "all": None,
    "run": list(range(20)),
    "some": [1, 2, 3, 9, 33, 1 << 70, "8"],
}


def see(engine: Engine, table: str, edges: pa.Table, vertices: list[Any] | None, ways: Any = COUNTS) -> None:
    whole = [pa.types.is_integer(field.type) for field in edges.schema]
    there = EngineGraph(engine, table, edges.column_names, whole, vertices)
    here = of_table(edges, ("a", "b"), vertices)
    assert there.see_countable()
    for way in ways:
        assert way(there) == way(here)


@pytest.mark.parametrize("listed", LISTS)
def test_whole_numbers_in_duckdb(listed: str) -> None:
    see(open_source(club(), "edges"), "edges", club(), LISTS[listed])


@pytest.mark.parametrize("name", ["pairs", 'a "b" `c` \\'])
def test_texts_in_duckdb_under_any_name_of_the_table(name: str) -> None:
    see(open_source(novel(), name), name, novel(), None)
    see(open_source(novel(), name), name, novel(), NAMES)


def test_a_number_and_a_text_are_one_name_where_their_digits_are() -> None:
    mixed = pa.table({"a": pa.array([1, 2, 3]), "b": ["2", "3", "1"]})
    see(open_source(mixed, "edges"), "edges", mixed, None)
    see(open_source(mixed, "edges"), "edges", mixed, [1, "2", 3, 4])


def test_no_edges_in_duckdb() -> None:
    empty = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    see(open_source(empty, "edges"), "edges", empty, None)


def test_in_postgres() -> None:
    servers.load(servers.postgres(), "graph_there", {"pairs": novel(), "club": club()})
    see(open_source(f"{servers.postgres()}#graph_there.pairs"), "pairs", novel(), NAMES)
    see(open_source(f"{servers.postgres()}#graph_there.club"), "club", club(), LISTS["some"])


def test_in_clickhouse() -> None:
    from discreet.engines.clickhouse import ClickHouseEngine

    servers.load_clickhouse("graph_there", {"pairs": novel(), "club": club()})
    servers.clickhouse().query("USE graph_there")
    engine = ClickHouseEngine.open_all([(None, servers.clickhouse())])
    see(engine, "pairs", novel(), NAMES)
    see(engine, "club", club(), LISTS["some"])


def test_in_spark() -> None:
    # Spark takes a second for a statement over any rows, and twice as long with a list of names. A deep run asks all
    # ways of all edges, with the list.
    pairs = novel() if DEEP else novel()[-30:]
    engine = open_source(servers.spark().createDataFrame(pairs.to_pylist(), "a string, b string"), "pairs")
    assert finds_components(engine)
    ways = [counts.triangles, counts.common, counts.end_products]
    see(engine, "pairs", pairs, NAMES if DEEP else None, ways)
    see(engine, "pairs", pairs, NAMES, [lambda graph: graph.edges, counts.merges])


def test_only_spark_finds_components() -> None:
    assert not finds_components(open_source(club(), "edges"))


def test_nothing_but_a_number_by_degree_leaves_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer of the engine has more rows than there are degrees, and edges are never read."""
    rows: list[int] = []
    kept = DuckDBEngine.integers

    def integers(self: DuckDBEngine, sql: str, tables: Any) -> pa.Table:
        found = kept(self, sql, tables)
        rows.append(len(found))
        return found

    monkeypatch.setattr(DuckDBEngine, "integers", integers)
    monkeypatch.setattr(DuckDBEngine, "public", None)
    see(open_source(club(), "edges"), "edges", club(), None)
    assert max(rows) == len(set(dict(nx.karate_club_graph().degree()).values()))


def test_an_edge_that_stands_twice_and_counts_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_graph, "_PAIRS", engine_graph._PAIRS.replace("DISTINCT", ""))
    twice = pa.concat_tables([club(), club().select(["b", "a"]).rename_columns(["a", "b"])])
    with pytest.raises(AssertionError):
        see(open_source(twice, "edges"), "edges", twice, None)
