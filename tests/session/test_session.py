"""A session from end to end: what it opens, in which order things happen, what is free and what is not.

The tests of order and of kills have no chance of a false alarm. Power of the kills: of the planted fault, 19 of 20
fell between answer and charge on a machine with seven times as much to do as cores, so that 20 all miss with 0.05^20.
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests import inside, shared
from tests.depth import deep, examples
from tests.test_readme import ROOT
from tests.warm import programs

import discreet as dp
from discreet.errors import (
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    LedgerError,
    PolicyError,
    PostProcessingError,
    QueryRefused,
    SourceError,
)
from discreet.ledger import Ledger, open_ledger
from discreet.release.draw import Draw
from discreet.session import DATA_SET
from discreet.sql.finish.serialisation import unpack
from discreet.sql.lower.run import exact_integers
from discreet.sql.lower.uses import uses_of

ROWS = pa.table({
    "patient": [n % 20 for n in range(60)], "age": [n % 60 + 20 for n in range(60)],
    "cost": [n / 2 for n in range(60)], "ward": ["abc"[n % 3] for n in range(60)],
})  # fmt: skip
POLICY: dict[str, Any] = {
    "privacy_unit": "patient", "max_rows": 3, "bounds": {"age": (0, 120), "cost": (0, 30)},
    "keys": {"ward": ["a", "b", "c"]}, "budget": 1000,
}  # fmt: skip
TABLES = {"visits": ROWS}
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(ROWS, tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


def charges(session: dp.Session) -> int:
    return sum(entry.kind == "charge" for entry in session.ledger.entries())


# Sources ---------------------------------------------------------------------------------------------------


def _database(folder: Path) -> Path:
    with duckdb.connect(str(folder / "hospital.duckdb")) as connection:
        connection.register("rows", ROWS)
        connection.execute("CREATE TABLE visits AS FROM rows")
    return folder / "hospital.duckdb"


def _csv(folder: Path) -> Path:
    pc.write_csv(ROWS, folder / "visits.csv")
    return folder / "visits.csv"


def _connection(folder: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(_database(folder)))


SOURCES: dict[str, Callable[[Path], object]] = {
    "parquet": lambda folder: folder / "visits.parquet",
    "parquet as text": lambda folder: str(folder / "visits.parquet"),
    "parquet url": lambda folder: f"parquet:{folder / 'visits.parquet'}", "folder": lambda folder: folder,
    "csv": _csv, "database": _database, "table of a database": lambda folder: f"duckdb:{_database(folder)}#visits",
    "connection": _connection, "pandas": lambda _: ROWS.to_pandas(), "polars": lambda _: pl.from_arrow(ROWS),
    "arrow": lambda _: ROWS, "mapping": lambda folder: {"visits": folder / "visits.parquet"},
    "relation": lambda folder: duckdb.connect().read_parquet(str(folder / "visits.parquet")),
}  # fmt: skip


# tests/session/sources/test_ledger_place.py opens a file by each way to write it.
@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=deep if kind in ("parquet as text", "parquet url", "mapping") else ()) for kind in SOURCES
])  # fmt: skip
def test_it_opens(file: Path, kind: str) -> None:
    source = SOURCES[kind](file.parent)
    with dp.protect(source, table="visits", ledger=file.parent / "l.db", **POLICY) as session:
        answer = session.sql(BY_WARD, epsilon=200)
        assert answer.values.column("ward").to_pylist() == ["a", "b", "c"]
        assert answer.to_dict()["n"] == [20, 20, 20]
        true = (
            ROWS.group_by("ward")
            .aggregate([("cost", "mean")])
            .sort_by("ward")
            .column("cost_mean")
            .to_pylist()
        )
        assert answer.to_dict()["cost"] == pytest.approx(true, abs=0.5)


def test_a_policy_file(file: Path) -> None:
    policy = file.with_name("policy.toml")
    policy.write_text(
        'budget = { epsilon = 1 }\nsource = { url = "parquet:visits.parquet" }\n[tables.visits]\n'
        'privacy_unit = "patient"\nmax_rows = 3\n[tables.visits.columns]\nage = { bounds = [0, 120] }\n'
    )
    with dp.protect(policy=policy) as session:
        assert session.sql(COUNT, epsilon="1/3").epsilon == Fraction(1, 3)
        assert session.budget.left == Fraction(2, 3)
    assert policy.with_name("policy.ledger.db").exists()
    with pytest.raises(PolicyError, match="beside a policy"):
        dp.protect(policy=policy, budget=2)


@pytest.mark.parametrize("policy", [{"budget": {"epsilon": 1}}, 3])
def test_a_policy_is_a_path_or_a_policy(policy: Any) -> None:
    with pytest.raises(
        PolicyError, match=r"neither the path .*discreet\.Policy\(\*\*declared\)\. Nothing was charged\.$"
    ):
        dp.protect(policy=policy)


def test_an_error_of_opening_names_the_charge(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"Check the path\. Nothing was charged\.$"):
        dp.protect(tmp_path / "gone.csv", privacy_unit="row", budget=1)


@pytest.mark.parametrize("left_out", ["privacy_unit", "budget", "max_rows"])
def test_what_must_be_said(left_out: str) -> None:
    with pytest.raises(PolicyError, match=left_out):
        dp.protect(ROWS, **{name: value for name, value in POLICY.items() if name != left_out})


def real(name: str) -> Path:
    for folder in Path(__file__).resolve().parents:
        if (folder / "shared/data" / name).exists():
            return folder / "shared/data" / name
    pytest.skip(f"{name} is not here")


@pytest.mark.parametrize("name", ["bounds", "keys", "types"])
def test_what_is_by_column_says_of_which(name: str) -> None:
    wrong: Any = {name: ["A"]}
    with pytest.raises(PolicyError, match=f'{name} does not say of which column. Write {name}={{"column"'):
        dp.protect(pa.table({"who": [1]}), privacy_unit="row", budget=1, **wrong)


def test_an_error_that_is_allowed_says_of_which_column() -> None:
    with dp.protect(pa.table({"who": [1]}), privacy_unit="row", budget=1) as session:
        wrong: Any = 100
        with pytest.raises(InvalidParameter, match="within does not say of which column"):
            session.preview("SELECT COUNT(*) AS n FROM data", within=wrong)


def test_the_census_extract(tmp_path: Path) -> None:
    """Old-Mac line ends, and numbers written as 1.00E+05."""
    with dp.protect(
        real("PUMS5extract10000.csv"), table="people", privacy_unit="row", budget=10,
        bounds={"income": (0, 200_000), "educ": (1, 16)}, types={"educ": "integer"}, ledger=tmp_path / "l.db",
    ) as session:  # fmt: skip
        answer = session.sql(
            "SELECT educ, COUNT(*) AS n, AVG(income) AS income FROM people GROUP BY educ", epsilon=5
        )
        income = answer.to_dict()["income"]
        assert answer.to_dict()["educ"] == list(range(1, 17))
        assert sum(answer.to_dict()["n"]) == pytest.approx(10_000, abs=100)
        assert income[12] > 2 * income[5]


def test_the_restaurant_visits(tmp_path: Path) -> None:
    with dp.protect(
        real("restaurants_week_data.csv"), table="visits", privacy_unit="VisitorId", max_rows=3,
        bounds={"Money spent (euros)": (0, 50)}, keys={"Day": range(1, 8)}, budget=10, ledger=tmp_path / "l.db",
    ) as session:  # fmt: skip
        answer = session.sql(
            'SELECT "Day" AS day, AVG("Money spent (euros)") AS spent FROM visits GROUP BY 1', epsilon=5
        )
        assert answer.to_dict()["day"] == list(range(1, 8))
        assert all(10 < spent < 40 for spent in answer.to_dict()["spent"])


# Preview ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv", "database"])
def test_a_preview_opens_no_data(file: Path, kind: str) -> None:
    source = SOURCES[kind](file.parent)
    with dp.protect(source, table="visits", ledger=file.parent / "l.db", **POLICY) as session:
        assert isinstance(source, Path)
        source.unlink()
        shown = session.preview(BY_WARD, epsilon=0.5)
        assert (shown.epsilon, shown.groups, list(shown.errors)) == (Fraction(1, 2), 3, ["n", "cost"])
        needed = session.preview(BY_WARD, within={"n": 50})
        assert session.preview(BY_WARD, epsilon=needed.epsilon).errors["n"] <= 50
        assert session.preview(BY_WARD, epsilon=needed.epsilon * Fraction(9, 10)).errors["n"] > 50
        assert charges(session) == 0
        if kind == "parquet":
            with pytest.raises(SourceError):  # so the file is gone indeed, and an answer would have needed it
                session.sql(BY_WARD, epsilon=0.5)
            assert charges(session) == 0


def test_a_preview_asks_neither_engine_nor_ledger_for_anything_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with shared.protect(TABLES, **POLICY) as session:
        monkeypatch.setattr(inside.engine_of(session), "_run", lambda *_: pytest.fail("the engine was asked"))
        monkeypatch.setattr(session.ledger, "charge", lambda *_: pytest.fail("it was charged"))
        assert session.preview(COUNT, epsilon=1).errors["n"] > 0
        faults: list[dict[str, Any]] = [
            {}, {"epsilon": 1, "within": {"n": 1}}, {"within": {}}, {"within": {"x": 1}}, {"within": {"n": -1}},
        ]  # fmt: skip
        for wrong in faults:
            with pytest.raises(InvalidParameter):
                session.preview(COUNT, **wrong)


def test_the_errors_of_a_preview_are_those_of_the_answer() -> None:
    with shared.protect(TABLES, **POLICY) as session:
        sql = "SELECT ward, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward"
        errors = session.preview(sql, epsilon=1).errors
        answer = session.sql(sql, epsilon=1).to_arrow()
        for name in ("n", "s"):
            low, high = (answer.column(f"{name}_{end}").to_pylist()[0] for end in ("low", "high"))
            assert (high - low) / 2 == pytest.approx(errors[name])


# Replay ----------------------------------------------------------------------------------------------------


def test_the_same_question_is_free_and_has_the_same_answer(file: Path) -> None:
    ledger = file.with_name("l.db")
    with dp.protect(file, ledger=ledger, **POLICY) as session:
        first = session.sql(BY_WARD, epsilon=1)
        again = session.sql(
            "select  ward, count(*) as n, avg(cost) AS cost -- words\nFROM visits group by ward;", epsilon=1
        )
        assert not first.replayed
        assert again.replayed
        assert again.to_arrow() == first.to_arrow()
        assert (again.made, again.notes, again.epsilon) == (first.made, first.notes, first.epsilon)
        assert charges(session) == 1
        assert not session.sql(BY_WARD, epsilon="1.01").replayed
    with dp.protect(file, ledger=ledger, **POLICY) as session:
        assert session.sql(BY_WARD, epsilon=1).to_arrow() == first.to_arrow()
    with dp.protect(file, ledger=ledger, **{**POLICY, "budget": 2000}) as session:
        assert session.sql(BY_WARD, epsilon=1).replayed
    with dp.protect(file, ledger=ledger, **{**POLICY, "max_rows": 2}) as session:
        assert not session.sql(BY_WARD, epsilon=1).replayed


def test_it_is_replayed_in_another_process(file: Path) -> None:
    ledger = file.with_name("l.db")
    with dp.protect(file, ledger=ledger, **POLICY) as session:
        first = session.sql(BY_WARD, epsilon=1)
    code = (
        "import discreet as dp, json, sys; from pathlib import Path\n"
        f"s = dp.protect(Path({str(file)!r}), ledger={str(ledger)!r}, **{POLICY!r})\n"
        f"r = s.sql({BY_WARD!r}, epsilon=1); print(json.dumps([r.replayed, r.to_dict()]))"
    )
    done = subprocess.run([programs() / "python", "-"], input=code, capture_output=True, text=True, check=True,
                          timeout=60)  # fmt: skip
    assert json.loads(done.stdout) == [True, json.loads(json.dumps(first.to_dict()))]


def test_another_confidence_is_free(file: Path) -> None:
    sql = "SELECT ward, COUNT(*) AS n, STDDEV(cost) AS d, COUNT(*) * 2 AS m FROM visits GROUP BY ward ORDER BY n"
    with dp.protect(file, **POLICY) as session:
        wide, narrow = session.sql(sql, epsilon=1), session.sql(sql, epsilon=1, confidence=0.5)
        assert narrow.replayed
        assert charges(session) == 1
        assert narrow.values == wide.values
        assert (narrow.confidence, wide.confidence) == (0.5, 0.95)
        for name in ("n", "m"):
            for at in range(3):
                assert (
                    wide.low[name][at].as_py()
                    < narrow.low[name][at].as_py()
                    <= narrow.values.column(name)[at].as_py()
                )


def test_large_answers_keep_their_intervals_beside_their_values() -> None:
    """DuckDB gives the rows of large results in any order; this many come in several pieces."""
    size = 150_000  # more than a row group of DuckDB
    with dp.protect(
        pa.table({"k": np.arange(size)}), privacy_unit="row", bounds={"k": (0, size - 1)}, budget=9
    ) as session:
        sql = "SELECT k, COUNT(*) AS n FROM data GROUP BY k"
        first = session.sql(sql, epsilon=1).values
        again = session.sql(sql, epsilon=1, confidence=0.5)
        values = again.values.column("n").to_numpy()
        assert (first.column("k").to_numpy() == np.arange(size)).all()
        assert again.values == first
        assert (again.low["n"].to_numpy() < values).all()
        assert (values < again.high["n"].to_numpy()).all()


def test_changed_data_is_charged_again(file: Path) -> None:
    ledger = file.with_name("l.db")
    with dp.protect(file, ledger=ledger, **POLICY) as session:
        session.sql(COUNT, epsilon=1)
    pq.write_table(ROWS.slice(1), file)
    os.utime(file, ns=(1, 1))
    with dp.protect(file, ledger=ledger, **POLICY) as session:
        assert not session.sql(COUNT, epsilon=1).replayed
        assert session.budget.spent == 2


def test_another_public_table_is_another_question(file: Path) -> None:
    ledger, sql = file.with_name("l.db"), "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    policy = {
        **POLICY,
        "keys": {"ward": "wards.ward"},
        "public": ["wards"],
        "table": "visits",
        "ledger": ledger,
    }
    for wards, replayed in ((["a", "b"], False), (["a", "b"], True), (["a", "c", "b"], False)):
        with dp.protect({"visits": file, "wards": pa.table({"ward": wards})}, **policy) as session:
            answer = session.sql(sql, epsilon=1)
            assert answer.replayed == replayed
            assert answer.to_dict()["ward"] == wards


# Order of events -------------------------------------------------------------------------------------------


def watched(session: dp.Session, patch: pytest.MonkeyPatch) -> list[str]:
    """Note the order of charge, reading, settlement."""
    events: list[str] = []

    def note(where: object, name: str) -> None:
        true = getattr(where, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            events.append(name)
            return true(*args, **kwargs)

        patch.setattr(where, name, noted)

    note(session.ledger, "charge")
    note(inside.engine_of(session), "integers")
    note(session.ledger, "settle")
    return events


def test_charge_then_read_then_settle_then_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with shared.protect(TABLES, **POLICY) as session:
        events = watched(session, monkeypatch)
        session.sql(COUNT, epsilon=1)
        session.sql(COUNT, epsilon=1)
        assert events == ["charge", "integers", "settle"]
        events.clear()
        draws = (Draw(uses_of(inside.plan_of(session, COUNT, Fraction(2)).releases)) for _ in range(9))
        monkeypatch.setattr(
            inside.queries_of(session), "rehearse", lambda plan: inside.noisy_of(session, plan, next(draws))
        )  # the planted fault
        session.sql(COUNT, epsilon=2)
        assert events[0] == "integers"


@pytest.mark.parametrize("failure", [EngineError("It failed."), KeyboardInterrupt(), MemoryError()])
def test_a_failing_engine_keeps_the_charge_and_gives_no_answer(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    with shared.protect(TABLES, **POLICY) as session:

        def fail(*_: object) -> pa.Table:
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(inside.engine_of(session), "integers", fail)
            with pytest.raises(type(failure)):
                session.sql(COUNT, epsilon=1)
        assert session.budget.spent == 1
        assert [entry.kind for entry in session.ledger.entries()] == ["charge"]
        assert not session.sql(COUNT, epsilon=1).replayed
        assert session.budget.spent == 2


def test_an_engine_that_is_closed_is_found_before_the_charge() -> None:
    session = dp.protect(TABLES, **POLICY)
    inside.engine_of(session).close()
    with pytest.raises(SourceError):
        session.sql(COUNT, epsilon=1)
    assert session.budget.spent == 0


def test_a_failing_ledger_leaves_the_engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with shared.protect(TABLES, **POLICY) as session:

        def fail(*_: object, **__: object) -> None:
            raise LedgerError("The disk is full.")

        for name in ("has_settled", "charge"):
            with monkeypatch.context() as patch:
                events = watched(session, patch)
                patch.setattr(session.ledger, name, fail)
                with pytest.raises(LedgerError):
                    session.sql(COUNT, epsilon=1)
                assert "integers" not in events
        with monkeypatch.context() as patch:
            patch.setattr(session.ledger, "settle", fail)
            with pytest.raises(LedgerError):  # an answer that could not be kept is not shown
                session.sql(COUNT, epsilon=1)
        assert session.budget.spent == 1
        session.sql(COUNT, epsilon=2)
        with monkeypatch.context() as patch:
            events = watched(session, patch)
            patch.setattr(session.ledger, "replay", fail)
            with pytest.raises(LedgerError):  # and one that cannot be read is not computed anew
                session.sql(COUNT, epsilon=2)
            assert "integers" not in events
        assert session.budget.spent == 3


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) + 'x' || nothing AS n FROM visits", "SELECT nofunction(COUNT(*)) AS n FROM visits",
        "SELECT n FROM (SELECT COUNT(*) AS m FROM visits) AS q",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*)",
    ],
)  # fmt: skip
def test_faults_of_post_processing_are_found_before_the_charge(
    monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    with shared.protect(TABLES, **POLICY) as session:
        events = watched(session, monkeypatch)
        if "HAVING" in sql:
            session.sql(sql, epsilon=1)  # a number is a condition in this dialect
            return
        with pytest.raises(QueryRefused):
            session.sql(sql, epsilon=1)
        assert events == []


def test_a_fault_that_only_the_noise_brings_stays_charged() -> None:
    with shared.protect(TABLES, **POLICY) as session:
        with pytest.raises(PostProcessingError):
            session.sql("SELECT COUNT(*) * 9223372036854775807 AS n FROM visits", epsilon=100)
        assert session.budget.spent == 100
        again = session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=100)  # its numbers are paid for
        assert again.replayed
        with pytest.raises(PostProcessingError):
            session.workload(
                {"a": "SELECT COUNT(*) * 9223372036854775807 AS n FROM visits WHERE age > 1"}, 50
            )
        assert session.workload({"a": "SELECT COUNT(*) AS n FROM visits WHERE age > 1"}, 50).replayed
        assert session.budget.spent == 150


# Budget and sensitivity ------------------------------------------------------------------------------------


def test_three_times_a_tenth_fits_into_three_tenths() -> None:
    with shared.protect(TABLES, **{**POLICY, "budget": 0.3}) as session:
        for number in range(3):
            session.sql(f"{COUNT} WHERE age > {number}", epsilon=0.1)
        assert session.budget.left == 0
        with pytest.raises(BudgetExceeded):
            session.sql(COUNT, epsilon="0.0000000000000001")
        assert session.budget.spent == Fraction(3, 10)
        assert session.ledger.verify() == 6


def test_epsilon_is_that_of_the_whole_question() -> None:
    sql = (
        "WITH q AS (SELECT ward, COUNT(*) AS n, AVG(cost) AS c, STDDEV(age) AS d FROM visits GROUP BY ward) "
        "SELECT ward, n, c, d, (SELECT SUM(age) FROM visits WHERE cost > 3) AS s FROM q"
    )
    with shared.protect(TABLES, **POLICY) as session:
        plan = inside.plan_of(session, sql, Fraction(7, 10))
        assert sum((share for r in plan.releases for share in r.shares), Fraction(0)) == Fraction(7, 10)
        for release in plan.releases:
            for at, measure in enumerate(release.measures):
                assert release.scale(at) * release.shares[at] == 3 * measure.row_sensitivity
        assert session.sql(sql, epsilon="0.7").epsilon == session.budget.spent == Fraction(7, 10)


def test_replace_one_doubles_the_scale_where_rows_change_groups() -> None:
    scales = []
    for neighbours in ("add_remove", "replace_one"):
        with shared.protect(TABLES, neighbours=neighbours, **POLICY) as session:
            grouped = COUNT.replace("COUNT(*)", "ward, COUNT(*)") + " GROUP BY ward"
            asked = (COUNT, grouped)
            scales.append([inside.plan_of(session, q, Fraction(1)).releases[0].scale(0) for q in asked])
            assert ("replacing" in session.sql(COUNT, epsilon=1).card()) == (neighbours == "replace_one")
    assert scales == [[3, 3], [3, 6]]


# The kept rows of a unit -----------------------------------------------------------------------------------
BY_AGE = "SELECT age // 10 AS k, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY k"


def integers(
    rows: pa.Table, salt: int, threads: int = 2, sql: str = BY_AGE
) -> np.ndarray[Any, np.dtype[np.int64]]:
    connection = duckdb.connect(config={"threads": threads})
    connection.register("rows", rows)
    connection.execute("CREATE TABLE visits AS FROM rows")
    with dp.protect(connection, table="visits", **{**POLICY, "max_rows": 2}) as session:
        (release,) = inside.plan_of(session, sql, Fraction(1)).releases
        return exact_integers(release, inside.engine_of(session), salt)


def many() -> pa.Table:
    """Forty units of up to seven rows, with units and rows that are alike among them."""
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(40), rng.integers(1, 8, 40))
    return pa.table({
        "patient": unit, "age": rng.integers(0, 120, len(unit)), "cost": rng.integers(0, 60, len(unit)) / 2,
        "ward": ["a"] * len(unit),
    })  # fmt: skip


def test_kept_rows_depend_on_the_unit_alone() -> None:
    rows = many()
    whole = integers(rows, 7)
    units = rows.column("patient").to_numpy()
    for unit in (0, 7, 39):
        own, others = rows.filter(pa.array(units == unit)), rows.filter(pa.array(units != unit))
        assert (integers(own, 7) + integers(others, 7) == whole).all()
    assert (integers(rows, 8) != whole).any(), "another salt keeps other rows"
    assert integers(rows, 7, sql=COUNT).tolist() == [[sum(min(2, n) for n in np.bincount(units))]]


def test_kept_rows_do_not_depend_on_order_or_threads() -> None:
    rows = pa.concat_tables([many().set_column(0, "patient", pa.array(many().column("patient").to_numpy() + 40 * n))
                             for n in range(150)])  # fmt: skip
    expected = integers(rows, 7, threads=1)
    for threads in (1, 4):
        order = list(range(len(rows)))
        random.shuffle(order)
        assert (integers(rows.take(pa.array(order)), 7, threads) == expected).all()


def test_the_salt_is_kept_with_the_ledger(tmp_path: Path) -> None:
    salts = []
    for name in ("one.db", "one.db", "other.db"):
        with open_ledger(tmp_path / name) as ledger:
            salts.append(ledger.salt(DATA_SET))
    assert salts[0] == salts[1] != salts[2]


# The answer ------------------------------------------------------------------------------------------------


def test_the_answer_in_every_form() -> None:
    with shared.protect(TABLES, **POLICY) as session:
        answer = session.sql(f"{BY_WARD} ORDER BY ward", epsilon=1)
        names = ["ward", "n", "n_low", "n_high", "cost", "cost_low", "cost_high"]
        table = answer.to_arrow()
        assert table.column_names == names
        assert answer.to_arrow(intervals=False).column_names == ["ward", "n", "cost"] == answer.columns
        assert answer.to_dict() == table.to_pydict()
        pd.testing.assert_frame_equal(answer.to_pandas(), table.to_pandas())
        assert answer.to_polars().to_dict(as_series=False) == table.to_pydict()
        assert len(answer) == 3
        assert "±" in repr(answer)
        assert "epsilon 1" in repr(answer)
        for text in ("epsilon 1", "95 %", "adding or removing all rows of one unit", "clamped", "dropped"):
            assert text in answer.card(), text
        assert answer._repr_html_().count("<tr>") == 4
        assert session.budget.__repr__() == "epsilon 999 left of 1000 (1 spent)"
        assert "visits" in repr(session)
        odd = session.sql('SELECT COUNT(*) AS "<b>n</b>" FROM visits', epsilon=1)
        assert "<b>" not in odd._repr_html_()


def test_names_of_intervals_get_out_of_the_way() -> None:
    with shared.protect(TABLES, **POLICY) as session:
        answer = session.sql("SELECT COUNT(*) AS n, AVG(age) AS n_low FROM visits", epsilon=1)
        assert answer.to_arrow().column_names == ["n", "n_low_", "n_high", "n_low", "n_low_low", "n_low_high"]


def test_a_public_question_costs_nothing() -> None:
    with dp.protect(
        {"visits": ROWS, "wards": pa.table({"w": [1, 2]})}, table="visits", public=["wards"], **POLICY
    ) as s:
        assert s.sql("SELECT SUM(w) AS w FROM wards", epsilon=1).to_dict() == {"w": [3]}
        assert s.sql("SELECT 1 AS one", epsilon=1).epsilon == 0
        assert s.ledger.entries() == []


# Kills -----------------------------------------------------------------------------------------------------


def crash(folder: Path, kills: int, fault: str) -> dict[str, int]:
    rng = np.random.default_rng(1)
    pq.write_table(
        pa.table({"u": rng.integers(0, 500, 2000), "a": rng.uniform(0, 100, 2000)}), folder / "visits.parquet"
    )
    code = f"from tests.session.crash import Path, main; main(Path({str(folder)!r}), {kills}, {fault!r})"
    command = [str(programs() / "python"), "-"]
    done = subprocess.run(
        command, input=code, cwd=ROOT, capture_output=True, text=True, timeout=180, check=True
    )
    shown: dict[str, int] = json.loads(done.stdout)
    return shown


def charged(ledger: Ledger) -> set[str]:
    return {entry.question for entry in ledger.entries() if entry.kind == "charge"}


def test_no_kill_shows_an_answer_that_was_not_charged(tmp_path: Path) -> None:
    """Power: each third kill waits for a computation; of 20 such kills 19 cut a charge off,
    so that 8 all miss with 0.05^8, 4e-11.
    """
    kills = examples(24, 200)
    shown = crash(tmp_path, kills, "none")
    same = dp.protect(tmp_path / "visits.parquet", privacy_unit="u", max_rows=2, bounds={"a": (0, 100)}, budget=2,
                      ledger=":memory:")  # fmt: skip
    plan = inside.plan_of(
        same, "SELECT COUNT(*) AS n, AVG(a) AS a FROM visits WHERE a > 1 / 100000.0", Fraction(1, 100)
    )
    with open_ledger(tmp_path / "ledger.db") as ledger:
        entries = ledger.entries()
        assert ledger.verify() == len(entries)
        assert len(shown) > kills // 3 - 2, "each third kill waits for an answer"
        assert set(shown) <= charged(ledger)
        for question, value in shown.items():
            kept = ledger.replay(question)
            assert kept is not None
            answer = inside.answer_of(same, plan, unpack(kept, plan).noisy, 0.95)
            assert answer.to_dict(intervals=False)["n"] == [value]
        count = sum(entry.kind == "charge" for entry in entries)
        assert ledger.spent(DATA_SET).epsilon == Fraction(count, 100) <= 2
        settled = {entry.settles for entry in entries}
        assert any(e.kind == "charge" and e.number not in settled for e in entries), (
            "no kill hit a computation"
        )


def test_a_session_that_answers_before_it_charges_is_caught(tmp_path: Path) -> None:
    """Power: each kill waits for an answer, and falls before its charge, which comes `LONGEST` later."""
    for turn in range(5):  # 20 kills at most, and no more once the fault was seen
        folder = tmp_path / str(turn)
        folder.mkdir()
        shown = crash(folder, 4, "answer-first")
        with open_ledger(folder / "ledger.db") as ledger:
            if not set(shown) <= charged(ledger):
                return
    pytest.fail("the fault was not seen")


def test_questions_leave_no_rings_of_objects(tmp_path: Path) -> None:
    """Thirty objects of each question kept one another, and a server stood still while Python looked for them."""
    rows, ledger = pd.DataFrame({"patient": range(60), "age": range(60)}), tmp_path / "ledger.db"
    declared = {**POLICY, "bounds": {"age": (0, 120)}, "keys": {}}
    with dp.protect(rows, table="visits", **declared, ledger=ledger) as session:

        def ask(numbers: range) -> None:
            for number in numbers:
                query = f"SELECT COUNT(*) AS n, AVG(age) AS age FROM visits WHERE age < {number}.5"
                session.preview(query, 0.01)
                session.sql(query, 0.01)

        ask(range(10))  # the first ones of a shape are kept, to fill in the literals of others
        gc.collect()
        gc.disable()
        try:
            ask(range(10, 30))
            left = gc.collect()
        finally:
            gc.enable()
    assert left < 20 * 5
