"""Lists, structs and JSON as analysts write them: what is read is what plain DuckDB says, and the rest is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

TABLE = pa.table(
    {
        "id": range(7),
        "n": [1, 2, 3, 4, 5, None, 7],
        "l": pa.array([[1, 2, 3], [], None, [None], [3, 3, None], [5], [2]], pa.list_(pa.int64())),
        "w": [["a", "b"], ["b"], [], None, ["c", None], ["a", "a"], ["b", "a"]],
        "s": pa.array([{"x": 1, "y": {"z": "a"}}] * 6 + [None]),
        "j": ['{"x": [1, {"y z": 2}]}', '{"x": 3}', "[4]", "{", None, "{}", '{"x": {"w": 5}}'],
    }
)
CONDITIONS = [
    "len(l) = 1", "length(l) > 1", "array_length(l, 1) = 3", "list_contains(l, 3)", "NOT list_contains(l, 3)",
    "list_has(l, n)", "array_contains(w, 'a')", "3 = ANY(l)", "NOT (3 = ANY(l))", "n = ANY(l)", "l[1] = 3",
    "l[2] IS NULL", "list_extract(w, 2) = 'a'", "len(l[1:2]) = 2", "len(list_distinct(w)) = 1",
    "list_has_any(w, ['a', 'c'])",
    "list_has_all(w, ['a', 'b'])", "w && ['c']", "'b' IN w", "len(string_split(w[1], 'b')) = 2",
    "list_contains([n, 3], 3)",
    "len([n, n]) = n", "l IS NULL", "s.x = 1", "(s).y.z = 'a'", "s['y']['z'] = 'a'", "struct_extract(s, 'x') IS NULL",
]  # fmt: skip
JSON = {
    "j ->> '$.x[0]' = '1'": [0], "(j ->> '$.x[1].\"y z\"') = '2'": [0], "j -> 'x' ->> 1 = '{\"y z\":2}'": [0],
    "json_extract_string(j, 'x') = '3'": [1], "j ->> 0 = '4'": [2], "CAST(j ->> 'x' AS INT) = 3": [1],
    "j ->> 'x' ->> 'w' = '5'": [6], "j ->> 'x' IS NULL": [2, 3, 4, 5], "j ->> 'x' IN ('3', '4')": [1],
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    tables = {"t": {"privacy_unit": "row", "columns": {"n": {"bounds": [0, 9]}, "id": {"bounds": [0, 6]}}}}
    with shared.protect({"t": TABLE}, policy=dp.Policy(budget=1000, tables=tables)) as opened:  # type: ignore[arg-type]
        yield opened


def ids(session: dp.Session, condition: str) -> list[int]:
    sql = f"SELECT id, COUNT(*) AS n FROM t WHERE {condition} GROUP BY id"
    (release,) = plan(sql, inside.catalog_of(session), Fraction(1), Limits()).releases
    key = release.keys[0].values
    counts = exact_integers(release, inside.engine_of(session), 7).ravel()
    return [int(str(value)) for value, count in zip(key, counts, strict=True) if count]


# A deep run: every form.
@pytest.mark.parametrize("condition", few(CONDITIONS, 8))
def test_it_means_the_same_as_in_duckdb(session: dp.Session, condition: str) -> None:
    with shared.plain() as plain:
        plain.register("t", TABLE)
        expected = plain.execute(f"SELECT id FROM t WHERE {condition} ORDER BY id").fetchall()
    assert ids(session, condition) == [row for (row,) in expected]


@pytest.mark.parametrize("condition", JSON)
def test_json_is_read_by_path(session: dp.Session, condition: str) -> None:
    assert ids(session, condition) == JSON[condition]


REFUSED = {
    "l = [1]": "is a list of integers", "len(n) = 1": "does not take an integer", "l[n] = 1": "must be a literal",
    "list_contains(n, 1)": "takes a list", "list_contains(l, 'a')": "does not take",
    "list_has_any(l, l)": "some literals",
    "l[1:] = l": "last item must be said", "array_length(l, 2) = 1": "one dimension", "n > ANY(l)": "not among",
    "s = s": "the type struct", "s.q = 1": "no column q", "len(s) = 1": "the type struct", "3 = ANY(n)": "takes a list",
    "len([1, 'a']) = 1": "mixes", "j -> 'x' = '3'": "read as a text", "CAST(l AS VARCHAR) = '1'": "is a list",
}  # fmt: skip


@pytest.mark.parametrize("condition", REFUSED)
def test_the_rest_is_refused(session: dp.Session, condition: str) -> None:
    with pytest.raises(QueryRefused, match=REFUSED[condition]) as refused:
        session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", epsilon=1)
    assert refused.value.fix
