"""A ledger that lost entries or its head is refused; taking it over never gives budget back."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, LedgerCorrupt, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger, rows
from discreet.ledger.sqlite.adopt import adopt
from discreet.ledger.sqlite.head import SLOT, head_of

VISITS = Account("the data set", Loss(2))
ANA = Account("analyst ana", Loss(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with 0.3 spent, `backup.db`, a copy of it, and then 0.8 spent, 0.5 of it by Ana."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.settle(ledger.charge("one", Loss("0.3"), [VISITS]), b"answer")
    shutil.copy(path, tmp_path / "backup.db")
    with open_ledger(path) as ledger:
        ledger.charge("two", Loss("0.5"), [VISITS, ANA])
    return path


def spent(path: Path) -> tuple[Loss, Loss]:
    with open_ledger(path) as ledger:
        ledger.verify()
        return ledger.spent(VISITS.name), ledger.spent(ANA.name)


def charges_on(ledger: Ledger) -> None:
    left = Loss(VISITS.limit.epsilon - ledger.spent(VISITS.name).epsilon)
    with pytest.raises(BudgetExceeded):
        ledger.charge("more", left + Loss("1/1000"), [VISITS])
    ledger.charge("rest", left, [VISITS])
    assert ledger.verify()


def test_a_backup_beside_the_head_is_refused_and_then_charged_what_it_does_not_know(path: Path) -> None:
    shutil.copy(path.with_name("backup.db"), path)
    with pytest.raises(LedgerCorrupt, match="Entry 3 of the ledger is gone") as caught:
        open_ledger(path)
    assert "discreet budget adopt" in caught.value.fix
    done = adopt(path)
    assert done.charged == {VISITS.name: Loss("0.5"), ANA.name: Loss("0.5")}
    assert spent(path) == (Loss("0.8"), Loss("0.5"))
    with open_ledger(path) as ledger:
        assert ledger.replay("one") == b"answer"
        assert ledger.entries()[-1].kind == "adopt"
        charges_on(ledger)


def test_a_file_copied_without_its_head_is_refused_until_someone_says_what_was_spent(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with pytest.raises(LedgerError, match="is missing") as caught:
        open_ledger(copy)
    assert "adopt" in caught.value.fix
    with pytest.raises(LedgerError, match="nothing tells the loss spent"):
        adopt(copy)
    with pytest.raises(LedgerError, match=r"is missing|unreadable"):
        open_ledger(copy)
    adopt(copy, lost=Loss("0.25"))
    assert spent(copy) == (Loss("1.05"), Loss("0.75"))
    with open_ledger(copy) as ledger:
        charges_on(ledger)


def test_an_empty_ledger_without_its_head_is_no_new_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    Path(head_of(str(path))).unlink()
    with pytest.raises(LedgerError, match="is missing"):
        open_ledger(path)
    adopt(path, lost=Loss(2), accounts=[VISITS.name])
    with open_ledger(path) as ledger, pytest.raises(BudgetExceeded):
        ledger.charge("q", Loss("0.1"), [VISITS])


@pytest.mark.parametrize("state", ["gone", "emptied"])
def test_a_head_without_its_ledger_is_no_new_budget(path: Path, state: str) -> None:
    path.unlink()
    if state == "emptied":
        path.touch()
    with pytest.raises(LedgerError, match="gone or empty, but its head names entry 3") as caught:
        open_ledger(path)
    assert "adopt" in caught.value.fix
    adopt(path)
    assert spent(path) == (Loss("0.8"), Loss("0.5"))
    with open_ledger(path) as ledger:
        assert ledger.verify() == 1
        charges_on(ledger)


def test_the_lost_ledger_put_back_after_all_is_another_branch(path: Path) -> None:
    copy = path.read_bytes()
    path.unlink()
    adopt(path)
    path.write_bytes(copy)
    with pytest.raises(LedgerCorrupt):
        open_ledger(path)
    adopt(path)
    assert spent(path)[0] == Loss("1.6")


@pytest.mark.parametrize("left", ["nothing", "an empty head", "a torn head"])
def test_nothing_is_adopted_where_nothing_tells_the_loss(path: Path, left: str) -> None:
    path.unlink()
    head = Path(head_of(str(path)))
    if left == "nothing":
        head.unlink()
    else:
        head.write_bytes(b"" if left == "an empty head" else head.read_bytes()[:SLOT])
    with pytest.raises(LedgerError):
        adopt(path)
    with pytest.raises(LedgerError):
        open_ledger(path)


def test_nothing_lost_is_nothing_charged(path: Path) -> None:
    assert adopt(path).charged == {}
    assert spent(path) == (Loss("0.8"), Loss("0.5"))
    with open_ledger(path) as ledger:
        assert len(ledger.entries()) == 3


def test_two_branches_of_one_past_are_added_up(path: Path) -> None:
    """A backup that was taken over and went its own way, and then the old head put back."""
    head = Path(head_of(str(path)))
    old = head.read_bytes()
    shutil.copy(path.with_name("backup.db"), path)
    head.unlink()
    adopt(path, lost=Loss(0))
    with open_ledger(path) as ledger:
        ledger.charge("three", Loss("0.1"), [VISITS])
    head.write_bytes(old)
    with pytest.raises(LedgerCorrupt, match="is not the one that the ledger's head names"):
        open_ledger(path)
    adopt(path)
    assert spent(path)[0] == Loss("0.4") + Loss("0.8")


@pytest.mark.parametrize("slot", [0, 1])
def test_a_flipped_bit_in_the_head_is_refused_or_harmless(path: Path, slot: int) -> None:
    head = Path(head_of(str(path)))
    raw = bytearray(head.read_bytes())
    raw[slot * SLOT + 200] ^= 1
    head.write_bytes(raw)
    try:
        after = spent(path)
    except LedgerError:
        with pytest.raises(LedgerError, match="nothing tells"):
            adopt(path)
        adopt(path, lost=Loss(0))
        after = spent(path)
    assert after == (Loss("0.8"), Loss("0.5"))


def test_the_head_of_another_ledger_is_refused(path: Path) -> None:
    other = path.with_name("other.db")
    open_ledger(other).close()
    shutil.copy(head_of(str(other)), head_of(str(path)))
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        open_ledger(path)
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        adopt(path, lost=Loss(0))


def test_a_ledger_with_a_bad_entry_is_not_adopted(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER discreet_entry_update")
        raw.execute("UPDATE discreet_entry SET question = 'another' WHERE number = 1")
    with pytest.raises(LedgerCorrupt, match="Entry 1 "):
        adopt(path, lost=Loss(0))


@pytest.mark.parametrize("which", ["head", "both", "old head"])
def test_files_that_are_removed_while_open(path: Path, which: str) -> None:
    head = Path(head_of(str(path)))
    old = head.read_bytes()
    with open_ledger(path) as ledger:
        ledger.charge("three", Loss("0.1"), [VISITS])
        if which == "old head":
            head.write_bytes(old)
        else:
            head.unlink()
        if which == "both":
            path.unlink()
        with pytest.raises(LedgerError):
            ledger.charge("four", Loss("0.1"), [VISITS])
    if which == "head":
        with pytest.raises(LedgerError, match="is missing"):
            open_ledger(path)
    if which == "old head":  # the ledger itself knows more, so nothing is lost
        assert spent(path)[0] == Loss("0.9")


def test_the_journal_holds_no_charge(path: Path) -> None:
    for each in path.parent.glob("ledger.db-*"):
        if each != Path(head_of(str(path))):
            each.unlink()
    assert spent(path) == (Loss("0.8"), Loss("0.5"))
    with open_ledger(path) as ledger:
        for at in range(5):
            ledger.charge(f"q{at}", Loss("0.1"), [VISITS])
            path.with_name("ledger.db-journal").unlink(missing_ok=True)
    assert spent(path)[0] == Loss("1.3")


def flip_the_index(path: Path) -> None:
    """One bit of the index of postings: the second charge is no longer found under its account."""
    raw = bytearray(path.read_bytes())
    hits = 0
    for start in range(4096, len(raw), 4096):
        at = raw.find(VISITS.name.encode() + b"\3", start, start + 4096)
        if raw[start] == 0x0A and at >= 0:  # a leaf of an index
            raw[at] ^= 1
            hits += 1
    assert hits == 1
    path.write_bytes(raw)


def test_a_flipped_bit_in_the_index_is_seen_on_opening(path: Path) -> None:
    """The fault that was found: the index leads to an older posting, and the budget reads less than was spent."""
    flip_the_index(path)
    with pytest.raises(LedgerCorrupt, match="other totals than the index of postings"):
        open_ledger(path)
    with pytest.raises(LedgerCorrupt, match="other totals than the index of postings"):
        adopt(path)


def test_the_index_is_compared_at_each_charge_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rows.TableRows, "tally", lambda self, account: None)
        flip_the_index(path)
        ledger = open_ledger(path)
    for act in (
        lambda: ledger.spent(VISITS.name),
        lambda: ledger.charge("q", Loss("0.1"), [VISITS]),
        ledger.verify,
    ):
        with pytest.raises(LedgerCorrupt):
            act()
    ledger.close()


def test_without_the_comparison_the_index_would_be_believed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: what was there before, the index alone."""

    def believed(self: rows.TableRows, account: str) -> object:
        row = self._first(f"{rows._POSTINGS} WHERE account = ? ORDER BY number DESC LIMIT 1", account)
        return None if row is None else rows._posting(row)

    monkeypatch.setattr(rows.TableRows, "tally", believed)
    flip_the_index(path)
    with open_ledger(path) as ledger:
        assert ledger.spent(VISITS.name) == Loss("0.3")
