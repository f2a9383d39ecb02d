"""What was charged under one guarantee, and what it counts when the policy says another one."""

from __future__ import annotations

import itertools
import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.accounting.events import Released
from discreet.errors import BudgetExceeded, PolicyError
from discreet.ledger import Account, Loss, open_ledger
from discreet.ledger.description import who_and_what
from discreet.policy import Policy
from discreet.release import guarantee
from discreet.release.account import DataAccount
from discreet.release.guarantee import ROW, Guarantee
from discreet.session import DATA_SET

ROWS = pa.table({"id": [1, 1, 1, 2, 3], "other": [1, 2, 3, 4, 5], "age": [30, 31, 32, 40, 50]})
COUNT = "SELECT COUNT(*) AS n FROM visits"


def opened(folder: Path, unit: str = "id", **more: Any) -> dp.Session:
    caps = {} if unit == "row" else {"max_rows": more.pop("max_rows", 3)}
    given = {"budget": 100, "ledger": folder / "ledger.db", **caps, **more}
    return shared.protect({"visits": ROWS}, privacy_unit=unit, **given)


def ask(session: dp.Session, times: int = 1) -> None:
    at = len(session.ledger.entries())
    for number in range(times):
        session.sql(f"SELECT COUNT(*) + {at + number} AS n FROM visits WHERE {at + number} >= 0", 1)


def charges(session: dp.Session) -> list[dict[str, Any]]:
    return [json.loads(e.guarantee) for e in session.ledger.entries() if e.kind == "charge"]


def test_unit_neighbours_and_caps_stand_with_each_charge(tmp_path: Path) -> None:
    session = opened(tmp_path, bounds={"age": (0, 100)})
    session.sql(COUNT, 1, max_rows=2)
    session.release(lambda: 3, 1, 1, what="three")
    one, two = charges(session)
    known = {"caps": {"visits": 3}, "neighbours": "add_remove", "units": {"visits": "column id"}}
    assert one == {**known, "kept": [2]}
    assert two == known
    first, _, second, _ = session.ledger.entries()
    assert who_and_what(first.description)[1] == COUNT
    assert who_and_what(second.description)[1] == "three"


def test_rows_do_not_become_persons(tmp_path: Path) -> None:
    with opened(tmp_path, "row") as session:
        ask(session, 4)
    with pytest.raises(PolicyError) as caught:
        opened(tmp_path)
    assert caught.value.key == "tables.visits.privacy_unit"
    assert "one row" in caught.value.cause
    assert "ledger" in caught.value.fix
    with opened(tmp_path, "row") as session:
        assert session.budget.spent == 4


