"""A ledger that was removed is no new budget without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.accounting.loss import Loss
from discreet.errors import LedgerError
from discreet.ledger import Account, exists, open_ledger
from discreet.ledger.sqlite import making

VISITS = Account("visits", Loss(1))


def removed(folder: Path, *kept: str) -> Path:
    """A ledger with a charge whose files are removed but for some."""
    path = folder / "l.db"
    with open_ledger(path) as ledger:
        ledger.charge("q", Loss("0.9"), [VISITS])
    for one in folder.glob("l.db*"):
        if one.name.removeprefix("l.db") not in kept:
            one.unlink()
    return path


def test_a_new_ledger_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for made in (True, False):
        with open_ledger(tmp_path / "l.db") as ledger:
            assert ledger.made is made
    (said,) = caplog.messages
    assert said == f"a new ledger was made: {tmp_path / 'l.db'}; nothing is spent yet"


def test_a_ledger_in_memory_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    open_ledger(None).close()
    assert not caplog.messages


@pytest.mark.parametrize("kept", ["-journal", "-turns"])
def test_a_ledger_removed_with_its_head_is_missed_by_its_other_files(tmp_path: Path, kept: str) -> None:
    path = removed(tmp_path, kept)
    assert exists(str(path))
    with pytest.raises(LedgerError, match="There was one") as caught:
        open_ledger(path)
    assert kept in caught.value.cause
    (tmp_path / f"l.db{kept}").unlink()
    with open_ledger(path) as ledger:
        assert ledger.made


def test_all_files_removed_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = removed(tmp_path)
    caplog.clear()
    with open_ledger(path) as ledger:
        assert ledger.spent("visits") == Loss(0)
    assert len(caplog.messages) == 1


def test_a_fresh_budget_without_a_word_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks for the other files."""
    monkeypatch.setattr(making, "_see_new", lambda where, place: None)
    with open_ledger(removed(tmp_path, "-journal", "-turns")) as ledger:
        assert ledger.spent("visits") == Loss(0)
