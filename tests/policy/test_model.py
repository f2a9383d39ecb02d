"""The policy: what is read, how exactly, and what each mistake is told."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import shared

from discreet.errors import BudgetExceeded, PolicyError
from discreet.policy import Budget, ColumnPolicy, KeyReference, Policy

TOML = """
neighbours = "replace_one"
[budget]
epsilon = 0.3
delta = 1e-9
[source]
url = "parquet:visits.parquet"
[ledger]
url = "../budget.db"
[tables.visits]
privacy_unit = "patient_id"
max_rows = 3
[tables.visits.columns]
age = { bounds = [0, 120.5] }
day = { bounds = [2024-01-01, 2025-01-01] }
seen = { bounds = [2024-01-01T00:00:00Z, 2024-12-31T12:00:00+02:00] }
county = { keys = "counties.county" }
sex = { keys = ["f", "m"] }
"Time spent (minutes)" = { bounds = [0.1, 600] }
[tables.counties]
public = true
url = "csv:/data/counties.csv"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, "utf-8")
    return path


def policy(**values: Any) -> Policy:
    return Policy(**values)


def table(**columns: Any) -> Policy:
    return Policy.for_table("visits", privacy_unit="row", budget=1, **columns)


def refused(make: Callable[[], object]) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        make()
    assert caught.value.__context__ is None
    return caught.value


def test_toml_is_read_exactly_and_places_start_from_its_folder(tmp_path: Path) -> None:
    policy = Policy.from_toml(written(tmp_path, TOML))
    assert policy.budget == Budget(epsilon="3/10", delta=Fraction(1, 10**9))
    assert policy.neighbours == "replace_one"
    assert policy.source == f"parquet:{tmp_path / 'visits.parquet'}"
    assert policy.ledger == str(tmp_path.parent / "budget.db")
    visits, counties = policy.tables["visits"], policy.tables["counties"]
    assert (visits.privacy_unit, visits.max_rows, visits.public) == ("patient_id", 3, False)
    assert visits.columns["age"].bounds == (Fraction(0), Fraction(241, 2))
    assert visits.columns["day"].bounds == (dt.date(2024, 1, 1), dt.date(2025, 1, 1))
    assert visits.columns["seen"].bounds == (dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31, 10))
    assert visits.columns["county"].keys == KeyReference(table="counties", column="county")
    assert visits.columns["sex"].keys == ("f", "m")
    assert visits.columns["Time spent (minutes)"].bounds == (Fraction(1, 10), Fraction(600))
    assert counties.public
    assert counties.url == "csv:/data/counties.csv"


def test_toml_round_trip(tmp_path: Path) -> None:
    policy = Policy.from_toml(written(tmp_path, TOML))
    assert Policy.from_toml(written(tmp_path, policy.to_toml())) == policy


@given(
    epsilon=st.fractions(min_value=Fraction(1, 10**12), max_value=10**6),
    bounds=st.tuples(st.fractions(), st.fractions()).filter(lambda pair: pair[0] < pair[1]),
    keys=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1)
    | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)
    | st.lists(st.booleans(), min_size=1)
    | st.lists(st.dates(), min_size=1),
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_every_policy_survives_its_toml(
    tmp_path_factory: pytest.TempPathFactory, epsilon: Fraction, bounds: Any, keys: Any, name: str
) -> None:
    policy = table(bounds={name: bounds}, keys={name: keys}).model_copy(
        update={"budget": Budget(epsilon=epsilon)}
    )
    again = Policy.from_toml(written(tmp_path_factory.mktemp("toml"), policy.to_toml()))
    assert again == policy
    assert again.digest() == policy.digest()


