"""Units in another table: the spelling of a policy, and what each mistake is told."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import PolicyError, QueryRefused
from discreet.policy import Policy

LINES = {"privacy_unit": "orders.customer", "through": {"order": "orders.id"}, "max_rows": 9}
ORDERS = {"privacy_unit": "customer", "max_rows": 4}
TOML = """
[budget]
epsilon = 3
[tables.orders]
privacy_unit = "customer"
max_rows = 4
[tables.lines]
privacy_unit = "orders.customer"
through = { order = "orders.id", "at store" = { table = "orders", column = "st.ore" } }
max_rows = 9
"""
DATA = {
    "orders": pa.table({"id": [1, 2, 3], "customer": [10, 10, 11]}),
    "lines": pa.table({"order": [1, 1, 2, 3, 4], "price": [5, 6, 7, 8, 9]}),
}


def policy(**tables: Any) -> Policy:
    declared: Any = {"orders": ORDERS, "lines": LINES, **tables}
    return Policy(budget=dp.Budget(epsilon=10**6), tables=declared)


def refused(**tables: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        policy(**tables)
    return caught.value


def test_it_is_read_written_and_said() -> None:
    declared = Policy(**tomllib.loads(TOML))
    assert Policy(**tomllib.loads(declared.to_toml())) == declared
    (said,) = (words for name, words in declared.lines() if name == "lines")
    step = "order = orders.id and at store = orders.st.ore"
    assert said == f"privacy unit orders.customer through {step}, at most 9 of its rows"


def test_the_digest_knows_the_way_and_old_digests_stay() -> None:
    other = policy(lines={**LINES, "through": {"order": "orders.number"}})
    again = policy(lines={**LINES, "through": {"ORDER": "Orders.ID"}})
    assert policy().digest() == again.digest() != other.digest()


@pytest.mark.parametrize(
    ("tables", "key", "words"),
    [
        ({"lines": {**LINES, "through": {"order": "order.id"}}}, "tables.lines.through", "Did you mean orders"),
        ({"lines": {**LINES, "through": {}}}, "tables.lines.through", "orders.id"),
        ({"lines": {**LINES, "through": {"order": "id"}}}, "tables.lines.through", "table.column"),
        ({"lines": {**LINES, "through": "orders.id"}}, "tables.lines.through", "through = {"),
        ({"lines": {**LINES, "through": {"order": "lines.id"}}}, "tables.lines.through", "back to the table itself"),
        ({"lines": {**LINES, "privacy_unit": "customer"}}, "tables.lines.privacy_unit", '"orders.customer"'),
        ({"lines": {**LINES, "privacy_unit": "orders.id"}}, "tables.lines.privacy_unit", '"orders.customer"'),
        ({"lines": {**LINES, "privacy_unit": "row", "max_rows": None}}, "tables.lines.through", "Each row is one unit"),
        ({"lines": {"public": True, "through": {"order": "orders.id"}}}, "tables.lines", "privacy_unit, through and"),
        ({"orders": {"public": True}}, "tables.lines.through", "is public"),
        ({"orders": {"privacy_unit": "row"}}, "tables.lines.through", 'privacy_unit = "id" and max_rows = 1'),
        ({"lines": {**LINES, "through": {"order": "orders.id", "shop": "shops.id"}}, "shops": {"public": True}},
         "tables.lines.through", "more than one table"),
        ({"orders": {"privacy_unit": "people.home", "through": {"p": "lines.x"}, "max_rows": 1},
          "lines": {"privacy_unit": "people.home", "through": {"order": "orders.id"}, "max_rows": 1},
          "people": {"privacy_unit": "home", "max_rows": 1}}, "tables.orders.through", "round in a circle"),
        ({"lines": {**LINES, "max_rows": None}}, "tables.lines.max_rows", "missing"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place_and_its_fix(
    tables: dict[str, Any], key: str, words: str
) -> None:
    error = refused(**tables)
    assert error.key == key
    assert words in str(error)


@pytest.mark.parametrize(
    ("name", "column", "other", "words"),
    [
        ("lines", "order", pa.array(["1", "1", "2", "3", "4"]), "told apart as TEXT, orders.id as INTEGER"),
        ("lines", "order", pa.array([[1]] * 5), "names nobody"),
        ("lines", "order", pa.array([1.0] * 5), "told apart as FLOAT, orders.id as INTEGER"),
    ],
)
def test_keys_of_two_types_are_refused_before_a_value_is_read(
    name: str, column: str, other: pa.Array, words: str
) -> None:
    table = DATA[name].set_column(DATA[name].column_names.index(column), column, other)
    with pytest.raises(PolicyError, match=words) as caught:
        dp.protect({**DATA, name: table}, policy=policy())
    assert caught.value.key == "tables.lines.through.order"


@pytest.mark.parametrize(
    ("through", "key", "words"),
    [
        ({"ordre": "orders.id"}, "tables.lines.through.ordre", "no column ordre. Did you mean order"),
        ({"order": "orders.nr"}, "tables.lines.through.order", "The table orders has no column nr."),
    ],
)
def test_columns_that_are_not_there_are_named(through: Mapping[str, str], key: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words.replace(".", r"\.")) as caught:
        dp.protect(DATA, policy=policy(lines={**LINES, "through": through}))
    assert caught.value.key == key


def test_a_unit_of_another_table_without_the_way_is_told_how_to_say_it() -> None:
    with pytest.raises(PolicyError, match=r"through = . COLUMN = "):
        dp.protect(DATA, policy=policy(lines={"privacy_unit": "orders.customer", "max_rows": 2}))


def test_keyword_arguments_say_the_same() -> None:
    given = {
        "table": "lines",
        "privacy_unit": "orders.customer",
        "through": {"order": "orders.id"},
        "max_rows": 9,
    }
    session = shared.protect(DATA, budget=10**6, bounds={"price": (0, 10)}, **given)
    found = session.sql("SELECT COUNT(*) AS n, SUM(price) AS s FROM lines", epsilon=1000).to_pandas()
    assert round(found["n"][0]) == 4
    assert abs(found["s"][0] - 26) < 3
    assert session.sql("SELECT COUNT(*) AS n FROM orders", epsilon=1000).to_pandas()[
        "n"
    ].round().tolist() == [3]


def test_a_file_of_its_own_for_each_table(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    connection = duckdb.connect()
    text = policy().to_toml()
    for name, table in DATA.items():
        connection.register(f"{name}_", table)
        connection.execute(f"COPY {name}_ TO '{tmp_path / name}.csv'")
        text = text.replace(f"[tables.{name}]", f'[tables.{name}]\nurl = "csv:{name}.csv"')
    path.write_text(text, "utf-8")
    session = dp.protect(policy=path)
    assert session.sql("SELECT COUNT(*) AS n FROM lines", epsilon=1000).to_pandas()["n"].round().tolist() == [
        4
    ]


def test_tables_and_explain_say_the_way() -> None:
    session = shared.protect(DATA, policy=policy())
    shown = session.sql("SHOW TABLES").to_pandas().set_index("name")
    assert shown["privacy_unit"]["lines"] == "orders.customer through order = orders.id"
    columns = session.sql("DESCRIBE lines").to_pandas().set_index("column_name")
    assert columns["declared"]["order"].startswith("key of orders")
    assert "orders.customer through order = orders.id, at most 9" in str(
        session.explain("SELECT COUNT(*) FROM lines", epsilon=1)
    )


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT COUNT(*) FROM lines JOIN orders ON lines.price = orders.id",
            "Add ON lines.order = orders.id",
        ),
        (
            "SELECT lines.order, SUM(price) AS s FROM lines GROUP BY lines.order",
            "returns rows of a private table",
        ),
        ("SELECT lines.order, SUM(price) AS s FROM lines GROUP BY 1 LIMIT 3", "no answer may show"),
        ("SELECT COUNT(*) FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE price > 3)", "must compare"),
    ],
)
def test_what_no_answer_may_show_is_refused_with_the_reason(sql: str, words: str) -> None:
    session = shared.protect(DATA, policy=policy())
    with pytest.raises(QueryRefused) as caught:
        session.sql(sql, epsilon=1)
    assert words in str(caught.value)
    assert not session.ledger.entries()


def test_invented_tables_have_keys_that_meet() -> None:
    session = shared.protect(DATA, policy=policy()).mock(rows=400)
    sql = "SELECT COUNT(*) AS n FROM lines JOIN orders ON lines.order = orders.id"
    assert session.sql(sql, epsilon=1000).to_pandas()["n"][0] > 200
