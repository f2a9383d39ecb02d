"""Shares of people that change: no class may have lost more than its share of all that was charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests import shared
from tests.consenting import PEOPLE, SHARES, VISITS, declared

import discreet as dp
from discreet.accounting.events import Released
from discreet.errors import PolicyError
from discreet.ledger import Account, Loss, open_ledger
from discreet.release.guarantee import Guarantee
from discreet.session.budget import DATA_SET

TWICE = PEOPLE.append_column("told", PEOPLE["consent"])
PLAIN = {name: table.model_copy(update={"personal": None}) for name, table in declared().tables.items()}


def opened(folder: Path, shares: Any = SHARES, column: str = "consent", plain: bool = False) -> dp.Session:
    policy = declared(shares=shares)
    if plain:
        policy = policy.model_copy(update={"tables": PLAIN})
    if column != "consent":
        personal = policy.tables["people"].personal
        assert personal is not None
        people = policy.tables["people"].model_copy(
            update={"personal": personal.model_copy(update={"column": column})}
        )
        policy = policy.model_copy(update={"tables": {**policy.tables, "people": people}})
    return shared.protect(
        {"people": TWICE, "visits": VISITS}, policy=policy, ledger=str(folder / "ledger.db")
    )


def ask(session: dp.Session, number: int = 0) -> None:
    session.sql(f"SELECT COUNT(*) + {number} AS n FROM people WHERE age >= {number}", 1)


@pytest.mark.parametrize(
    ("now", "allowed"),
    [
        ({}, True),
        ({"shares": {**SHARES, "careful": "0.2"}}, True),
        ({"shares": {"normal": "1/2", "open": 1}}, True),
        ({"shares": {**SHARES, "shy": "1/100"}}, True),
        ({"shares": {**SHARES, "careful": "0.05"}}, False),
    ],
)
def test_a_share_may_rise_and_not_fall(tmp_path: Path, now: dict[str, Any], allowed: bool) -> None:
    with opened(tmp_path) as session:
        ask(session)
    if allowed:
        with opened(tmp_path, **now) as session:
            ask(session, 1)
            assert session.budget.spent == 2
        return
    with pytest.raises(PolicyError, match="more than the part of epsilon"):
        opened(tmp_path, **now)


def test_a_ledger_without_classes_gets_none_later(tmp_path: Path) -> None:
    with opened(tmp_path, plain=True) as session:
        ask(session)
    with pytest.raises(PolicyError, match="without the classes"):
        opened(tmp_path)


@pytest.mark.parametrize("plain", [True, False])
def test_another_column_names_no_classes_even_where_all_allow_everything(tmp_path: Path, plain: bool) -> None:
    """One class with share 1 would be a stepping stone: careful people of that column lost 1 and would have 0.1."""
    with opened(tmp_path, plain=plain) as session:
        ask(session)
    for shares in (SHARES, {"open": 1}):
        with pytest.raises(PolicyError, match="without the classes"):
            opened(tmp_path, shares, column="told")


def test_a_ledger_that_does_not_say_what_it_cost_gets_no_classes(tmp_path: Path) -> None:
    """Charges without a guarantee, as an old version or another program writes them, cost every class everything."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        whole = Account(DATA_SET, Loss(1000))
        ledger.charge("a question", Released(5, neighbours="add_remove"), [whole])
    with pytest.raises(PolicyError, match="without the classes"):
        opened(tmp_path)
    with opened(tmp_path, plain=True) as session:
        assert session.budget.spent == 5


def test_a_class_that_went_comes_back_with_what_it_lost(tmp_path: Path) -> None:
    for shares in ({**SHARES, "careful": "0.4"}, {"normal": "0.5", "open": 1}):
        with opened(tmp_path, shares) as session:
            ask(session, len(shares))
    with pytest.raises(PolicyError, match="class careful"):
        opened(tmp_path)


def test_the_note_of_a_charge_reads_back(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        ask(session)
        (text,) = [entry.guarantee for entry in session.ledger.entries() if entry.kind == "charge"]
    known = Guarantee.read(text)
    assert known is not None
    assert known.shares == SHARES
    assert known.classes == "people.consent"
    assert Guarantee.read(text.replace('"1/10"', '"1/0"')) is None
    assert (
        known.times(
            Guarantee("add_remove", known.units, known.caps, {"careful": Fraction(1, 20)}, known.classes)
        )
        == 1
    )
