"""Two private tables of facts around one of customers, who belong to households: answers beside plain DuckDB."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import duckdb
import pytest
from tests import shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.mechanisms import LaplaceVector
from discreet.policy import Policy

STEP = {"customer": "customers.nr"}
TABLES: Any = {
    "customers": {"privacy_unit": "household", "max_rows": 5, "columns": {"region": {"keys": ["n", "s"]}}},
    "sales": {"privacy_unit": "customers.household", "through": STEP, "max_rows": 60,
              "columns": {"product": {"keys": "products.nr"}, "amount": {"bounds": [0, 50]},
                          "day": {"bounds": [1, 30]}}},
    "returns": {"privacy_unit": "customers.household", "through": {"sale": "sales.nr"}, "max_rows": 60,
                "columns": {"reason": {"keys": ["broken", "late"]}, "day": {"bounds": [1, 30]}}},
    "visits": {"privacy_unit": "customers.household", "through": STEP, "max_rows": 60,
               "columns": {"minutes": {"bounds": [0, 90]}}},
    "products": {"public": True},
}  # fmt: skip


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    """Every customer is of a household, every fact of a customer: keys are whole, so that plain SQL says the truth."""
    rng = random.Random(3)
    connection = duckdb.connect(config={"threads": "1"})
    rows: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "customers": ("nr INT, household INT, region TEXT",
                      [(nr, nr // 2, rng.choice("ns")) for nr in range(20)]),
        "products": ("nr INT, kind TEXT", [(nr, ["food", "tool"][nr % 2]) for nr in range(6)]),
        "sales": ("nr INT, customer INT, product INT, amount INT, day INT",
                  [(nr, rng.randrange(20), rng.randrange(6), rng.randrange(50), rng.randint(1, 25))
                   for nr in range(120)]),
        "returns": ("sale INT, reason TEXT, day INT",
                    [(rng.randrange(120), rng.choice(["broken", "late"]), rng.randint(10, 30)) for _ in range(50)]),
        "visits": ("customer INT, minutes INT", [(rng.randrange(20), rng.randrange(90)) for _ in range(70)]),
    }  # fmt: skip
    for name, (columns, values) in rows.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(values[0]))})", values)
    return connection


QUESTIONS = [
    "SELECT region, COUNT(*) AS n, SUM(amount) AS s FROM sales JOIN customers ON sales.customer = customers.nr "
    "GROUP BY region ORDER BY region",
    "SELECT kind, reason, COUNT(*) AS n FROM returns, sales, products WHERE returns.sale = sales.nr "
    "AND sales.product = products.nr GROUP BY kind, reason ORDER BY ALL",
    "SELECT region, COUNT(*) AS n FROM customers, returns, sales WHERE returns.sale = sales.nr "
    "AND sales.customer = customers.nr AND returns.day > sales.day GROUP BY region ORDER BY region",
    "SELECT COUNT(*) AS n FROM sales WHERE NOT EXISTS (SELECT 1 FROM returns WHERE returns.sale = sales.nr)",
    "SELECT region, COUNT(*) AS n FROM customers WHERE nr IN (SELECT customer FROM visits WHERE minutes > 60) "
    "AND nr NOT IN (SELECT customer FROM sales WHERE amount > 45) GROUP BY region ORDER BY region",
    "SELECT COUNT(*) AS n, SUM(clamp(s, 0, 900) * clamp(m, 0, 900)) AS p FROM (SELECT customer, SUM(amount) AS s FROM "
    "sales GROUP BY customer) AS a JOIN (SELECT customer, SUM(minutes) AS m FROM visits GROUP BY customer) AS b "
    "ON a.customer = b.customer",
    "SELECT COUNT(*) AS n FROM sales JOIN visits USING (customer)",
    "SELECT nr, (SELECT SUM(amount) / 2 FROM sales WHERE product = products.nr AND sales.day < 20) AS s, "
    "(SELECT COUNT(*) FROM sales AS t WHERE t.product = products.nr) AS n FROM products ORDER BY nr",
    "SELECT kind, COUNT(*) AS n FROM products WHERE nr IN (SELECT p.nr FROM products AS p WHERE 480 < (SELECT "
    "SUM(amount) FROM sales WHERE p.nr = product)) GROUP BY kind ORDER BY kind",
]


# A deep run: all of them. `tests/sql/fuzz` asks DuckDB the same of random questions.
@pytest.mark.parametrize("sql", few(QUESTIONS, 4))
def test_answers_are_those_of_plain_sql(sql: str, plain: duckdb.DuckDBPyConnection) -> None:
    session = shared.protect(plain, policy=Policy(budget=dp.Budget(epsilon=10**6), tables=TABLES))
    with mock.patch.object(LaplaceVector, "release", lambda self, exact: exact):
        found = session.sql(sql, epsilon=1000, max_rows=400).to_arrow()
    clamped = sql.replace("clamp(s, 0, 900)", "least(s, 900)").replace("clamp(m, 0, 900)", "least(m, 900)")
    truth = plain.sql(clamped).to_arrow_table()
    for name in truth.column_names:
        mine, theirs = (table[name].to_pylist() for table in (found, truth))
        same = (
            mine == theirs
            if isinstance(theirs[0], str)
            else mine == pytest.approx([float(v) for v in theirs], rel=1e-4)
        )
        assert same, (name, mine, theirs)


def test_facts_of_different_keys_do_not_meet(plain: duckdb.DuckDBPyConnection) -> None:
    session = shared.protect(plain, policy=Policy(budget=dp.Budget(epsilon=1), tables=TABLES))
    with pytest.raises(QueryRefused, match="on the privacy unit") as caught:
        session.sql(
            "SELECT COUNT(*) AS n FROM returns JOIN visits ON returns.sale = visits.customer", epsilon=1
        )
    assert "found through" in str(caught.value)