def test_a_conversion_that_lets_everything_pass_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: every charge counts once, whatever it protects."""
    monkeypatch.setattr(guarantee, "_steps", lambda *_: 1)
    with pytest.raises(pytest.fail.Exception):
        test_rows_do_not_become_persons(tmp_path)
    with pytest.raises(AssertionError):
        test_what_is_converted_is_charged_before_the_next_question(tmp_path, "replace_one", "other", 2)


@pytest.mark.parametrize(
    ("neighbours", "unit", "times"),
    [("replace_one", "id", 2), ("add_remove", "row", 2), ("replace_one", "row", 4)],
)
def test_what_is_converted_is_charged_before_the_next_question(
    tmp_path: Path, neighbours: str, unit: str, times: int
) -> None:
    folder = tmp_path / f"{neighbours}{unit}"
    folder.mkdir()
    with opened(folder) as session:
        ask(session, 3)
        assert session.budget.spent == 3
    with opened(folder, unit if unit != "other" else "id", neighbours=neighbours) as session:
        assert session.budget.spent == 3 * times
        assert session.preview(COUNT, 1).cost == 1
        ask(session)
        ask(session)
        assert session.budget.spent == 3 * times + 2
        assert session.ledger.spent(DATA_SET) == Loss(3 * times + 2)
        assert session.ledger.verify() == 11
    with pytest.raises(PolicyError):  # and there is no way back
        opened(folder)


def test_what_is_converted_may_overdraw(tmp_path: Path) -> None:
    with opened(tmp_path, budget=5) as session:
        ask(session, 3)
    with opened(tmp_path, budget=5, neighbours="replace_one") as session:
        assert session.budget.spent == 6
        assert session.budget.left == 0
        with pytest.raises(BudgetExceeded) as caught:
            ask(session)
        assert "counts 2 times" in "".join(caught.value.__notes__)
        assert caught.value.charged is None
    with opened(tmp_path, budget=5) as session:
        assert session.budget.spent == 3  # nothing was given under the other policy


def test_caps_convert_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, max_rows=3) as session:
        ask(session)
    with opened(tmp_path, max_rows=50) as session:
        ask(session)
        assert session.budget.spent == 2


def test_another_unit_is_refused_and_other_accountants_too(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        ask(session)
    with pytest.raises(PolicyError):
        opened(tmp_path, "other")
    for budget in (dp.Budget(epsilon=100, delta=1e-6, accountant="zcdp"),):
        with pytest.raises(PolicyError):
            opened(tmp_path, budget=budget, neighbours="replace_one")


def held(units: dict[str, str], neighbours: str = "add_remove") -> Guarantee:
    return Guarantee(neighbours, units, dict.fromkeys(units, 1))


def test_a_table_that_goes_and_comes_back_is_recognised() -> None:
    first, second, third = (
        held({"a": "column id"}),
        held({"b": "column id"}),
        held({"a": ROW, "b": "column id"}),
    )
    with pytest.raises(PolicyError):
        held({"b": ROW}).times(held({"a": ROW}, "replace_one"))
    assert second.times(first) == 1
    carried = second.after(first)
    assert third.times(carried) == 2  # once by way of a
    with pytest.raises(PolicyError):
        held({"renamed": "column id"}).times(held({"a": ROW}))


def _neighbours(data: frozenset[tuple[int, int]], kind: str, unit: str) -> set[frozenset[tuple[int, int]]]:
    """All data sets of two units with up to two rows of two values each that are one step away."""
    every = [frozenset(rows) for size in range(5) for rows in itertools.combinations(CELLS, size)]
    return {other for other in every if _one_step(data, other, kind, unit)}


BOTH = list(itertools.product(("add_remove", "replace_one"), ("column id", ROW)))
CELLS = [(unit, value) for unit in range(2) for value in range(2)]


def _one_step(one: frozenset[tuple[int, int]], two: frozenset[tuple[int, int]], kind: str, unit: str) -> bool:
    if unit == ROW:
        gone, come = len(one - two), len(two - one)
        return gone + come == 1 if kind == "add_remove" else gone == come == 1
    units_one, units_two = {u for u, _ in one}, {u for u, _ in two}
    changed = {u for u, _ in one ^ two}
    if kind == "add_remove":
        return len(changed) == 1 and len(units_one ^ units_two) == 1
    if len(units_one) != len(units_two):
        return False
    return len(changed) == 1 or (len(changed) == 2 and len(units_one & units_two) == len(units_one) - 1)


@pytest.mark.parametrize(("kind", "unit"), BOTH)
@pytest.mark.parametrize(("kind_now", "unit_now"), BOTH)
def test_no_neighbour_is_further_away_than_is_said(
    kind: str, unit: str, kind_now: str, unit_now: str
) -> None:
    """All data sets of up to four rows: breadth first along old steps; each new neighbour is within the factor."""
    factor = guarantee._steps(unit, kind, unit_now, kind_now, True)
    if factor is None:
        return
    every = [frozenset(rows) for size in range(5) for rows in itertools.combinations(CELLS, size)]
    steps = {data: _neighbours(data, kind, unit) for data in every}
    for data in every:
        near, reach = {data}, [{data}]
        for _ in range(factor):
            near = near | {other for one in near for other in steps[one]}
            reach.append(near)
        assert _neighbours(data, kind_now, unit_now) <= near


def test_a_policy_that_changes_under_a_running_process_is_seen(tmp_path: Path) -> None:
    """Two sessions of two policies on one ledger, at once: whatever the order, none counts what it may not."""
    rows, persons = opened(tmp_path, "row"), opened(tmp_path)
    refused = []

    def asks(session: dp.Session, name: str) -> None:
        for at in range(10):
            try:
                session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE {at} >= 0", Fraction(1, 100))
            except PolicyError:
                refused.append(name)

    threads = [threading.Thread(target=asks, args=pair) for pair in ((rows, "row"), (persons, "id"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [set(one["units"].values()) for one in charges(rows)]
    assert refused
    if {ROW} in said:  # once rows were charged, no person is
        assert all(one == {ROW} for one in said[said.index({ROW}) :])


def test_a_charge_between_looking_and_re_pricing_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.for_table("t", privacy_unit="id", max_rows=1, budget=9)
    ledger = open_ledger(tmp_path / "l.db")
    account = Account(DATA_SET, Loss(100))
    before, now = held({"t": "column id"}), held({"t": "column id"}, "replace_one")
    old, new = DataAccount(ledger, account, before), DataAccount(ledger, account, now)
    old.charge("q1", Released(1, neighbours="add_remove"), (), "one")
    reprice = DataAccount._reprice
    raced: list[Any] = []

    def late(self: DataAccount, last: Any) -> None:
        if not raced:
            raced.append("now")
            old.charge("q2", Released(2, neighbours="add_remove"), (), "two")
        reprice(self, last)

    monkeypatch.setattr(DataAccount, "_reprice", late)
    new.charge("q3", Released(4, neighbours="replace_one"), (), "three")
    assert ledger.spent(account) == Loss(2 * (1 + 2) + 4)
    assert Guarantee.declared(policy).units == {"t": "column id"}


def test_what_another_session_changed_is_seen_although_the_last_charge_was_known(tmp_path: Path) -> None:
    """A session remembers the charge before its own; one of another guarantee in between is seen in the transaction."""
    data, ledger = pa.table({"age": [31, 47, 62]}), tmp_path / "l.db"
    added, replaced = (
        shared.protect(
            data, privacy_unit="row", budget=9, ledger=ledger, neighbours=n, bounds={"age": (0, 99)}
        )
        for n in ("add_remove", "replace_one")
    )
    ask = "SELECT COUNT(*) AS n FROM data WHERE age < {}"
    added.sql(ask.format(10), 1)
    added.sql(ask.format(20), 1)
    replaced.sql(ask.format(30), 1)  # what was charged counts twice: 4 and 1
    assert replaced.budget.spent == 5
    with pytest.raises(PolicyError):
        added.sql(ask.format(40), 1)
    assert replaced.budget.spent == 5


def test_a_charge_that_does_not_look_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the charge believes what the session remembers."""
    monkeypatch.setattr(DataAccount, "_counts_once", lambda *_: None)
    monkeypatch.setattr(DataAccount, "_text", lambda self, *_: self._guarantee.text())
    with pytest.raises(pytest.fail.Exception):
        test_what_another_session_changed_is_seen_although_the_last_charge_was_known(tmp_path)


