"""Thousands of damaged disks: each ends harmless, detected, or with a charge more than was acknowledged.

None ends overdrawn. A deep run tries 10,000, which take about two minutes. Each planted fault
below is a check of the ledger that is taken away, and the same faults then overdraw it.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.depth import examples
from tests.ledger import damage

from discreet.ledger import rows
from discreet.ledger.chain.book import Book, follow

FAULTS = examples(180, 10_000)


def test_no_fault_of_the_disk_overdraws_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    found = damage.count(FAULTS)
    with capsys.disabled():
        print(f"\n{damage.table(found)}")
    total: Counter[str] = sum(found.values(), Counter())
    assert total["overdrawn"] == 0
    assert sum(total.values()) == FAULTS
    assert min(total["harmless"], total["detected"], total["more"]) > 0, "some faults do nothing"
    assert all(any(kind.__name__.replace("_", " ") == name for name in found) for kind in damage.AFTER)


def test_every_write_of_a_charge_and_a_settlement_is_among_the_faults() -> None:
    run = damage.Recorded()
    assert run.end == run.after(len(run.log)), "what was written down is what was done"
    written = {(op.file, op.action) for op in run.log}
    for file in ("ledger.db", "ledger.db-head", "ledger.db-journal"):
        assert {(file, "write"), (file, "sync")} <= written
    assert len(run.acknowledged) == 2
    for at in run.acknowledged:
        last = run.log[at - 1]
        assert (last.action, last.file) == ("sync", "ledger.db-head"), "acknowledged once the head is on disk"


def overdrawn(kinds: tuple[str, ...], faults: int) -> int:
    run = damage.Recorded()
    fault = [kind for kind in damage.AFTER if kind.__name__ in kinds]
    became = [damage.judged_after(run, fault[at % len(fault)], random.Random(at)) for at in range(faults)]
    return became.count("overdrawn")


def test_without_the_second_place_an_old_copy_overdraws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the book is that of the database alone. 11 of 20 old copies are of the database."""

    def alone(rows: rows.TableRows, known: Book, look: int) -> Book:
        book = Book(rows.genesis(), {})
        for entry in rows.after(0, 1000):
            book = follow(book, entry)
        return book

    monkeypatch.setattr("discreet.ledger.rows.caught_up", alone)
    assert overdrawn(("old_copy", "lying_sync"), 60) > 0


def test_what_a_database_that_does_not_sync_would_lose_is_seen_by_the_head(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database's syncs are taken away, as with `synchronous = OFF`; all had been acknowledged."""
    recorded = damage.Recorded.__init__

    def unsynced(self: damage.Recorded) -> None:
        recorded(self)
        self.log = [op for op in self.log if not (op.action == "sync" and op.file == "ledger.db")]
        self.acknowledged = [0, 0]

    monkeypatch.setattr(damage.Recorded, "__init__", unsynced)
    run = damage.Recorded()
    became = Counter(damage.judged_after(run, damage.power_cut, random.Random(at)) for at in range(120))
    assert became["detected"] > 20, "the head sees what the database lost"
