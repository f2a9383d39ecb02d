"""Invented tables: the shape of the real ones, no value of theirs, and nothing read to make them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import inside, shared
from tests.depth import few

from discreet.engines.schema import ColumnSchema, Type
from discreet.engines.sources import open_source
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.policy import Policy
from discreet.session import Session
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.inspect.mock import invent, physical

REAL = pa.table(
    {
        "who": pa.array([977_001, 977_001, 977_002, 977_003] * 50),
        "age": pa.array([1017, 1018, 1019, 1020] * 50, pa.int16()),
        "pay": pa.array([5e7, 6e7, 7e7, 8e7] * 50),
        "town": pa.array(["Atlantis", "Avalon", "Lyonesse", "Ys"] * 50),
        "note": pa.array(["secret", "hidden", "private", "covert"] * 50),
        "born": pa.array([dt.date(1799, 1, day) for day in (1, 2, 3, 4)] * 50),
        "seen": pa.array([dt.datetime(1801, 1, 1, hour) for hour in (1, 2, 3, 4)] * 50, pa.timestamp("us")),
        "rank": pa.array([-7, -8, -9, -10] * 50, pa.int8()),
        "ok": pa.array([True, False, None, True] * 50),
        "bag": pa.array([[1001], [1002], [1003], [1004]] * 50),
        "free": pa.array([10**12 + at for at in range(200)]),
    }
)  # fmt: skip
TOWNS = pa.table({"town": ["Here", "There"], "size": [1, 2]})
POLICY: dict[str, Any] = {
    "table": "people", "privacy_unit": "who", "max_rows": 3, "budget": 2, "public": ["towns"],
    "bounds": {"age": (0, 120), "pay": (0, 1000.5), "born": (dt.date(2000, 1, 1), dt.date(2000, 12, 31)),
               "seen": (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2))},
    "keys": {"town": "towns.town"},
}  # fmt: skip
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM people",
    "SELECT town, COUNT(*) AS n, AVG(age) AS age, SUM(pay) AS pay FROM people GROUP BY town ORDER BY town",
    "SELECT month(born) AS m, ok, STDDEV(pay) AS s FROM people WHERE age > 30 GROUP BY ALL ORDER BY ALL",
    "SELECT rank, COUNT(note) AS n FROM people GROUP BY rank HAVING COUNT(*) > -1e9 ORDER BY rank",
    "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
    "SELECT t.town, size, n FROM t JOIN towns ON t.town = towns.town ORDER BY t.town",
]


def _session(source: object = None) -> Session:
    return shared.protect(source or {"people": REAL, "towns": TOWNS}, **POLICY)


@pytest.mark.parametrize("question", few(QUESTIONS, 3))
def test_an_answer_has_the_shape_of_the_real_one(question: str) -> None:
    with _session() as session, session.mock(rows=500) as mock:
        assert (
            repr(mock.preview(question, 1)).partition("of")[0]
            == repr(session.preview(question, 1)).partition("of")[0]
        )
        real, tried = session.sql(question, epsilon=1), mock.sql(question, epsilon=1)
        assert tried.values.schema == real.values.schema
        fixed = [name for name in real.columns if name not in real.low]
        assert tried.values.select(fixed) == real.values.select(fixed)
        assert set(tried.low) == set(real.low)
        assert tried.epsilon == real.epsilon
        assert repr(mock.explain(question)) == repr(session.explain(question))


def test_no_real_value_is_in_it() -> None:
    with _session() as session:
        tables = invent(session.policy, inside.engine_of(session).schema(), inside.catalog_of(session), 5000)
    invented = tables["people"]
    assert invented.schema.names == REAL.schema.names
    for name in REAL.column_names:
        if name in ("ok", "bag"):  # two values, and lists
            continue
        real = set(REAL.column(name).to_pylist())
        assert real.isdisjoint(invented.column(name).to_pylist()), name
    real = {item for bag in REAL.column("bag").to_pylist() for item in bag}
    assert real.isdisjoint({item for bag in invented.column("bag").to_pylist() for item in bag})


def test_nothing_real_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    parquet.write_table(REAL, path)
    session = shared.protect(str(path), **{**POLICY, "public": (), "keys": {"town": ["Here"]}, "table": None})
    path.unlink()
    with session, session.mock(rows=100) as mock:
        assert len(mock.sql("SELECT town, COUNT(*) AS n FROM people GROUP BY town", epsilon=1)) == 1
        assert session.budget.spent == 0
        assert not mock.ledger.durable


def test_values_lie_within_bounds_and_keys_and_units_have_several_rows() -> None:
    with _session() as session:
        table = invent(session.policy, inside.engine_of(session).schema(), inside.catalog_of(session), 5000)[
            "people"
        ]
    ages = [a for a in table.column("age").to_pylist() if a is not None]
    # 5,000 draws miss one of 121 ages with probability 121 * e^-41 < 1e-15.
    assert set(ages) == set(range(121))
    pays = [p for p in table.column("pay").to_pylist() if p is not None]
    assert 0 <= min(pays) < max(pays) <= 1000.5
    assert set(table.column("town").to_pylist()) == {"Here", "There", None}
    born = [b for b in table.column("born").to_pylist() if b is not None]
    assert min(born).year == max(born).year == 2000
    rows_of = Counter(table.column("who").to_pylist())
    assert None not in rows_of
    assert min(rows_of.values()) == 1
    assert max(rows_of.values()) > 3  # so that max_rows is seen to matter


def test_units_of_very_many_rows_take_no_more_memory_than_the_rows() -> None:
    """The numbers of 1,000 units of up to 2^32 rows would need more memory than there is."""
    columns = {name: ColumnSchema(name, Type.INTEGER) for name in ("who", "age")}
    policy = Policy.for_table("t", privacy_unit="who", max_rows=2**31 - 1, bounds={"age": (0, 120)}, budget=1)
    table = invent(policy, {"t": columns}, Catalog.build(policy, {"t": columns}, {}), rows=1000)["t"]
    assert table.num_rows == 1000
    assert len(table["who"].unique()) <= 2  # two units of fewer than 1,000 rows have a chance of 1e-13


def test_the_schema_reads_back_as_it_was() -> None:
    with _session() as session:
        schema = inside.engine_of(session).schema()
        tables = invent(session.policy, schema, inside.catalog_of(session), 10)
        again = open_source(tables)
        assert dict(again.schema()["people"]) == dict(schema["people"])
        again.close()


@pytest.mark.parametrize(
    ("as_unit", "kind"),
    [(unit, k) for unit in (False, True) for k in Type if k is not Type.OTHER and (k.single or not unit)],
)
def test_every_type_can_be_invented(kind: Type, as_unit: bool) -> None:
    column = ColumnSchema("x", kind, *((-128, 127) if kind is Type.INTEGER else ()))
    schemas = {"t": {"x": column}}
    policy = Policy.for_table(
        "t", privacy_unit="x" if as_unit else "row", max_rows=2 if as_unit else None, budget=1
    )
    table = invent(policy, schemas, Catalog.build(policy, schemas, {}), 1000)["t"]
    assert table.num_rows == 1000
    assert table.column("x").type == physical(column)
    assert table.column("x").null_count == 0 if as_unit else table.column("x").null_count < 200


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (1e-300, 2e-300), (-(10**30), 10**30), (0.25, 0.75)])
def test_bounds_of_any_size_hold(bounds: tuple[float, float]) -> None:
    for kind, ends in ((Type.FLOAT, ()), (Type.INTEGER, (-(2**63), 2**63 - 1))):
        schemas = {"t": {"x": ColumnSchema("x", kind, *ends)}}
        if kind is Type.INTEGER and bounds[1] < 1:
            continue
        policy = Policy.for_table("t", privacy_unit="row", bounds={"x": bounds}, budget=1)
        values = invent(policy, schemas, Catalog.build(policy, schemas, {}), 200)["t"].column("x").to_pylist()
        known = np.array([v for v in values if v is not None], dtype=np.float64)
        assert np.isfinite(known).all()
        assert (known >= bounds[0]).all()
        assert (known <= bounds[1]).all()


def test_it_has_a_budget_of_its_own_and_refuses_as_the_real_one_does() -> None:
    with _session() as session, session.mock(rows=50) as mock:
        mock.sql("SELECT COUNT(*) AS n FROM people", epsilon=2)
        with pytest.raises(BudgetExceeded):
            mock.sql("SELECT COUNT(*) AS n FROM people WHERE age > 1", epsilon=1)
        with pytest.raises(QueryRefused):
            mock.sql("SELECT * FROM people", epsilon=1)
        assert not mock.budget.left
        assert session.budget.left == 2
        assert "invented" in repr(mock)
        with session.mock(rows=50) as fresh:
            assert fresh.budget.left == Fraction(2)


def test_its_answers_say_that_they_are_invented() -> None:
    with _session() as session, session.mock(rows=50) as mock:
        assert "invented" in mock.sql("SELECT COUNT(*) AS n FROM people", epsilon=1).card()
        assert "invented" not in session.sql("SELECT COUNT(*) AS n FROM people", epsilon=1).card()


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_rows_is_a_positive_whole_number(rows: Any) -> None:
    with _session() as session, pytest.raises(InvalidParameter):
        session.mock(rows=rows)
