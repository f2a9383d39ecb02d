"""What is shown is a function of its class: never of which of several equal values was met first.

Each pair of the corpus is put into neighbouring tables, with one member swapped for the other at the first or the last
place, or a row less; the noise is zero, so that all that differs is the spelling. There is no chance of a false alarm.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside
from tests.depth import DEEP, few
from tests.sql.equal_pairs import PAIRS, Pair, Rows, groups, lacking, load, load_all
from tests.sql.harness import no_noise

import discreet as dp
from discreet.engines.duckdb import views
from discreet.engines.postgres import tables as postgres_tables
from discreet.engines.schema import Type
from discreet.engines.spark import engine as spark
from discreet.errors import QueryRefused
from discreet.quoting import quote
from discreet.sql.algebra import catalog, keys
from discreet.sql.dialects.duckdb import DUCKDB, MANY
from discreet.sql.expressions.canonical import distinct
from discreet.sql.lower import compile as compiling
from discreet.sql.lower import relation_sql
from discreet.sql.lower.run import exact_integers

UNITS = 6
ROW: dict[str, Any] = {"privacy_unit": "row"}
SORTED: dict[str, Any] = {"privacy_unit": "id", "max_rows": MANY + 1}
FEW: dict[str, Any] = {"privacy_unit": "id", "max_rows": MANY}
MODES = {"row": ROW, f"max_rows {MANY}": FEW, f"max_rows {MANY + 1}": SORTED}
PLAIN = "SELECT x AS k, COUNT(*) AS n FROM t GROUP BY 1"
SIGN = "SELECT CASE WHEN id = {at} THEN -x ELSE x END AS k, COUNT(*) AS n FROM t GROUP BY 1"
"""Shows the sign of one chosen person's zero, if a key shows signs and that row is met first."""
WITHIN = [
    "SELECT id, MIN(x) AS x FROM t GROUP BY id",
    "SELECT id, MAX(x) AS x FROM t GROUP BY id",
    "SELECT DISTINCT id, x FROM t",
    "SELECT id, x, COUNT(*) AS c FROM t GROUP BY id, x",
    "SELECT id, first_value(x) OVER (PARTITION BY id ORDER BY x) AS x FROM t",
    "SELECT id, x FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY x) = 1",
    "SELECT id, max(x) OVER (PARTITION BY id) AS x FROM t",
]
"""Every way in which a value of one row stands for several rows of a unit."""
SIGNED = [
    "SELECT id, MIN(-x) AS x FROM t GROUP BY id",
    "SELECT id, -x AS x, COUNT(*) AS c FROM t GROUP BY id, -x",
]
OVER = {
    True: "SELECT CASE WHEN atan2(x, -1) > 0 THEN 'half a turn' ELSE 'other' END AS k, COUNT(*) AS n FROM ({u}) AS u "
    "GROUP BY 1",
    False: "SELECT x AS k, COUNT(*) AS n FROM ({u}) AS u GROUP BY 1",
}
"""What tells the members of a pair apart, if anything does: the angle has the sign of zero."""


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero noise: what is left is the data."""
    monkeypatch.setattr("discreet.mechanisms.numeric.threshold.add_laplace", no_noise)
    monkeypatch.setattr("discreet.mechanisms.numeric.laplace_vector.add_laplace", no_noise)


def shown(
    pair: Pair,
    tables: Sequence[Rows],
    questions: Sequence[str],
    policy: dict[str, Any],
) -> list[list[list[str]]]:
    """The groups of each answer about each table: each bit of their keys, and their counts."""
    named = {f"t{at}": rows for at, rows in enumerate(tables)}
    declared: dict[str, Any] = {
        "budget": {"epsilon": 10**6, "delta": Fraction(99, 100)},
        "tables": dict.fromkeys(named, policy),
    }
    with dp.protect(load_all(pair, named), policy=dp.Policy(**declared), ledger=":memory:") as session:
        return [
            [_groups(session, re.sub(r"\bFROM t\b", f"FROM {name}", question)) for question in questions]
            for name in named
        ]


def _groups(session: dp.Session, question: str) -> list[str]:
    # The budget is enough for all questions about all tables.
    release = session.sql(question, epsilon=1000, delta=Fraction(1, 200))
    found, counts = (release.values.column(name).to_pylist() for name in ("k", "n"))
    return sorted(f"{_bits(key)}: {n}" for key, n in zip(found, counts, strict=True))


def _bits(value: object) -> str:
    return struct.pack(">d", value).hex() if isinstance(value, float) else repr(value)


def swapped() -> Iterator[list[tuple[int, bool]]]:
    """Neighbouring tables: none, one or all but one have the other value, wherever it lies; or one row is not there."""
    for others in ((), (0,), (UNITS - 1,)):
        yield [(at, at in others) for at in range(UNITS)]
    yield [(at, False) for at in range(1, UNITS)]
    yield [(at, at > 0) for at in range(UNITS)]


def both() -> Iterator[list[tuple[int, bool]]]:
    """Every unit has both values, which lie in one order, in the other, or apart."""
    for first in (False, True):
        yield [(at, first != second) for at in range(UNITS) for second in (False, True)]
    yield [(at, second) for second in (True, False) for at in range(UNITS)]


def problems(pair: Pair, policy: dict[str, Any]) -> list[str]:
    """What a pair shows to be broken: the questions and places at which its spelling is seen."""
    chosen_ones = range(UNITS) if DEEP else (0, UNITS - 1)
    questions = [PLAIN, *(SIGN.format(at=at) for at in chosen_ones if pair.number)]
    # Texts are told apart by their bytes: a class of one row is not shown.
    tables = list(swapped())[: 5 if _one_class(pair) else 4]
    answers = shown(pair, tables, questions, policy)
    keys = [[[group.partition(":")[0] for group in groups] for groups in answer] for answer in answers]
    out = _differences(questions, keys)
    chosen = {
        str(found) for answer in keys for found in answer[1:]
    }  # whoever is chosen, the class is the same
    return out + ([f"{SIGN}: {sorted(chosen)}"] if len(chosen) > 1 else [])


def _differences(questions: Sequence[str], answers: Sequence[Sequence[object]]) -> list[str]:
    first, *rest = answers
    return [
        f"{question}: {other[at]}, not {first[at]}"
        for other in rest
        for at, question in enumerate(questions)
        if other[at] != first[at]
    ]


def within(pair: Pair, policy: dict[str, Any]) -> list[str]:
    """The same for values inside of a unit, whose physical order must not be seen."""
    relations = [*WITHIN, *(SIGNED if pair.number else [])]
    if not DEEP:  # each way is asked of a quarter of the pairs; a deep run: of all
        relations = relations[PAIRS.index(pair) % 4 :: 4]
    questions = [OVER[pair.number].format(u=units) for units in relations]
    return _differences(questions, shown(pair, list(both()), questions, policy))


def _one_class(pair: Pair) -> bool:
    """Whether the two are one key here; texts are compared by their bytes, but for the blanks behind a bpchar."""
    return pair.number or pair.kind == "bpchar"


def given(engine: str, key: bool | None = None) -> list[Pair]:
    """The pairs of an engine."""
    return [pair for pair in PAIRS if pair.engine == engine and key in (None, pair.key)]


KEYED = given("duckdb", True) + given("postgres", True)


def by_unit(pair: Pair) -> list[str]:
    """The modes by unit that a number is asked in: the two in turn from pair to pair, and both in a deep run."""
    both = list(MODES)[1:]
    return both if DEEP else [both[KEYED.index(pair) % 2]]


def has_turn(pair: Pair, turn: int) -> bool:
    """Whether a test asks of a pair: each asks of all numbers; of each second text one asks, of those between them the
    other, as every text is compared by its bytes; a deep run: both of all.
    """
    return DEEP or pair.number or [one for one in KEYED if not one.number].index(pair) % 2 == turn


def see_server(pair: Pair) -> None:
    if lacking(pair):
        pytest.skip(f"this server has no {pair.kind}")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_each_pair_is_equal_and_not_alike(pair: Pair) -> None:
    see_server(pair)
    number, texts = groups(pair)
    assert number == 1
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("pair", "mode"),
    # By unit a third of the numbers, the two modes in turn; a deep run: all in both.
    [
        (pair, mode)
        for at, pair in enumerate(KEYED)
        if has_turn(pair, 0)
        for mode in ["row", *(by_unit(pair) if pair.number and (DEEP or at % 3 == 0) else [])]
    ],
    ids=str,
)
def test_found_keys_do_not_tell_the_member_of_a_pair(pair: Pair, mode: str) -> None:
    see_server(pair)
    assert problems(pair, MODES[mode]) == []


@pytest.mark.parametrize(
    ("pair", "mode"),
    [
        (pair, mode)
        for pair in KEYED
        if has_turn(pair, 1)
        for mode in (by_unit(pair) if pair.number else list(MODES)[1:2])
    ],
    ids=str,
)
def test_nothing_of_a_unit_tells_which_member_was_met_first(pair: Pair, mode: str) -> None:
    see_server(pair)
    assert within(pair, MODES[mode]) == []


def signs() -> set[str]:
    """Every bit of the columns that the relations of `WITHIN` have over zeros of both signs."""
    out: set[str] = set()
    pair = given("duckdb")[0]
    policy = {**FEW, "bounds": {"x": (-1, 1)}}
    for more in (FEW, policy):
        budget = dp.Budget(epsilon=9, delta=0.5)
        with dp.protect(**load(pair, [*both()][2]), **more, budget=budget, ledger=":memory:") as session:
            for units in [*WITHIN, *SIGNED, "SELECT id, x FROM t", "SELECT id, -x AS x FROM t"]:
                question = f"SELECT COUNT(x) AS n FROM ({units}) AS u"
                relation = inside.plan_of(session, question, Fraction(1)).releases[0].parts[0].rows.relation
                sql = relation_sql.to_sql(relation, {"x"}, DUCKDB)
                found = inside.engine_of(session)._connection.execute(f"SELECT x FROM ({sql}) AS r")  # type: ignore[attr-defined]
                out |= {_bits(value) for value in found.fetchnumpy()["x"].tolist()}
    return out


def test_no_column_of_a_relation_has_a_sign_on_its_zero() -> None:
    assert signs() == {_bits(0.0)}


@pytest.mark.parametrize(
    ("column", "one", "other"),
    [
        ("x", "0.0::DOUBLE", "'-0.0'::DOUBLE"),
        ("x", "0.0::REAL", "'-0.0'::REAL"),
        (
            "s",
            "'2020-01-01 00:00:00.000000001'::TIMESTAMP_NS",
            "'2020-01-01 00:00:00.000000002'::TIMESTAMP_NS",
        ),
        ("s", "TIMESTAMPTZ '2020-01-01 00:00+00'", "TIMESTAMPTZ '2020-01-01 01:00+01'"),
        ("i * 1.0", "9007199254740992", "9007199254740993"),
        ("s", "DATE '2020-01-01'", "DATE '2020-01-01'"),
    ],
)
def test_public_keys_that_are_equal_are_not_unique(column: str, one: str, other: str) -> None:
    table = pa.table({"x": [0.0], "i": [2**53], "s": [dt.datetime(2020, 1, 1)]})
    question = (
        f"SELECT COUNT(*) AS n FROM data JOIN (VALUES ({one}), ({other})) AS p(k) ON data.{column} = p.k"
    )
    with dp.protect(table, privacy_unit="row", budget=10**4, ledger=":memory:") as session:
        (release,) = inside.plan_of(session, question, Fraction(1000)).releases
        counted = int(exact_integers(release, inside.engine_of(session), 7).sum())
        assert counted == release.sensitivity(release.measures[0]) == 2  # one row, which finds both


def test_public_keys_that_the_type_of_the_key_makes_equal_are_one_group() -> None:
    near = [2**53, 2**53 + 1]
    table = pa.table({"i": near * 4})
    options = {"privacy_unit": "row", "keys": {"i": near}, "budget": 10**4, "ledger": ":memory:"}
    with dp.protect(table, **options) as session:  # type: ignore[arg-type]
        release = session.sql(
            "SELECT coalesce(i, 0.5) AS k, COUNT(*) AS n FROM data GROUP BY 1", epsilon=1000
        )
        assert release.to_dict()["k"] == [2.0**53, 0.5]
        assert release.to_dict()["n"] == [8, 0]  # each row once


def test_moments_of_two_zones_are_one_public_key() -> None:
    utc = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    other = utc.astimezone(dt.timezone(dt.timedelta(hours=1)))
    plain = dt.datetime(2020, 1, 1)
    assert distinct([utc, other, plain, plain.date()], Type.TIMESTAMP) == (plain,)
    assert distinct([plain, plain.date()], Type.DATE) == (plain.date(),)


def test_the_largest_of_too_many_groups_are_chosen_by_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MAX_CELLS", 3)
    rows = [(person, town) for town in range(6) for person in range(4)]
    answers = []
    for order in (1, -1):
        table = pa.table({"who": [a for a, _ in rows][::order], "town": [f"t{b}" for _, b in rows][::order]})
        budget = dp.Budget(epsilon=10**4, delta=0.5)
        with dp.protect(table, privacy_unit="row", budget=budget, ledger=":memory:") as session:
            release = session.sql(
                "SELECT town, COUNT(*) AS n FROM data GROUP BY town", epsilon=1000, delta=0.1
            )
            answers.append(release.to_dict()["town"])
    assert answers == [["t0", "t1", "t2"]] * 2


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.key], ids=str)
def test_what_has_no_single_spelling_is_refused_before_the_charge(pair: Pair) -> None:
    rows = [(at, at > 3) for at in range(UNITS)]
    budget = dp.Budget(epsilon=9, delta=0.5)
    with dp.protect(**load(pair, rows), **ROW, budget=budget, ledger=":memory:") as session:
        with pytest.raises(QueryRefused):
            session.sql(PLAIN, epsilon=1, delta=0.25)
        assert session.budget.spent == 0


def test_the_advice_helps_where_a_type_has_no_single_spelling() -> None:
    pair = next(pair for pair in given("duckdb", False) if pair.kind == "INTERVAL")
    source = load(pair, [(at, at > 4) for at in range(UNITS)])
    source["source"].execute("CREATE VIEW v AS SELECT id, CAST(x AS VARCHAR) AS x FROM t")
    budget = dp.Budget(epsilon=9999, delta=0.5)
    options = {**ROW, "budget": budget, "ledger": ":memory:"}
    with dp.protect(source["source"], table="v", **options) as session:
        release = session.sql(PLAIN.replace("FROM t", "FROM v"), epsilon=1000, delta=0.25)
        assert release.to_dict()["k"] == ["1 month"]


# Planted faults -------------------------------------------------------------------------------------------------


def _as_met(expression: Any) -> Any:
    """The fault: values go on as they were met."""
    return expression


@pytest.mark.parametrize(  # a deep run: where DuckDB sorts the rows of a unit, too
    ("engine", "mode"),
    few([("duckdb", "row"), ("duckdb", f"max_rows {MANY + 1}"), ("postgres", "row")], 2),
)
def test_keys_that_are_not_normalised_are_caught(
    engine: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = given(engine)[0]
    monkeypatch.setattr(compiling, "canonical_key", _as_met)
    if mode == "row":  # a column that names the unit has its keys in the columns of a relation
        assert any(found.startswith(SIGN) for found in problems(pair, MODES[mode]))
    monkeypatch.setattr(relation_sql, "canonical", _as_met)
    found = problems(pair, MODES[mode])
    assert any(one.startswith(SIGN) for one in found)
    assert any(one.startswith(PLAIN) for one in found)


def test_columns_that_are_not_normalised_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_sql, "canonical", _as_met)
    assert _bits(-0.0) in signs()


def test_a_view_that_keeps_a_collation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_read", lambda kind: "{0}")
    collated = [pair for pair in given("duckdb", True) if "COLLATE" in pair.kind]
    for pair in few(collated, 2):  # a deep run: each collation
        assert problems(pair, ROW), pair


def test_a_view_of_postgresql_that_keeps_the_type_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    column: Callable[..., Any] = postgres_tables._column

    def kept(name: str, kind: str, *rest: Any) -> Any:
        return quote(name), column(name, kind, *rest)[1]

    monkeypatch.setattr(postgres_tables, "_column", kept)
    monkeypatch.setitem(catalog._SCAN, Type.TEXT, "{0}")  # which casts to text once more
    pair = next(pair for pair in given("postgres") if pair.kind == "pairs.citext")
    assert problems(pair, ROW)


# Spark, whose session takes a second for each answer ------------------------------------------------------------


def _spark(pair: Pair, question: str, policy: dict[str, Any], tables: list[Any]) -> list[str]:
    answers = [one for (one,) in shown(pair, tables, [question], policy)]
    keys = [[group.partition(":")[0] for group in answer] for answer in answers]
    return _differences([question], [[one] for one in (answers if policy is FEW else keys)])


@pytest.mark.parametrize("pair", few(given("spark", True), 3), ids=str)  # a deep run: each type
def test_on_spark(pair: Pair) -> None:
    tables = [[(at, at == 0) for at in range(UNITS)], [(at, False) for at in range(UNITS)]]
    assert _spark(pair, PLAIN, ROW, tables) == []
    if pair.number:
        assert _spark(pair, SIGN.format(at=0), ROW, [tables[1], tables[1][1:]]) == []
        assert _spark(pair, OVER[True].format(u=SIGNED[0]), FEW, [*both()][:2]) == []


def test_a_view_of_spark_that_keeps_a_collation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    column: Callable[..., Any] = spark._column
    monkeypatch.setattr(spark, "_column", lambda name, stored, kind: (stored, column(name, stored, kind)[1]))
    monkeypatch.setattr(
        spark.SparkEngine, "probe", lambda *_: True
    )  # it would refuse to compare collated keys
    monkeypatch.setitem(catalog._SCAN, Type.TEXT, "{0}")  # which casts to text once more
    pair = next(pair for pair in given("spark") if "UTF8_LCASE" in pair.kind)
    tables = [[(at, at == 0) for at in range(UNITS)], [(at, False) for at in range(UNITS)]]
    assert _spark(pair, PLAIN, ROW, tables)