STEP = {"through": {"visit": "visits.nr"}, "privacy_unit": "visits.id", "max_rows": 5}
TWO = {"visits": {"privacy_unit": "id", "max_rows": 3}, "tests": STEP}
MORE = {
    "visits": pa.table({"id": [1, 2], "nr": [7, 8], "other": [7, 8]}),
    "tests": pa.table({"Visit": [7, 7, 8], "day": [7, 8, 8]}),
}


def over(path: Path, **tests: Any) -> dp.Session:
    tables: Any = {**TWO, "tests": {**STEP, **tests}}
    return shared.protect(
        MORE, policy=Policy(budget=dp.Budget(epsilon=100), tables=tables), ledger=path / "two.db"
    )


def test_the_way_to_a_unit_in_another_table_stands_with_each_charge(tmp_path: Path) -> None:
    with over(tmp_path) as session:
        session.sql("SELECT COUNT(*) AS n FROM tests", 1)
        (known,) = charges(session)
    assert known["units"] == {"tests": "column visits.id through Visit = visits.nr", "visits": "column id"}
    tables: Any = TWO
    assert Guarantee.declared(Policy(budget=dp.Budget(epsilon=1), tables=tables)).times(
        Guarantee(known["neighbours"], known["units"], known["caps"]), exact=False
    ) == 1  # fmt: skip


@pytest.mark.parametrize("through", [{"day": "visits.nr"}, {"visit": "visits.other"}])
def test_another_way_is_another_unit(through: dict[str, str], tmp_path: Path) -> None:
    with over(tmp_path) as session:
        session.sql("SELECT COUNT(*) AS n FROM tests", 1)
    with pytest.raises(PolicyError, match="cannot be converted"):
        over(tmp_path, through=through)
