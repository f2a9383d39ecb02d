"""A look at the end of a ledger shows all that was charged before it, by any process, and charges nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Account, Ledger, Loss, committed, open_ledger
from discreet.ledger.committed import Committed
from discreet.ledger.sqlite.rows import SqlRows
from discreet.ledger.sqlite.store import SqliteStore

VISITS, ANA = Account("data set visits", Loss(10)), Account("analyst ana", Loss(3))


def answered(ledger: Ledger, question: str, *accounts: Account) -> None:
    charge = ledger.charge(question, Loss(Fraction(1, 10)), accounts or (VISITS,), guarantee="{}")
    ledger.settle(charge, question.encode())


def state(ledger: Ledger) -> object:
    """All that a look tells."""
    last = ledger.since(0)[-1].number
    return ledger.standings([VISITS, ANA]), [
        ledger.since(number) for number in range(max(0, last - 6), last + 2)
    ]


def see_present(ledger: Ledger, other: Ledger) -> None:
    """Two who charge by turns both see all of it at once."""
    for at in range(6):
        answered(ledger, f"ours {at}", VISITS, ANA)
        answered(other, f"theirs {at}")
        assert ledger.standings([VISITS])[0][1] == Loss(Fraction(2 * at + 2, 10))
        assert [entry.question for entry in ledger.since(4 * at + 2)] == [f"theirs {at}"] * 2
        assert state(ledger) == state(other)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    with open_ledger(tmp_path / "l.db") as one, open_ledger(tmp_path / "l.db") as two:
        yield one, two


def test_the_charges_of_others_are_seen_at_once(pair: tuple[Ledger, Ledger]) -> None:
    see_present(*pair)


def test_a_look_that_does_not_ask_whether_others_wrote_is_found(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    monkeypatch.setattr(Committed, "now", lambda self: self._look)
    with pytest.raises(AssertionError):
        see_present(*pair)


def test_a_group_commit_of_which_one_charge_is_lost_from_sight_is_found(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: the last entry of a transaction is left out of the looks."""
    follow = Committed.follow

    def short(self: Committed, book: Any, last: Any) -> None:
        known = self._look
        follow(self, book, last)
        if known is not None and self._look is not None and self._look is not known:
            del self._entries[-1:]

    monkeypatch.setattr(Committed, "follow", short)
    with pytest.raises(AssertionError):
        see_present(*pair)


def test_a_look_needs_no_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "KEPT", 8)
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, "first", VISITS, ANA)
        answered(ledger, "second", VISITS, ANA)
        for at in range(20):
            answered(ledger, f"more {at}")
        seen: list[object] = []
        read = SqliteStore.read

        def watched(self: SqliteStore, work: Any) -> Any:
            seen.append(work)
            return read(self, work)

        monkeypatch.setattr(SqliteStore, "read", watched)
        looked = ledger.standings([VISITS, ANA]), ledger.since(40), ledger.since(44)
        assert not seen
        assert [entry.number for entry in ledger.since(1)] == list(range(2, 45))  # further back than is kept
        assert len(seen) == 1
        with open_ledger(tmp_path / "l.db") as fresh:
            assert looked == (fresh.standings([VISITS, ANA]), fresh.since(40), [])