def test_a_float_is_its_shortest_decimal() -> None:
    assert 3 * Budget(epsilon=0.1).epsilon == Budget(epsilon=0.3).epsilon
    assert table(bounds={"x": (0.1, np.float32(0.3))}).tables["visits"].columns["x"].bounds == (
        Fraction(1, 10),
        Fraction(3, 10),
    )


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ([1, 2, 2, None], (1, 2)),
        (("b", "a"), ("b", "a")),
        (range(3), (0, 1, 2)),
        (np.array([3, 1]), (3, 1)),
        ([np.int64(3)], (3,)),
        (pd.Series([1.0, None, 1.0]), (1,)),
        (pd.Series(["a", "b", None]), ("a", "b")),
        (pd.Series(["a", "b"], dtype="category"), ("a", "b")),
        (pd.Series(pd.to_datetime(["2024-01-31"])), (dt.date(2024, 1, 31),)),
        (pl.Series(["x", None, "x"]), ("x",)),
        (pa.chunked_array([["x"], [None, "y"]]), ("x", "y")),
        ([True, False], (True, False)),
        ([dt.date(2024, 1, 1)], (dt.date(2024, 1, 1),)),
        ("counties.county", KeyReference(table="counties", column="county")),
    ],
)
def test_keys_come_from_any_column(given: object, keys: object) -> None:
    found = ColumnPolicy(keys=given).keys
    assert found == keys
    if isinstance(found, tuple) and isinstance(keys, tuple):
        assert list(map(type, found)) == list(map(type, keys))


@pytest.mark.parametrize(
    ("make", "key", "words"),
    [
        (lambda: Budget(epsilon=0), "epsilon", ["above zero", "positive number"]),
        (lambda: Budget(epsilon=float("nan")), "epsilon", ["not finite"]),
        (lambda: Budget(epsilon=True), "epsilon", ["boolean"]),
        (lambda: Budget(epsilon=1, delta=1), "delta", ["below 1"]),
        (lambda: table(bounds={"age": (1, 1)}), "tables.visits.columns.age.bounds", ["lo < hi"]),
        (lambda: table(bounds={"age": (2, 1)}), "tables.visits.columns.age.bounds", ["lo < hi"]),
        (lambda: table(bounds={"age": (0, float("inf"))}), "tables.visits.columns.age.bounds", ["finite"]),
        (lambda: table(bounds={"age": 3}), "tables.visits.columns.age.bounds", ["pair", "[lo, hi]"]),
        (
            lambda: table(bounds={"age": (0, dt.date(2024, 1, 1))}),
            "tables.visits.columns.age.bounds",
            ["kinds"],
        ),
        (
            lambda: table(bounds={"age": ("2024-13-01", 3)}),
            "tables.visits.columns.age.bounds",
            ["not a date"],
        ),
        (lambda: table(keys={"sex": []}), "tables.visits.columns.sex.keys", ["no keys"]),
        (lambda: table(keys={"sex": ["f", 1]}), "tables.visits.columns.sex.keys", ["more than one type"]),
        (lambda: table(keys={"sex": [True, 1]}), "tables.visits.columns.sex.keys", ["more than one type"]),
        (lambda: table(keys={"sex": [1.5]}), "tables.visits.columns.sex.keys", ["float"]),
        (lambda: table(keys={"sex": [2**63]}), "tables.visits.columns.sex.keys", ["64 bits"]),
        (
            lambda: table(keys={"sex": [dt.datetime(2024, 1, 1, 3)]}),
            "tables.visits.columns.sex.keys",
            ["dates"],
        ),
        (lambda: table(keys={"sex": "counties"}), "tables.visits.columns.sex.keys", ["table.column"]),
        (lambda: table(keys={"sex": "1..16"}), "tables.visits.columns.sex.keys", ["no range", "[1, 16]"]),
        (lambda: table(keys={"sex": 5}), "tables.visits.columns.sex.keys", ["from a int"]),
        (
            lambda: table(keys={"sex": "other.sex"}),
            "tables.visits.columns.sex.keys",
            ["other", "public = true"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="id", budget=1),
            "tables.visits.max_rows",
            ["missing", "Decide how many rows"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="id", max_rows=0, budget=1),
            "tables.visits.max_rows",
            ["at least 1"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="row", max_rows=3, budget=1),
            "tables.visits.max_rows",
            ['privacy_unit is "row"', "Remove it"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="", budget=1),
            "tables.visits.privacy_unit",
            ["missing", '"row"', "public = true"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="row", budget=1, neighbours="add"),
            "neighbours",
            ["add_remove", "replace_one"],
        ),
        (
            lambda: Policy.for_table("visits", privacy_unit="row", budget=1, public=["visits"]),
            "tables.visits",
            ["private table"],
        ),
        (
            lambda: Policy.for_table(
                "visits", privacy_unit="row", budget=1, bounds={"Age": (0, 1), "age": (0, 1)}
            ),
            "tables.visits.columns.Age",
            ["twice"],
        ),
        (lambda: policy(budget=1, tables={}), "tables", ["no table"]),
        (lambda: policy(budget=1), "tables", ["missing"]),
        (
            lambda: policy(budget=1, tables={"c": {"public": True, "max_rows": 1}}),
            "tables.c",
            ["no privacy unit"],
        ),
    ],
)
def test_each_mistake_names_its_key_and_the_fix(
    make: Callable[[], object], key: str, words: list[str]
) -> None:
    error = refused(make)
    assert error.key == key
    assert str(error).startswith(f"{key}: ")
    for word in words:
        assert word in str(error)
    assert error.fix


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (
            TOML.replace("max_rows", "max_row"),
            "tables.visits.max_row",
            ["tables.visits.max_row: The policy has no key of this name"],
        ),
        (TOML.replace("epsilon", "epsilom"), "budget.epsilon", ["Did you mean epsilon?"]),
        (
            TOML.replace("bounds = [0, 120.5]", "bound = [0, 120.5]"),
            "tables.visits.columns.age.bound",
            ["bounds?"],
        ),
        (
            TOML.replace("[budget]", "[budgets]"),
            "budget",
            ["budgets: The policy has no key of this name. Did you mean budget?"],
        ),
        (TOML.replace('url = "parquet', 'path = "parquet'), "source.path", ["The only key here is url"]),
        (TOML.replace("public = true", 'public = "yes"'), "tables.counties.public", ["true or false"]),
        (TOML.replace('"patient_id"', "3"), "tables.visits.privacy_unit", ["quotes"]),
        (TOML.replace("[0, 120.5]", "[0, inf]"), "tables.visits.columns.age.bounds", ["finite"]),
        (TOML.replace("[budget]", "[budget"), "", ["not TOML", "line 3"]),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, key: str, words: list[str]) -> None:
    error = refused(lambda: Policy.from_toml(written(tmp_path, text)))
    assert error.key == key
    for word in words:
        assert word in str(error)


