"""A graph under a budget: one ledger, replay, errors that say their charge, and nothing in the data that raises."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from tests.depth import DEEP

import discreet as dp
from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, PolicyError, QueryRefused
from discreet.graphs import Method
from discreet.mechanisms import LaplaceVector
from discreet.session.sources.graphing import GraphSession, graph

SURE = 400
"""An epsilon whose noise is 0 but for a chance of 1e-80."""


def club_csv(folder: Path) -> Path:
    path = folder / "club.csv"
    pairs = "".join(f"{one + 1},{other + 1}\n" for one, other in nx.karate_club_graph().edges())
    path.write_text("from,to\n" + pairs)
    return path


def edges(session: GraphSession) -> int:
    return int(session.ask("edges", SURE)["edges"][0])


def test_one_ledger_and_replay(tmp_path: Path) -> None:
    path = club_csv(tmp_path)
    with graph(path, vertices=range(1, 35), budget=2) as session:
        first = session.ask("triangles", 1)
        again = session.ask("triangles", 1)
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        assert session.budget.spent == 1
    with graph(str(path), vertices=range(1, 35), budget=2) as session:
        assert session.ask("triangles", 1).to_dict() == first.to_dict()
        session.ask("triangles", "1/2")
        with pytest.raises(BudgetExceeded, match="Nothing was charged"):
            session.ask("edges", 1)
        assert session.budget.left == Fraction(1, 2)
        assert session.ledger.verify() == 4
    # Another set of as many vertices is another question.
    with graph(path, vertices=range(34), budget=3) as session:
        assert not session.ask("triangles", 1).replayed
    with pytest.raises(PolicyError, match="cannot be converted"):
        graph(path, privacy_unit="vertex", max_degree=5, vertices=40, budget=3)


def test_a_failure_behind_the_charge_says_so_and_one_before_it_too(tmp_path: Path) -> None:
    path = tmp_path / "club.parquet"
    pq.write_table(pa.table({"source": [1, 2], "target": [2, 3]}), path)
    with graph(path, vertices=5, budget=3) as session:
        with pytest.raises(InvalidParameter, match="no count"):
            session.ask("cliques", 1)
        path.unlink()
        with pytest.raises(EngineError, match="Charged: epsilon 1") as caught:
            session.ask("edges", 1)
        assert caught.value.charged is not None
        assert session.budget.spent == 1


def test_noise_for_less_than_the_sensitivity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    halved = {"edges": LaplaceVector(Fraction(1, 2), 1)}
    with graph(nx.path_graph(4), budget=3) as session:
        monkeypatch.setattr(Method, "mechanisms", halved)
        with pytest.raises(QueryRefused, match="add up"):
            session.ask("edges", 1)
        assert session.budget.spent == 0


ODD: list[tuple[Any, Any]] = [
    ("a", "b"), ("b", "a"), ("a", "b"), ("a", "a"), (None, "b"), ("a", None), (None, None), ("A", "b"), ("a ", "b"),
    ("", "b"), ("\x00", "é"), ("\x00", "e\u0301"), ("'; DROP", "b"), ("nan", "NULL"),
]  # fmt: skip


def test_names_are_equal_where_their_characters_are() -> None:
    table = pa.table({"source": [a for a, _ in ODD], "target": [b for _, b in ODD]})
    with graph(table, vertices=99, budget=10**4) as session:
        assert edges(session) == 8
        assert session.ask("components", SURE)["components"][0] == 99 - 8
    with graph(table, vertices=["a", "b", "A", "b "], budget=10**4) as session:
        assert edges(session) == 2
        assert session.ask("components", SURE)["components"][0] == 2


@pytest.mark.parametrize(
    # A deep run asks other widths as well.
    "kind",
    [pa.int8(), pa.string(), pa.dictionary(pa.int8(), pa.string()), *[pa.int64(), pa.large_string()] * DEEP],
)
def test_names_of_all_types(kind: pa.DataType) -> None:
    text = not pa.types.is_integer(kind)
    one, other = ([str(v) if text else v for v in values] for values in ([-3, 7, 7, -3], [7, -3, 0, -3]))
    table = pa.table({"source": pa.array(one).cast(kind), "target": pa.array(other).cast(kind)})
    for vertices in (9, range(-3, 8), [-3, 7, 0], ["-3", "7", "0", "x"]):
        with graph(table, vertices=vertices, budget=10**4) as session:
            assert edges(session) == 2
    mixed = pa.table({"source": pa.array([1, 2]), "target": ["2", "1"]})
    with graph(mixed, vertices=9, budget=10**4) as session:
        assert edges(session) == 1


def test_types_that_name_nothing_are_refused_before_the_charge() -> None:
    for column in (pa.array([1.0, float("nan")]), pa.array([[1], [2]]), pa.array([True, False])):
        with pytest.raises(QueryRefused, match="neither integers nor text"):
            graph(pa.table({"source": column, "target": column}), vertices=9, budget=3)
    with pytest.raises(QueryRefused, match="no column"):
        graph(pa.table({"a": [1], "b": [1], "c": [1]}), vertices=9, budget=3)


def test_no_edges_and_far_too_many_vertices_raise_nothing() -> None:
    for table in (pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}),
                  pa.table({"a": range(99), "b": range(1, 100)})):  # fmt: skip
        with graph(table, vertices=3, budget=10**4) as session:
            for asked in (
                "edges",
                "degrees",
                "triangles",
                "3-stars",
                "components",
                "clustering",
                "assortativity",
            ):
                assert len(session.ask(asked, 1)) >= 1


def test_numbers_are_of_one_type_whole_or_not() -> None:
    """Where so few vertices have no 2-stars the ratio is 0, and its interval from 0 to 1."""
    with graph(pa.table({"a": [1], "b": [2]}), vertices=range(2), budget=10) as session:
        release = session.ask("clustering", 1)
        columns = (release.values, release.low, release.high)
        assert {column["clustering"].type for column in columns} == {pa.float64()}


@pytest.mark.parametrize("kind", ["networkx", "directed", "igraph", "csr", "coo", "pandas", "polars"])
def test_graphs_of_others(kind: str) -> None:
    import polars as pl

    club = nx.karate_club_graph()
    pairs = np.array(club.edges())
    twice = nx.MultiDiGraph([*club.edges(), *[(b, a) for a, b in club.edges()], (3, 3)])
    matrix = scipy.sparse.csr_array((np.ones(len(pairs)), pairs.T), shape=(34, 34))
    made: dict[str, Any] = {
        "networkx": club, "directed": twice, "csr": matrix, "coo": scipy.sparse.coo_matrix(matrix),
        "igraph": igraph.Graph(n=34, edges=pairs.tolist()),
        "pandas": pd.DataFrame({"source": pairs[:, 0], "target": pairs[:, 1]}),
        "polars": pl.DataFrame({"source": pairs[:, 0], "target": pairs[:, 1]}),
    }  # fmt: skip
    with graph(
        made[kind], vertices=range(34) if kind in ("pandas", "polars") else None, budget=10**4
    ) as session:
        assert (session.vertices, edges(session)) == (34, 78)
        assert session.ask("triangles", SURE, method="ladder")["triangles"][0] == 45
        assert session.ask("degrees", SURE)["vertices"][:5] == [0, 1, 11, 6, 6]


def test_hidden_vertices() -> None:
    with graph(nx.star_graph(20), privacy_unit="vertex", vertices=50, max_degree=5, budget=10**6) as session:
        assert session.ask("edges", 10 * SURE)["edges"][0] == 5
        assert session.ask("edges", 10 * SURE, method="projection")["edges"][0] == 5
        degrees = session.ask("degrees", 20 * SURE)
        assert degrees.to_dict(intervals=False) == {"degree": [1, 2, 3, 4, 5], "vertices": [5, 0, 0, 0, 1]}
        with pytest.raises(InvalidParameter, match="hidden vertices"):
            session.ask("triangles", 1)


def test_declarations_that_do_not_fit() -> None:
    table = pa.table({"a": [1], "b": [2]})
    wrong: dict[str, Any]
    for wrong in ({}, {"vertices": 0}, {"vertices": []}, {"vertices": [1, "1"]}, {"vertices": [1.5]},
                  {"vertices": ["a", "\ud800"]}, {"vertices": [10**5000]}, {"vertices": 10**40},
                  {"vertices": 9, "privacy_unit": "row"}, {"vertices": 9, "privacy_unit": "vertex"},
                  {"vertices": 9, "max_degree": 3}):  # fmt: skip
        with pytest.raises(InvalidParameter):
            dp.graph(table, budget=3, **wrong)
    with pytest.raises(InvalidParameter, match="square"):
        graph(scipy.sparse.csr_array((2, 3)), budget=3)
    with graph(table, vertices=9, budget=3) as session:
        for wrong in ({"width": -1}, {"confidence": 1}, {"max_degree": 0}, {"method": "flow"}):
            with pytest.raises(InvalidParameter):
                session.ask("triangles" if "max_degree" not in wrong else "degrees", 1, **wrong)
        assert session.budget.spent == 0
        assert [one.method for one in session.preview("triangles", 1)] == ["ladder", "smooth"]


def test_edges_in_a_database() -> None:
    from tests import servers

    table = pa.table({"a": ["x", "y", "x", None], "b": ["y", "x", "z", "x"], "note": ["s", None, "t", "u"]})
    servers.load(servers.postgres(), "friends_of", {"friends": table})
    source = f"{servers.postgres()}#friends_of.friends"
    with graph(source, ends=("a", "B"), vertices=["x", "y", "z"], budget=10**4, ledger=":memory:") as session:
        assert edges(session) == 2
