"""What a ledger promises to one caller, in memory and in a file alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt, LedgerError
from discreet.ledger import Account, Charge, Entry, Head, Ledger, Loss, open_ledger
from discreet.ledger.chain.book import Book, follow
from discreet.ledger.faults import SettledElsewhere

VISITS = Account("data set visits", Loss(3))
ANA = Account("analyst ana", Loss(1))


@pytest.fixture
def ledger(place: str | None) -> Iterator[Ledger]:
    with open_ledger(place) as opened:
        yield opened


def test_charge_settle_replay(ledger: Ledger) -> None:
    assert ledger.replay("q") is None
    charge = ledger.charge("q", Loss(0.1), [VISITS, ANA])
    assert ledger.replay("q") is None
    ledger.settle(charge, b"answer")
    assert ledger.replay("q") == b"answer"
    assert ledger.replay("q2") is None
    assert ledger.spent("data set visits") == ledger.spent("analyst ana") == Loss(Fraction(1, 10))
    assert ledger.spent("analyst bob") == Loss(0)
    assert ledger.verify() == 2


def test_an_unsettled_charge_stays_charged(ledger: Ledger) -> None:
    ledger.charge("q", Loss(0.9), [ANA])
    with pytest.raises(BudgetExceeded):
        ledger.charge("q", Loss(0.9), [ANA])
    assert ledger.spent("analyst ana") == Loss("0.9")


def test_three_times_a_tenth_fits_into_three_tenths(ledger: Ledger) -> None:
    account = Account("a", Loss(0.3))
    for _ in range(3):
        ledger.charge("q", Loss(0.1), [account])
    assert ledger.spent("a") == Loss(0.3)
    with pytest.raises(BudgetExceeded, match="epsilon 0 left"):
        ledger.charge("q", Loss(Fraction(1, 10**18)), [account])


def test_a_charge_that_fits_one_account_only_is_refused_whole(ledger: Ledger) -> None:
    ledger.charge("q", Loss(0.9), [VISITS, ANA])
    for accounts in ([VISITS, ANA], [ANA, VISITS]):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.charge("q", Loss(0.2), accounts)
        assert (caught.value.account, caught.value.asked, caught.value.left) == ("analyst ana", "0.2", "0.1")
    assert ledger.spent("data set visits") == Loss(0.9)
    assert len(ledger.entries()) == ledger.verify() == 1


def test_delta_has_a_limit_too(ledger: Ledger) -> None:
    account = Account("a", Loss(1, 1e-9))
    ledger.charge("q", Loss(0.1, 1e-9), [account])
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge("q", Loss(0.1, "1e-12"), [account])
    assert (caught.value.asked, caught.value.left) == ("0.1 and delta 1e-12", "0.9 and delta 0")
    ledger.charge("q", Loss(0.9), [account])
    assert ledger.spent("a") == Loss(1, 1e-9)


def test_a_limit_lowered_below_what_is_spent_leaves_nothing(ledger: Ledger) -> None:
    ledger.charge("q", Loss(2), [VISITS])
    with pytest.raises(BudgetExceeded, match="epsilon 0 left"):
        ledger.charge("q", Loss(0.1), [Account("data set visits", Loss(1))])


def test_settling_is_exactly_once_and_only_of_own_charges(ledger: Ledger) -> None:
    charge = ledger.charge("q", Loss(0.1), [VISITS])
    ledger.settle(charge, b"one")
    with open_ledger(None) as other:
        foreign = other.charge("q", Loss(0.1), [VISITS])
    for wrong in (charge, foreign, Charge(2, charge.hash, "q", charge.loss), Charge(9, "", "q", charge.loss)):
        with pytest.raises(LedgerError):
            ledger.settle(wrong, b"two")
    assert ledger.replay("q") == b"one"
    assert ledger.verify() == 2


def test_the_earliest_settlement_is_replayed(ledger: Ledger) -> None:
    first, second = (ledger.charge("q", Loss(0.1), [VISITS]) for _ in range(2))
    ledger.settle(second, b"settled first")
    ledger.settle(first, b"settled later")
    assert ledger.replay("q") == b"settled first"


def test_a_question_that_has_an_answer_is_not_charged_where_it_is_charged_once(ledger: Ledger) -> None:
    charge = ledger.charge("q", Loss(0.5), [VISITS], once=True)
    again = ledger.charge("q", Loss(0.5), [VISITS], once=True)  # no answer yet
    ledger.settle(charge, b"first")
    for _ in range(2):  # in one process it is known at the second time
        with pytest.raises(SettledElsewhere):
            ledger.charge("q", Loss(0.5), [VISITS], once=True)
    ledger.settle(again, b"second")
    ledger.charge("q", Loss(0.5), [VISITS])
    assert ledger.replay("q") == b"first"
    assert ledger.spent("data set visits") == Loss(1.5)
    assert ledger.verify() == 5


def test_entries_say_what_happened(ledger: Ledger) -> None:
    charge = ledger.charge("é🙂" * 3000, Loss("1/3"), [VISITS, ANA])
    ledger.charge("other", Loss(1), [VISITS])
    ledger.settle(charge, b"")
    first, second, third = ledger.entries()
    assert [e.number for e in (first, second, third)] == [1, 2, 3]
    assert [p.account for p in first.postings] == ["data set visits", "analyst ana"]
    assert second.postings[0].total == Loss("4/3")
    assert second.postings[0].limit == Loss(3)
    assert (third.kind, third.settles, third.question) == ("settle", 1, "é🙂" * 3000)
    assert third.previous == second.hash
    assert timedelta(0) <= datetime.now(UTC) - first.time < timedelta(minutes=5)
    assert ledger.entries("analyst ana") == [first, third]
    assert ledger.entries("nobody") == []
    assert ledger.head() == Head(3, third.hash)
    assert ledger.replay("é🙂" * 3000) == b""


def test_a_charge_keeps_its_guarantee_and_its_description(ledger: Ledger) -> None:
    guarantee, words = '{"max_rows":3,"unit":"patient_id"}', "ana: SELECT COUNT(*) FROM visits — é🙂"
    charge = ledger.charge("q", Loss(0.1), [VISITS], guarantee=guarantee, description=words)
    ledger.settle(charge, b"answer")
    ledger.charge("q2", Loss(0.1), [VISITS])
    first, second, third = ledger.entries()
    assert (first.guarantee, first.description) == (guarantee, words)
    assert {second.guarantee, second.description, third.guarantee, third.description} == {""}
    assert ledger.verify() == 3
    for name in ("guarantee", "description"):
        for wrong in (3, "\ud800", "a\0b"):
            with pytest.raises(InvalidParameter):
                ledger.charge("q", Loss(0.1), [VISITS], **{name: wrong})  # type: ignore[arg-type]
    assert ledger.verify() == 3


def test_bad_charges_are_refused_before_anything_is_written(ledger: Ledger) -> None:
    for question, accounts in (
        ("", [VISITS]),
        ("\ud800", [VISITS]),
        ("a\0", [VISITS]),
        ("q", []),
        ("q", [VISITS, VISITS]),
    ):
        with pytest.raises(InvalidParameter):
            ledger.charge(question, Loss(0.1), accounts)
    charge = ledger.charge("q", Loss(0.1), [VISITS])
    with pytest.raises(InvalidParameter):
        ledger.settle(charge, "text")  # type: ignore[arg-type]
    for name in ("", "a\nb", "x" * 201, 3):
        with pytest.raises(InvalidParameter):
            Account(name, Loss(1))  # type: ignore[arg-type]
    assert ledger.verify() == 1


def test_salts_are_secret_per_data_set_and_stay(ledger: Ledger) -> None:
    salt = ledger.salt("visits")
    assert 0 <= salt < 2**64
    assert ledger.salt("visits") == salt
    assert ledger.salt("other") != salt
    assert ledger.verify() == 0


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge("q", Loss(0.1), [VISITS])


def test_a_noted_head_shows_what_was_cut_off(ledger: Ledger) -> None:
    empty = ledger.head()
    ledger.charge("q", Loss(0.1), [VISITS])
    noted = ledger.head()
    ledger.charge("q", Loss(0.1), [VISITS])
    assert ledger.verify(noted) == ledger.verify(empty) == 2
    for wrong in (Head(1, noted.hash[::-1]), Head(7, noted.hash), Head(0, noted.hash)):
        with pytest.raises(LedgerCorrupt):
            ledger.verify(wrong)


def test_more_entries_than_a_page(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    account, count = Account("a", Loss(3)), 300
    if ledger.durable:  # each charge waits for the disk: fewer, and as many pages
        count = 40
        for name, module in list(sys.modules.items()):
            if name.startswith("discreet.ledger") and hasattr(module, "PAGE"):
                monkeypatch.setattr(module, "PAGE", 32)
    for i in range(count):
        ledger.charge(f"q{i}", Loss("1/100"), [account])
    assert [e.number for e in ledger.entries("a")] == list(range(1, count + 1))
    assert ledger.verify() == count
    assert ledger.spent("a") == Loss(f"{count}/100")


def test_a_file_outlives_its_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        assert ledger.durable
        assert ledger.where == str(path)
        ledger.settle(ledger.charge("q", Loss(0.1), [VISITS]), b"answer")
        salt, head = ledger.salt("visits"), ledger.head()
    assert path.stat().st_mode & 0o077 == 0
    with open_ledger(f"sqlite:///{path}") as again:
        assert (again.replay("q"), again.salt("visits"), again.verify(head)) == (b"answer", salt, 2)
        assert again.spent("data set visits") == Loss(0.1)


def test_two_ledgers_on_one_file_see_each_other(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.db") as one, open_ledger(tmp_path / "l.db") as two:
        charge = one.charge("q", Loss(0.6), [ANA])
        with pytest.raises(BudgetExceeded):
            two.charge("q", Loss(0.6), [ANA])
        two.settle(charge, b"answer")
        assert one.replay("q") == b"answer"


def test_the_addresses_of_memory() -> None:
    for address in (None, ":memory:", "sqlite://", "sqlite:///:memory:"):
        with open_ledger(address) as ledger:
            assert (ledger.durable, ledger.where) == (False, "memory")


def test_addresses_that_are_refused() -> None:
    for address in ("", "sqlite:///x?nolock=1", "nonsense://", "://"):
        with pytest.raises(InvalidParameter) as caught:
            open_ledger(address)
        assert "secret" not in str(caught.value)


def test_importing_and_memory_do_not_load_sqlite() -> None:
    import subprocess
    import sys

    code = "import sys, discreet.ledger as l; l.open_ledger(None).salt('x'); print('sqlite3' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_reader_follows_a_writer_and_sees_each_entry_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[int] = []

    def counted(book: Book, entry: Entry) -> Book:
        followed.append(entry.number)
        return follow(book, entry)

    with open_ledger(tmp_path / "l.db") as writer, open_ledger(tmp_path / "l.db") as reader:
        for at in range(5):
            writer.charge(f"q{at}", Loss("0.1"), [VISITS])
        monkeypatch.setattr("discreet.ledger.chain.verify.follow", counted)
        assert reader.spent(VISITS) == reader.spent(VISITS) == Loss("0.5")
        assert followed == [1, 2, 3, 4, 5]
        reader.charge("q", Loss("0.1"), [VISITS])
        assert writer.spent(VISITS) == Loss("0.6")