def test_a_missing_file(tmp_path: Path) -> None:
    assert "cannot be read" in str(refused(lambda: Policy.from_toml(tmp_path / "none.toml")))


def test_several_mistakes_are_one_error() -> None:
    error = refused(
        lambda: Policy.for_table("visits", privacy_unit="row", budget=0, bounds={"a": (1, 1), "b": (0, "x")})
    )
    assert "3 problems" in str(error)
    for key in ("budget.epsilon", "tables.visits.columns.a.bounds", "tables.visits.columns.b.bounds"):
        assert f"\n  {key}: " in str(error)


@pytest.mark.parametrize(
    ("url", "placed"),
    [
        ("parquet:a/*.parquet", "parquet:{}/a/*.parquet"),
        ("parquet://a.parquet", "parquet:{}/a.parquet"),
        ("visits.csv", "{}/visits.csv"),
        ("duckdb:../h.db#visits", "duckdb:{}/../h.db#visits"),
        ("parquet:/abs/a.parquet", "parquet:/abs/a.parquet"),
        ("sqlite:///b.db", "sqlite:///{}/b.db"),
        ("postgresql://host/db", "postgresql://host/db"),
    ],
)
def test_relative_places(tmp_path: Path, url: str, placed: str) -> None:
    text = f'[budget]\nepsilon = 1\n[source]\nurl = "{url}"\n[tables.t]\nprivacy_unit = "row"\n'
    expected = placed.format(tmp_path).replace(f"{tmp_path}/..", str(tmp_path.parent))
    assert Policy.from_toml(written(tmp_path, text)).source == expected


