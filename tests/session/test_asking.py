"""Every error of a question says what it cost, and a session stays in the process that opened it."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import shared
from tests.warm import programs

import discreet as dp
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    LedgerCorrupt,
    LedgerError,
    PostProcessingError,
    QueryRefused,
    SessionError,
)
from discreet.ledger import Ledger, Loss, open_ledger
from discreet.ledger.group_commit import fail
from discreet.ledger.sqlite import store
from discreet.ledger.sqlite.head import HeadFile
from discreet.release.bill import Bill
from discreet.session.queries import Queries

COUNT = "SELECT COUNT(*) AS n FROM data"


TABLE = pa.table({"age": [31, 47, 62], "x": [1, 2, 3]})


def opened() -> dp.Session:
    return shared.protect(TABLE, privacy_unit="row", bounds={"age": (0, 120)}, budget=1)


def spent(session: dp.Session) -> Fraction:
    return session.budget.spent


def raised(action: Callable[[], object], kind: type[BaseException] = Exception) -> BaseException:
    with pytest.raises(kind) as caught:
        action()
    return caught.value


def test_an_error_before_the_charge_says_that_nothing_was_charged() -> None:
    session = opened()
    session.sql(COUNT, 0.5)
    for action, kind in (
        (lambda: session.sql("SELECT age FROM data", 0.1), QueryRefused),
        (lambda: session.sql(COUNT, -1), InvalidParameter),
        (lambda: session.sql(COUNT, 0.75), BudgetExceeded),
        (lambda: session.sql("SELECT nosuch(COUNT(*)) AS n FROM data", 0.1), QueryRefused),
        (lambda: session.write(COUNT, 0.1, "answer.txt"), InvalidParameter),
        (lambda: session.preview("SELECT age FROM data", 0.1), QueryRefused),
        (lambda: session.explain("SELECT age FROM data"), QueryRefused),
        (lambda: session.release(lambda: 1, 1, -1, what="one"), InvalidParameter),
    ):
        error = raised(action, kind)
        assert isinstance(error, DiscreetError)
        assert error.charged is None
        assert str(error).endswith("Nothing was charged.")
    assert spent(session) == Fraction(1, 2)


def test_an_error_after_the_charge_says_the_exact_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()

    def fails(*_: object) -> None:
        raise EngineError("The engine could not finish the query.")

    monkeypatch.setattr(Queries, "run", fails)
    error = raised(lambda: session.sql(COUNT, "1/3"), EngineError)
    assert isinstance(error, DiscreetError)
    assert error.charged == Loss("1/3")
    assert str(error) == (
        "The engine could not finish the query. Charged: epsilon 0.333333334. It stays charged."
    )
    assert spent(session) == Fraction(1, 3)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, OSError, PostProcessingError, LedgerError])
def test_whatever_breaks_in_after_the_charge_says_it_too(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    session = opened()

    def fails(*_: object) -> None:
        raise kind("it broke")

    monkeypatch.setattr(Ledger, "settle", fails)
    error = raised(lambda: session.sql(COUNT, 0.25), kind)
    assert error.charged == Loss(0.25)  # type: ignore[attr-defined]
    said = str(error) + "".join(getattr(error, "__notes__", ()))
    assert "Charged: epsilon 0.25. It stays charged." in said


def test_own_numbers_say_it_too() -> None:
    session = opened()
    error = raised(lambda: session.release(lambda: "no number", 1, 0.25, what="one"), EngineError)
    assert error.charged == Loss(0.25)  # type: ignore[attr-defined]


@pytest.mark.parametrize("at", ["before", "after"])
def test_an_interrupt_within_the_charge_is_looked_up(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """An interrupt may come when the charge is on disk but not yet known here."""
    session, charge = opened(), Ledger.charge

    def interrupted(self: Ledger, *args: object, **kwargs: object) -> None:
        if at == "after":
            charge(self, *args, **kwargs)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "charge", interrupted)
    error = raised(lambda: session.sql(COUNT, 0.25), KeyboardInterrupt)
    assert error.charged == (Loss(0.25) if at == "after" else None)  # type: ignore[attr-defined]
    assert spent(session) == (Fraction(1, 4) if at == "after" else 0)


def test_a_bill_that_forgets_to_look_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: an interrupt within the charge counts as free."""
    monkeypatch.setattr(Bill, "_looked_up", lambda *_: None)
    with pytest.raises(AssertionError):
        test_an_interrupt_within_the_charge_is_looked_up(monkeypatch, "after")


def test_a_ledger_that_refused_as_damaged_charged_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **__: object) -> object:
        raise LedgerCorrupt("Entry 1 of the ledger was altered.", "Restore it.")

    session = opened()
    monkeypatch.setattr(Ledger, "charge", damaged)
    monkeypatch.setattr(Ledger, "newest", damaged)
    with pytest.raises(LedgerCorrupt, match="Nothing was charged") as caught:
        session.sql(COUNT, epsilon=0.5)
    assert caught.value.charged is None


def test_a_charge_whose_ledger_cannot_be_read_any_more_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()

    def fails(*_: object, **__: object) -> None:
        raise LedgerError("The disk is gone.")

    monkeypatch.setattr(Ledger, "charge", fails)
    monkeypatch.setattr(Ledger, "newest", fails)
    error = raised(lambda: session.sql(COUNT, 0.25), LedgerError)
    assert error.charged == Loss(0.25)  # type: ignore[attr-defined]