def test_a_look_decides_no_charge(pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that shows an empty ledger."""
    ledger, other = pair
    for at in range(30):
        answered(other, f"theirs {at}", ANA)
    monkeypatch.setattr(Committed, "now", lambda self: pytest.fail("a charge looked"))
    with pytest.raises(BudgetExceeded):
        ledger.charge("one more", Loss(Fraction(1, 10)), [VISITS, ANA])
    assert ledger.replay("theirs 3") == b"theirs 3"
    assert ledger.verify() == 60


@pytest.mark.skipif(sys.platform == "win32", reason="an open file keeps its name there")
@pytest.mark.parametrize("put", ["over", "in place of"])
def test_no_look_is_made_beside_an_old_copy(tmp_path: Path, put: str) -> None:
    """Others may charge the copy, whose entries need not reach as far as those that are known here."""
    files = [tmp_path / "l.db", tmp_path / "l.db-head"]
    with open_ledger(files[0]) as ledger:
        answered(ledger, "before the copy")
        copies = [file.read_bytes() for file in files]
        for at in range(3):
            answered(ledger, f"lost {at}", ANA)
        for file, copy in zip(files, copies, strict=True):
            if put == "in place of":
                file.rename(f"{file}-gone")
            file.write_bytes(copy)
        with open_ledger(files[0]) as other:
            for at in range(4):
                other.charge(f"theirs {at}", Loss(1), [VISITS])
        with pytest.raises(LedgerError):
            ledger.standings([VISITS])


def see_read_once(ours: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of others that came before and after ours are read by one transaction, for all who look."""
    answered(ours, "first", VISITS, ANA)
    assert len(ours.since(0)) == 2
    for at in range(5):
        for turn in range(3):
            answered(other, f"theirs {at} {turn}", ANA)
        answered(ours, f"ours {at}")
    answered(other, "last", VISITS, ANA)
    reads, read = [], SqliteStore.read

    def counted(self: SqliteStore, work: Any) -> Any:
        reads.append(work)
        return read(self, work)

    monkeypatch.setattr(SqliteStore, "read", counted)
    found = state(ours)
    assert len(reads) == 1
    assert [entry.number for entry in ours.since(0)] == list(range(1, 45))
    assert found == state(other)


def test_entries_of_others_are_read_once(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    see_read_once(*pair, monkeypatch)


def test_entries_that_are_left_out_are_read_by_those_who_need_them(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: nobody has the entries between, and each look is a transaction, which shows all of them."""
    monkeypatch.setattr(SqlRows, "reach_back", lambda *_: None)
    with pytest.raises(AssertionError, match="== 1"):
        see_read_once(*pair, monkeypatch)
    assert state(pair[0]) == state(pair[1])


def test_very_many_entries_of_others_are_not_kept(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed, "KEPT", 4)
    see_present(*pair)
    ours, other = pair
    for at in range(6):
        answered(other, f"more {at}")
        answered(ours, f"more of ours {at}")
        answered(other, f"still more {at}", ANA)
    assert state(ours) == state(other)
    assert ours.verify() == 24 + 36


def test_a_look_at_what_is_known_here_shows_all_that_was_charged_here(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    for at in range(3):
        answered(theirs, f"theirs {at}")
        answered(ours, f"ours {at}", VISITS, ANA)
        shown = ours.standings([VISITS, ANA])
        answered(theirs, f"theirs again {at}")
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "read", _no_transaction)
            assert ours.standings([VISITS, ANA], here=True) == shown
        assert ours.standings([VISITS])[0][1] == Loss(Fraction(3 * at + 3, 10))


def see_no_late_look(ours: Ledger, theirs: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process charged behind entries that it does not know: what it knows does not reach to its own charge."""
    answered(ours, "ours", VISITS)
    follow = Committed.follow
    with monkeypatch.context() as patch:
        patch.setattr(Committed, "follow", lambda self, book, last: follow(self, book, last[-1:]))
        for at in range(3):
            answered(theirs, f"theirs {at}", VISITS)
        answered(ours, "ours again", VISITS)
    assert ours.standings([VISITS], here=True)[0][1] == Loss(Fraction(5, 10))


def test_a_look_here_that_does_not_reach_to_the_last_charge_made_here_is_not_taken(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    see_no_late_look(*pair, monkeypatch)


def test_a_look_here_that_may_end_before_that_charge_is_found(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: nobody notes how far this process wrote."""
    monkeypatch.setattr(
        Committed, "_reached", property(lambda self: 0, lambda self, number: None), raising=False
    )
    with pytest.raises(AssertionError):
        see_no_late_look(*pair, monkeypatch)


def _no_transaction(*_: object) -> object:
    raise AssertionError


def test_a_look_here_takes_a_transaction_where_the_last_one_is_not_known(
    pair: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not known is the end of a ledger with very many new entries; then it is read, not guessed."""
    ours, theirs = pair
    answered(ours, "ours", VISITS, ANA)
    monkeypatch.setattr(committed, "KEPT", 2)
    for at in range(5):
        answered(theirs, f"theirs {at}")
    answered(ours, "ours again", VISITS, ANA)
    assert ours.standings([VISITS, ANA], here=True) == theirs.standings([VISITS, ANA])
