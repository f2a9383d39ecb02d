"""The questions that analysts asked, so that their answers can be shown again: by the key of each in the ledger."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import Any

from discreet.accounting.loss import Loss
from discreet.errors import LedgerError
from discreet.server.desk import slot_of_answer
from discreet.server.history import History
from discreet.server.problems import not_there
from discreet.server.records.state import Row, ServiceState
from discreet.session.analyst import AnalystBudget, AnalystSession, PlanSummary

MOST = 10_000
"""Of so many answers it is known since when they are waited for."""


class Began:
    """Notes that a question was charged: the session says each step, and reads data only after the charge.

    Attributes:
        dataset: of the question.
        came: when it came, in microseconds since 1970.
        key: of the answer, which is not to be had before its slot; empty where it could be had before.
        price: once it was charged.
        charged: is told once it is charged.
        budget: of the analyst right after the charge; None before, and where it could not be read.
    """

    def __init__(self, dataset: str, came: int) -> None:
        self.dataset = dataset
        self.came = came
        self.key = ""
        self.look: PlanSummary | None = None
        self.price: Loss | None = None
        self.charged: Callable[[], None] | None = None
        self.budget: AnalystBudget | None = None
        self._session: AnalystSession | None = None

    def see(self, look: PlanSummary, known: bool, session: AnalystSession | None = None) -> None:
        """Note the plan of the question, whether its answer is known, and the session that it is asked."""
        self._session = session
        _ASKING.set(self)
        self.look = look
        self.key = "" if known else look.key

    def __call__(self, words: str) -> None:
        """Note that it was charged."""
        first, self.price = self.price is None, self.look.loss if self.look else None
        if not first:
            return
        if self.charged is not None:
            self.charged()
        if self._session is not None:
            with contextlib.suppress(LedgerError):
                self.budget = self._session.budget_here


_ASKING: ContextVar[Began | None] = ContextVar("asking", default=None)
"""The question of this thread."""


def budget_beside(session: AnalystSession) -> AnalystBudget:
    """The budget beside an answer: that right after its charge; now where nothing was charged.

    Read when the work ended, it would count all other charges until then, and so tell when that was.
    """
    own = _ASKING.get()
    return session.budget if own is None or own.budget is None else own.budget


class Asks:
    """The questions of all analysts.

    Args:
        state: where they are kept.
        histories: the charges of each data set.
        at_work: the questions that this process has at work.
        slot: seconds of the shortest slot in which answers come; 0 for none.
        steady: seconds by a clock that nobody sets.
    """

    def __init__(
        self,
        state: ServiceState,
        histories: Mapping[str, History],
        at_work: Callable[[], Sequence[object]],
        slot: float,
        steady: Callable[[], float] = monotonic,
    ) -> None:
        self._state = state
        self._histories = histories
        self._at_work = at_work
        self._slot = slot
        self._steady = steady
        self._lock = threading.Lock()
        self._latest: OrderedDict[tuple[str, str], float] = OrderedDict()

    def note(self, name: str, dataset: str, key: str, asked: Mapping[str, Any], began: Began) -> bool:
        """Keep the question, so that its answer can be shown again; whether it is a new one.

        It is kept with the moment at which it came. Its answer comes in the slot of that moment. Who asks the same
        meanwhile, in this process or another one, is not charged, and does not move it. Whoever is charged for a
        question that somebody asked before does.
        """
        row = (name, dataset, key)
        if self._histories[dataset].answered(key) and self._state.first_row(
            "SELECT 1 FROM asks WHERE name = ? AND dataset = ? AND key = ?", row
        ):
            return False
        new = self._state.together(
            lambda: self._state.run(
                "INSERT INTO asks (name, dataset, key, body, made, came) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (*row, json.dumps(asked, default=str), self._state.now(), began.came),
            )
        )
        if not new:
            began.charged = partial(self._came, row, began.came)
        return bool(new)

    def _came(self, row: tuple[str, str, str], came: int) -> None:
        """Note when a question came that was charged. Where it cannot be noted, the slot is that of the first time."""
        with contextlib.suppress(LedgerError):
            self._state.together(
                lambda: self._state.run(
                    "UPDATE asks SET came = ? WHERE name = ? AND dataset = ? AND key = ?", (came, *row)
                )
            )

    def took(self, began: Began) -> float | None:
        """After how many seconds the ledger kept the answer, or the error, of a question whose work is done.

        None where it kept none, or cannot be read any more: then the question has the slot in which its work ended.
        """
        if began.price is None or began.look is None:
            return None
        history = self._histories[began.dataset]
        with contextlib.suppress(LedgerError):
            history.catch_up(here=True)
        settled = history.settled(began.look.key)
        if settled is None or settled.charged.timestamp() < began.came / 1e6:  # an earlier answer
            return None
        return max(settled.kept.timestamp() - began.came / 1e6, 0.0)

    def forget(self, name: str, dataset: str, key: str) -> None:
        """Forget a question that was refused, or refused ones would fill the disk; never one that was paid for."""
        if not self._histories[dataset].paid(name, key):
            self._state.run(
                "DELETE FROM asks WHERE name = ? AND dataset = ? AND key = ?", (name, dataset, key)
            )

    def at_work(self, dataset: str, key: str) -> bool:
        """Whether this process is at work on a question: until the slot of its answer."""
        return bool(self._asking(dataset, key))

    def held_back(self, dataset: str, key: str) -> bool:
        """Whether the slot of an answer has not come, in this process or another one; it is as good as not there."""
        return self.at_work(dataset, key) or self._before_slot(dataset, key)

    def answered(self, dataset: str, key: str) -> bool:
        """Whether an answer is there and its slot has come."""
        # In this order: an answer that comes in between is not there yet.
        return self._histories[dataset].answered(key) and not self.held_back(dataset, key)

    def to_wait_for(self, dataset: str, key: str) -> bool:
        """Whether an answer that is there is held back from the question of this thread.

        Only those who had it computed are waited for, or two who ask the same again would wait for each other.
        """
        own = _ASKING.get()
        if own is not None and (own.dataset, own.key) == (dataset, key):
            if own.price is not None:
                return False
            own.key = ""  # another process has answered it, which was not known when this one began
        computed = any(question.price is not None for question in self._asking(dataset, key))
        return computed or self._before_slot(dataset, key)

    def _asking(self, dataset: str, key: str) -> list[Began]:
        """Who asks a question in this process, until the slot of its answer."""
        about = [question for question in self._at_work() if isinstance(question, Began)]
        return [question for question in about if (question.dataset, question.key) == (dataset, key)]

    def _before_slot(self, dataset: str, key: str) -> bool:
        """Whether the slot of an answer in the ledger has not come, by the clock.

        The times of the ledger are those of the clock of the machine. Where it was set back since, the slot would be
        as far away as that: so whoever waits here waits no longer, by a clock that nobody sets, than from the answer
        to its slot.
        """
        if not self._slot:
            return False
        # The same is read whether it is there or not, or the time of a preview would tell when it came.
        rows = self._state.all("SELECT name, came FROM asks WHERE dataset = ? AND key = ?", (dataset, key))
        settled = self._histories[dataset].settled(key)
        if settled is None:
            return False
        charged, kept = settled.charged.timestamp(), settled.kept.timestamp()
        # The question of whoever was charged, noted before or at the charge. An early version of the service did not
        # note when they came: they have 0.
        noted = [row["came"] / 1e6 for row in rows if row["name"] == settled.analyst]
        came = next((moment for moment in noted if 0 < moment <= charged), charged)
        took = max(kept - came, 0.0)
        slot = slot_of_answer(took, self._slot)
        early = self._state.exactly() / 1e6 < came + slot
        return self._in_bounds(dataset, key, early, slot - took)

    def _in_bounds(self, dataset: str, key: str, early: bool, longest: float) -> bool:
        """Whether it is too early for an answer, and was no longer than this since it was first looked at."""
        now = self._steady()
        with self._lock:
            if not early:
                self._latest.pop((dataset, key), None)
                return False
            latest = self._latest.setdefault((dataset, key), now + longest)
            if len(self._latest) > MOST:
                self._latest.popitem(last=False)
            return now < latest

    def of(self, name: str, dataset: str) -> list[Row]:
        """All questions of an analyst about a data set."""
        return self._state.all("SELECT * FROM asks WHERE name = ? AND dataset = ?", (name, dataset))

    def asked(self, name: str, dataset: str, key: str) -> dict[str, Any]:
        """A question, as the keyword arguments of `Session.sql`.

        Raises:
            NotThere: there is none of this key of this analyst.
        """
        row = self._state.first_row(
            "SELECT body FROM asks WHERE name = ? AND dataset = ? AND key = ?", (name, dataset, key)
        )
        if row is None:
            raise not_there()
        asked: dict[str, Any] = json.loads(row["body"])
        return asked
