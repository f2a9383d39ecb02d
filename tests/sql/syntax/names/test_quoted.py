"""Names are written so that they can be read, and a question with a bare one is told how."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.syntax.names.quoted import column_name
from discreet.sql.syntax.parse import parse

NAMES = ["age", "date", "year", "when", "order", "Time entered", 'a"b', "ä", "2nd", "case", "select", "x"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_written_so_can_be_asked(name: str) -> None:
    table = pa.table({name: [1, 2, 3]})
    with dp.protect(table, privacy_unit="row", bounds={name: (0, 9)}, budget=1) as session:
        assert session.preview(f"SELECT SUM({column_name(name)}) AS n FROM data", 1).epsilon == 1


def test_plain_names_stay_plain() -> None:
    assert [column_name(name) for name in ("age", "VisitorId", "date", "n_2")] == [
        "age",
        "VisitorId",
        "date",
        "n_2",
    ]


@pytest.mark.parametrize(("text", "fix"), [
    ("SELECT when FROM t", 'If when is a column, write "when": it is a word of SQL, too.'),
    ("SELECT COUNT(*) FROM t WHERE when > 3", 'write "when"'),
    ("SELECT `Ext`, COUNT(*) FROM t GROUP BY `Ext`", 'Write "Ext": a name stands in double quotes'),
    ("SELECT AVG(`Money spent`) FROM t", 'Write "Money spent"'),
    ("SELECT AVG(ext) FROM [visits]", 'Write "visits", if it is a name: a name stands in double quotes'),
    ("SELECT AVG(ext) AS [Money spent] FROM t", 'Write "Money spent", if'),
    ("SELECT AVG([Money spent]) FROM t", 'Write "Money spent", if'),
    ("SELECT AVG(v.[ext]) FROM t v", 'Write "ext", if'),
])  # fmt: skip
def test_a_bare_name_is_told(text: str, fix: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(text)
    assert fix in caught.value.fix


@pytest.mark.parametrize("text", [
    "SELECT AVG(money spent) FROM t", "SELECT COUNT(*) FROM t WHERE", "SELECT COUNT(*) FROM t GROUP BY a HAVING",
    "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY", "SELECT COUNT(* FROM t", "SELECT COUNT(*)) FROM t",
    "SELECT COUNT(*) FROM t WHERE a > ", "SELECT list_contains([a], 1), COUNT(*)) FROM t",
    "SELECT CASE a WHEN 1 THEN 2 FROM t",
])  # fmt: skip
def test_no_other_mistake_is_taken_for_one(text: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(text)
    assert "is a column" not in caught.value.fix
    assert "if it is a name" not in caught.value.fix


@pytest.mark.parametrize("query", [
    "SELECT AVG([age]) AS n FROM data", "SELECT COUNT(*) AS n FROM data WHERE [age] > 3",
    "SELECT [age], COUNT(*) AS n FROM data GROUP BY [age]",
])  # fmt: skip
def test_a_list_of_one_column_may_be_a_name_in_brackets(query: str) -> None:
    with dp.protect(pa.table({"age": [1]}), privacy_unit="row", bounds={"age": (0, 9)}, budget=1) as session:
        with pytest.raises(
            QueryRefused, match=r'Write "age", if it is a name: .* square brackets make a list'
        ):
            session.preview(query, 1)
        with pytest.raises(QueryRefused, match="Write list_contains"):
            session.preview("SELECT AVG([age, 1]) AS n FROM data", 1)
