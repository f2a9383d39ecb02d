"""A graph whose edges stay in their engine is answered as one that is read, from one ledger at one price."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import pyarrow as pa
import pytest
from tests import servers

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import EngineError, InvalidParameter, SourceError
from discreet.session.sources.graph_source import GraphSource

SURE = 400
"""An epsilon whose noise is 0 but for a chance of 1e-80."""


def club(folder: Path) -> str:
    path = folder / "club.duckdb"
    with duckdb.connect(str(path)) as connection:
        pairs = pa.table({"a": [a for a, _ in nx.karate_club_graph().edges()],
                          "b": [b for _, b in nx.karate_club_graph().edges()]})  # fmt: skip
        connection.register("given", pairs)
        connection.execute("CREATE TABLE friends AS SELECT * FROM given")
    return f"duckdb:{path}#friends"


def asked(session: Any) -> list[Any]:
    return [
        session.ask("edges", SURE)["edges"][0],
        session.ask("triangles", SURE, method="ladder")["triangles"][0],
        session.ask("2-stars", SURE, method="ladder")["2-stars"][0],
        session.ask("degrees", SURE, max_degree=17)["vertices"],
        session.ask("components", SURE)["components"][0],
        round(session.ask("edges", 32, method="local")["edges"][0]),  # but for a chance of 1e-11
    ]


def test_the_engine_counts_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = club(tmp_path)
    read: list[str] = []
    kept = DuckDBEngine.public

    def public(self: DuckDBEngine, table: str, columns: Any = None) -> pa.Table:
        read.append(table)
        return kept(self, table, columns)

    monkeypatch.setattr(DuckDBEngine, "public", public)
    found = []
    for number, there in enumerate((False, True)):
        with dp.graph(
            source, vertices=range(34), budget=10**4, ledger=tmp_path / f"{number}.db", in_engine=there
        ) as session:
            found.append(asked(session))
            assert session.budget.spent == 5 * SURE + 32
        assert len(read) == [6, 8][number]  # only components and reports of pairs need the edges here
    assert found[0] == found[1]
    assert found[0][:3] == [78, 45, 528]


def test_where_it_is_counted_makes_no_other_question(tmp_path: Path) -> None:
    source = club(tmp_path)
    with dp.graph(source, vertices=range(34), budget=2) as session:
        first = session.ask("triangles", 1)
    with dp.graph(source, vertices=range(34), budget=2, in_engine=True) as session:
        assert session.ask("triangles", 1).to_dict() == first.to_dict()
        assert session.budget.spent == 1


def test_a_table_that_went_is_found_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dp.graph(club(tmp_path), vertices=range(34), budget=2, in_engine=True) as session:
        monkeypatch.setattr(DuckDBEngine, "probe", lambda *_: False)
        with pytest.raises(SourceError, match="cannot count"):
            session.ask("triangles", 1)
        assert session.budget.spent == 0
        monkeypatch.undo()
        monkeypatch.setattr(DuckDBEngine, "integers", _fail)
        with pytest.raises(EngineError, match="Charged: epsilon 1"):
            session.ask("triangles", 1)
        assert session.budget.spent == 1


def _fail(*_: Any) -> None:
    from discreet.engines.engine import failed

    raise failed()


def test_what_no_engine_counts(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="hidden vertices"):
        dp.graph(club(tmp_path), privacy_unit="vertex", max_degree=3, vertices=50, budget=1, in_engine=True)
    with pytest.raises(InvalidParameter, match="in no engine"):
        dp.graph(nx.path_graph(3), budget=1, in_engine=True)


def test_spark_counts_by_itself() -> None:
    frame = servers.spark().createDataFrame([(1, 2), (2, 3), (1, 3), (5, 4)], "a int, b int")
    source = GraphSource(frame, None, None, None)
    assert source.counts_there("components", False)
    assert not source.counts_there("components", True)
    assert not GraphSource(frame, None, None, None, in_engine=False).counts_there("edges", False)
    with dp.graph(frame, vertices=10, budget=10**4) as session:
        release = session.ask("edges", SURE)
        assert release["edges"][0] == 4
        assert session.budget.spent == SURE
        assert session.ask("edges", SURE).replayed