# Processes -------------------------------------------------------------------------------------------------

FORKED = """
import os, signal, sys
import discreet as dp
from discreet.errors import SessionError

if {planted}:
    import discreet.session.asking as asking
    asking.see_process = lambda process: None
session = dp.protect(sys.argv[1], privacy_unit="row", bounds={{"a": (0, 9)}}, budget=100)
session.sql("SELECT SUM(a) AS n FROM visits", 1)  # its threads are running now
child = os.fork()
if child == 0:
    signal.alarm(5)
    asks = (lambda: session.sql("SELECT SUM(a) AS s FROM visits WHERE a > 3", 2), lambda: session.budget,
            lambda: session.write("SELECT COUNT(*) AS n FROM visits", 2, "/nowhere/a.csv"),
            lambda: session.preview("SELECT COUNT(*) AS n FROM visits", 1),
            lambda: session.release(lambda: 1, 1, 1, what="one"), lambda: session.mock(),
            lambda: session.explain("SELECT COUNT(*) AS n FROM visits"))
    said = []
    for ask in asks:
        try:
            ask()
        except SessionError as error:
            said.append((error.charged, error.fix.startswith("Call protect")))
    repr(session)
    session.close()
    print(len(said) == len(asks) and all(one == (None, True) for one in said), flush=True)
    os._exit(0)  # DuckDB itself crashes where an interpreter ends that has forked with a connection open
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(code, session.budget.spent, len(session.sql("SELECT COUNT(*) AS n FROM visits", 3)), flush=True)
"""


def forked(folder: Path, planted: bool) -> list[str]:
    # So many rows that DuckDB reads them in several threads, which a fork does not copy.
    pq.write_table(pa.table({"a": np.arange(2_000_000) % 10}), folder / "visits.parquet")
    command = [str(programs() / "python"), "-", str(folder / "visits.parquet")]
    code = FORKED.format(planted=planted)
    done = subprocess.run(command, input=code, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def test_a_forked_child_is_refused_at_once_and_uncharged(tmp_path: Path) -> None:
    assert forked(tmp_path, planted=False) == ["True", "0 1 1"]


@pytest.mark.skipif(
    (os.cpu_count() or 1) < 2, reason="with one thread DuckDB has none that a child would miss"
)
def test_a_session_that_does_not_look_is_found(tmp_path: Path) -> None:
    """The planted fault: the child is charged, and hangs until its alarm goes off."""
    (line,) = forked(tmp_path, planted=True)
    code, spent, _ = line.split()
    assert int(code) == -signal.SIGALRM
    assert int(spent) == 3


def test_a_session_is_not_pickled() -> None:
    session = opened()
    for action in (lambda: pickle.dumps(session), lambda: copy.copy(session), lambda: copy.deepcopy(session)):
        error = raised(action, SessionError)
        assert "protect" in str(error)


def test_errors_travel_between_processes() -> None:
    for error in (
        QueryRefused("No.", "Ask otherwise."),
        raised(lambda: opened().sql(COUNT, 2), BudgetExceeded),
    ):
        assert isinstance(error, DiscreetError)
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert again.charged == error.charged


def replaced(place: Path, how: str) -> None:
    """Take a ledger away, or put another file in its place."""
    old = place.read_bytes()
    if how == "removed":
        place.unlink()
    elif how == "replaced":
        (place.parent / "copy").write_bytes(old)
        os.replace(place.parent / "copy", place)
    else:
        place.write_bytes(b"")


@pytest.mark.parametrize("how", ["removed", "replaced", "emptied"])
def test_a_ledger_that_is_gone_charges_nothing_and_says_so(tmp_path: Path, how: str) -> None:
    place = tmp_path / "ledger.db"
    session = dp.protect(TABLE, privacy_unit="row", bounds={"age": (0, 120)}, budget=5, ledger=place)
    session.sql(COUNT, 1)
    kept = place.read_bytes()
    replaced(place, how)
    for query in (f"{COUNT} WHERE x > 1", f"{COUNT} WHERE x > 2"):
        error = raised(lambda query=query: session.sql(query, 1), LedgerError)  # type: ignore[misc]
        assert isinstance(error, LedgerError)
        assert error.charged is None
        assert str(error).endswith("Nothing was charged.")
    session.close()
    place.write_bytes(kept)  # with the head, which went on naming the last charge
    with open_ledger(place) as ledger:
        assert ledger.verify() == 2  # one charge and its answer


@pytest.mark.parametrize("planted", [False, True])
def test_a_charge_whose_head_was_not_written_is_never_called_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    place = tmp_path / "ledger.db"
    session = dp.protect(TABLE, privacy_unit="row", bounds={"age": (0, 120)}, budget=5, ledger=place)
    session.sql(COUNT, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "full")

    if planted:  # every failure is taken for one before the commit

        def careless(requests: Any, problem: Exception, *, unwritten: bool = False) -> None:
            fail(requests, problem, unwritten=True)

        monkeypatch.setattr(store, "fail", careless)
    with monkeypatch.context() as patch:
        patch.setattr(HeadFile, "write", full)
        error = raised(lambda: session.sql(f"{COUNT} WHERE x > 1", 1), LedgerError)
    assert isinstance(error, LedgerError)
    assert session.budget.spent == 2  # the commit stood before the head was to be written
    assert (error.charged is None) is planted