def test_the_digest_holds_what_matters_and_nothing_else() -> None:
    def make(**change: Any) -> Policy:
        values: dict[str, Any] = {
            "privacy_unit": "id", "max_rows": 2, "budget": 1, "bounds": {"x": (0, 1)}, "keys": {"k": ["a", "b"]},
        }  # fmt: skip
        return Policy.for_table("t", **{**values, **change})

    same: list[dict[str, Any]] = [
        {"budget": 7},
        {"ledger": "x.db"},
        {"source": "y.csv"},
        {"bounds": {"X": (0.0, "1")}},
    ]
    other: list[dict[str, Any]] = [
        {"privacy_unit": "who"}, {"max_rows": 3}, {"bounds": {"x": (0, 2)}}, {"bounds": {"y": (0, 1)}}, {"bounds": {}},
        {"keys": {"k": ["a"]}}, {"keys": {"k": ["b", "a"]}}, {"keys": {"k": [1, 2]}}, {"neighbours": "replace_one"},
        {"public": ["c"]}, {"keys": {"k": [True]}}, {"keys": {"k": ["true"]}},
    ]  # fmt: skip
    assert {make(**change).digest() for change in same} == {make().digest()}
    assert len({make(**change).digest() for change in [{}, *other]}) == len(other) + 1


def test_a_policy_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Budget(epsilon=1).epsilon = Fraction(2)


@dataclass(frozen=True)
class Column:
    name: str
    type: str


def schema(**columns: str) -> dict[str, dict[str, Column]]:
    private = {name: Column(name, kind) for name, kind in columns.items()}
    return {
        "Visits": private,
        "counties": {"county": Column("county", "TEXT"), "code": Column("code", "INTEGER")},
    }


KINDS = {
    "i": "INTEGER",
    "f": "FLOAT",
    "b": "BOOLEAN",
    "t": "TEXT",
    "d": "DATE",
    "ts": "TIMESTAMP",
    "o": "OTHER",
}


def test_a_policy_that_fits() -> None:
    days, times = (
        (dt.date(2024, 1, 1), dt.date(2025, 1, 1)),
        (dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1)),
    )
    Policy.for_table(
        "visits", privacy_unit="T", max_rows=1, budget=1, public=["counties"],
        bounds={"I": (0, 1), "f": (0, 0.5), "d": days, "ts": times},
        keys={"i": [1], "b": [True], "t": "counties.COUNTY", "d": [days[0]]},
    ).check(schema(**KINDS))  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "key", "words"),
    [
        ({"bounds": {"agee": (0, 1)}}, "tables.visits.columns.agee", ["no column agee", "Did you mean age?"]),
        ({"bounds": {"t": (0, 1)}}, "tables.visits.columns.t.bounds", ["type TEXT has no bounds"]),
        ({"bounds": {"o": (0, 1)}}, "tables.visits.columns.o.bounds", ["type OTHER has no bounds"]),
        ({"bounds": {"d": (0, 1)}}, "tables.visits.columns.d.bounds", ["Give dates, not numbers"]),
        (
            {"bounds": {"ts": (dt.date(2024, 1, 1), dt.date(2025, 1, 1))}},
            "tables.visits.columns.ts.bounds",
            ["Give date-times, such as 2024-01-01T00:00:00, not dates"],
        ),
        ({"keys": {"f": [1]}}, "tables.visits.columns.f.keys", ["type FLOAT has no keys"]),
        ({"keys": {"t": [1]}}, "tables.visits.columns.t.keys", ["Give texts, not whole numbers"]),
        ({"keys": {"i": ["1"]}}, "tables.visits.columns.i.keys", ["Give whole numbers, not texts"]),
        ({"keys": {"i": [True]}}, "tables.visits.columns.i.keys", ["Give whole numbers, not booleans"]),
        ({"keys": {"t": "counties.country"}}, "tables.visits.columns.t.keys", ["Did you mean county?"]),
        ({"keys": {"t": "counties.code"}}, "tables.visits.columns.t.keys", ["TEXT", "INTEGER"]),
        (
            {"privacy_unit": "ido", "max_rows": 1},
            "tables.visits.privacy_unit",
            ["no column ido", "Choose from"],
        ),
        ({"privacy_unit": "o", "max_rows": 1}, "tables.visits.privacy_unit", ["names nobody"]),
        (
            {"public": ["counties", "countries"]},
            "tables.countries",
            ["no table of this name", "Did you mean counties?"],
        ),
    ],
)
def test_a_policy_that_does_not_fit(columns: dict[str, Any], key: str, words: list[str]) -> None:
    values: dict[str, Any] = {"privacy_unit": "row", "budget": 1, "public": ["counties"], **columns}
    error = refused(lambda: Policy.for_table("visits", **values).check(schema(age="INTEGER", **KINDS)))
    assert error.key == key
    for word in words:
        assert word in str(error)


TWO = pa.table({"x": [1, 2]})


def test_the_accountant_of_a_budget(tmp_path: Path) -> None:
    budget = Budget(epsilon=1, delta=1e-6, accountant="zcdp")
    policy = Policy.for_table("t", privacy_unit="row", budget=budget)
    assert 'accountant = "zcdp"' in policy.to_toml()
    (tmp_path / "p.toml").write_text(policy.to_toml())
    assert Policy.from_toml(tmp_path / "p.toml") == policy
    for bad in (
        {"accountant": "zcdp"},
        {"accountant": "rdp", "delta": 1e-6},
        {"accountant": 3, "delta": 1e-6},
    ):
        with pytest.raises(PolicyError):
            Budget(epsilon=1, **bad)

    def asked(budget: Budget) -> int:
        with shared.protect(TWO, privacy_unit="row", budget=budget) as session:
            for at in range(200):
                sql = f"SELECT COUNT(*) AS n FROM data WHERE {at} = {at}"
                seen = session.preview(sql, epsilon=0.1)
                try:
                    session.sql(sql, epsilon=0.1)
                except BudgetExceeded:
                    assert seen.left == 0
                    assert session.budget.spent <= 1
                    return at
                assert seen.left == session.budget.left
        return 200

    assert asked(Budget(epsilon=1, delta=0.05)) == 10
    found = [asked(Budget(epsilon=1, delta=0.05, accountant=name)) for name in ("zcdp", "pld")]
    assert 10 < found[0] < found[1] < 50


def test_a_preview_says_what_the_budget_would_shrink_by() -> None:
    said = {}
    for name in ("pure", "zcdp"):
        budget = Budget(epsilon=1, delta=0.05, accountant=name)
        with shared.protect(TWO, privacy_unit="row", budget=budget) as session:
            for at in range(9):
                session.sql(f"SELECT COUNT(*) AS n FROM data WHERE {at} = {at}", epsilon=0.1)
            asked = [session.preview("SELECT COUNT(*) AS n FROM data", epsilon=e) for e in (0.1, 0.5)]
            said[name] = [str(one).partition(" · ")[0] for one in asked]
            assert asked[0].available == session.budget.left
            # half of delta is what questions may still spend of it, where the accountant needs the rest
            assert session.budget.delta_left == Fraction("0.05") / (2 if name == "zcdp" else 1)
    assert said["pure"] == ["epsilon 0.1, of 0.1 left", "epsilon 0.5, of 0.1 left: too much"]
    first, second = said["zcdp"]
    assert first.startswith("epsilon 0.1, of 0.548956 left")
    assert ", which it shrinks by 0.03" in first
    assert second.endswith(": too much")


def test_the_digest_stays_what_it_was() -> None:
    """Another digest would charge every question again that a ledger holds already."""
    keys = {"c": ["Kent", "é", '"']}
    policy = Policy.for_table(
        "visits", privacy_unit="pa tient", max_rows=3, bounds={"age": (0, 120.5)}, keys=keys, budget=3
    )
    assert policy.digest() == "20886b8590f32c6fe6518f480133d80b67d14b771090b9d9aeb69e11dde3dc7f"


def test_a_policy_with_odd_names_is_written_without_odd_characters() -> None:
    policy = Policy.for_table(
        "a\x1bb", privacy_unit="\x9b\u202e", max_rows=3, keys={"\x7f": ["\u200b", "a\nb"]}, budget=3
    )
    text = policy.to_toml()
    assert text.replace("\n", "").isprintable()
    assert tomllib.loads(text)["tables"]["a\x1bb"]["privacy_unit"] == "\x9b\u202e"
    assert tomllib.loads(text)["tables"]["a\x1bb"]["columns"]["\x7f"]["keys"] == ["\u200b", "a\nb"]
