"""The service: data sets, people and desks, and the things that callers do with them."""

from __future__ import annotations

import datetime as dt
import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from discreet.accounting.loss import Loss
from discreet.arrow import values_of
from discreet.errors import DiscreetError, NotAllowed, PostProcessingError, QueryRefused, TimedOut, tell
from discreet.ledger.terms import Terms
from discreet.records import dataclass, field
from discreet.release.answer import Release
from discreet.release.exactly import exact
from discreet.server.dataset import DataSet
from discreet.server.desk import Caps, Desk, TooLong
from discreet.server.later import Later
from discreet.server.oidc.identities import Identities
from discreet.server.oidc.provider import Provider
from discreet.server.pages.draft import PolicyDraft
from discreet.server.people import Caller, People
from discreet.server.problems import not_there, told
from discreet.server.rate import Rate
from discreet.server.records.asks import Asks, Began
from discreet.server.records.counted import RequestCounts
from discreet.server.records.sent import Sent
from discreet.server.records.state import ServiceState
from discreet.session.analyst import AnalystSession, PlanSummary
from discreet.session.workloads import Answers

T = TypeVar("T")
MOST_GROUPS = 65_536
"""Groups of an answer that the service gives; larger ones are for `Session.write` at the data."""
MOST_VALUES, MOST_BYTES = 1_000_000, 32 << 20
"""Values of an answer, those inside of lists too, and its bytes: written as JSON, each takes some hundred bytes."""
TOO_LARGE = "The answer has more rows or values than the service gives.", "Ask for fewer of them."
LARGE = 50_000
"""From so many values on, answers are written one after the other."""
LOG = logging.getLogger("discreet.server")
FREE = Caps(workers=8, waiting=64, each=4, timeout=60.0, slot=0)
"""The desks of everything that costs nothing and reads no data: no slots are needed. One caller cannot fill one."""


@dataclass(frozen=True)
class ServiceSettings:
    """The steward's settings of a service.

    Attributes:
        caps: of questions that are charged.
        rate: requests of a caller in a second.
        burst: requests of a caller at once.
        hosts: the names by which the service is called; a request by another one is refused.
        secure: whether it is reached through https, by a proxy.
        public_url: the address of that proxy; empty without one.
    """

    caps: Caps = field(default_factory=Caps)
    rate: float = 20.0
    burst: float = 60.0
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    secure: bool = False
    public_url: str = ""


@dataclass
class Service:
    """Everything behind the addresses and the pages.

    Attributes:
        datasets: by name.
        state: people, tokens, questions and the audit log.
        settings: of the steward.
        draft: the policy in the making, for a service that begins without data; None for every other one.
        secret: the way in to make it; holds once.
        provider: by which people sign in with an account elsewhere; None where tokens alone let them in.
    """

    datasets: dict[str, DataSet]
    state: ServiceState
    settings: ServiceSettings = field(default_factory=ServiceSettings)
    draft: PolicyDraft | None = None
    secret: str = ""
    provider: Provider | None = None

    def __post_init__(self) -> None:
        self.people = People(self.state)
        self.identities = Identities(
            self.people, "" if self.provider is None else self.provider.settings.issuer
        )
        self.questions = Desk(self.settings.caps, "questions")
        self.looks = Desk(FREE, "looks")
        self.office = Desk(FREE, "office")  # of stewards, whom no analyst may keep from revoking a token
        self._histories = {name: dataset.history for name, dataset in self.datasets.items()}
        self.asks = Asks(self.state, self._histories, self.questions.at_work, self.settings.caps.slot)
        for dataset in self.datasets.values():
            dataset.asks = self.asks
        self.later = Later(self)
        self.counted = RequestCounts()
        self.sent = Sent()
        self._large = threading.Lock()
        self.rate = Rate(self.settings.rate, self.settings.burst)
        self.strangers = Rate(2, 30)

    def close(self) -> None:
        """Wait for questions that are at work, and let go of everything."""
        for desk in (self.questions, self.looks, self.office):
            desk.close()
        for dataset in self.datasets.values():
            dataset.session.close()
        self.state.close()

    def open(self, dataset: DataSet) -> None:
        """Serve one more data set."""
        self._histories[dataset.name] = dataset.history
        dataset.asks = self.asks
        self.datasets[dataset.name] = dataset
        self.note_versions()

    def note_versions(self) -> None:
        """Write into the audit log which versions of the data the policies declare, once each."""
        for name, dataset in self.datasets.items():
            version = dataset.session.policy.budget.version
            with self.state.writing():
                if version and self.state.run(
                    "INSERT INTO versions VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (name, version, self.state.now()),
                ):
                    self.state.note("the policy", "new version of the data", f"{name}, {version}")

    # Data sets -------------------------------------------------------------------------------------------

    def visible(self, caller: Caller) -> list[DataSet]:
        """The data sets of a caller: a steward's are all, an analyst's those with a budget."""
        if caller.role == "steward":
            return list(self.datasets.values())
        return [self.datasets[name] for name in self.people.grants(caller.name) if name in self.datasets]

    def dataset(self, caller: Caller, name: str) -> DataSet:
        """A data set of a caller.

        Raises:
            NotThere: there is none of this name, or none for this caller.
        """
        found = next((dataset for dataset in self.visible(caller) if dataset.name == name), None)
        if found is None:
            raise not_there()
        return found

    def session(self, caller: Caller, name: str) -> AnalystSession:
        """The session of an analyst over a data set.

        Raises:
            NotThere: the analyst has no budget for it.
            NotAllowed: a steward asks.
        """
        if caller.role != "analyst":
            raise NotAllowed("A steward asks no questions here.", "Ask as an analyst with a budget.")
        terms = self.people.grants(caller.name).get(name)
        found = self.datasets.get(name)
        if terms is None or found is None:
            raise not_there()
        return found.analyst(caller.name, terms)

    # Questions -------------------------------------------------------------------------------------------

    async def look(self, caller: Caller, work: Callable[[], T]) -> T:
        """Do work that costs nothing, and tell its error as callers may know it."""
        try:
            desk = self.office if caller.role == "steward" else self.looks
            return await desk.do(caller.name, work)
        except TooLong:
            raise TimedOut("This takes too long. Nothing was charged.", "Ask for less at once.") from None
        except Exception as error:
            raise _spoken(error) from None

    async def ask(
        self,
        caller: Caller,
        name: str,
        asked: Mapping[str, Any],
        made: Callable[[Any, AnalystSession], T],
        began: Began | None = None,
    ) -> T:
        """Answer a question for its price.

        Args:
            caller: an analyst.
            name: of the data set.
            asked: the keyword arguments of `Session.sql`; of `Session.workload` where they hold `queries`.
            made: makes the answer's form, within the same slot of time.
            began: stands for the question at its desk.

        Raises:
            DiscreetError: as callers may know it.
        """
        began = began or Began(name, self.state.exactly())

        def work() -> T:
            session = self.session(caller, name)
            given = {name: value for name, value in asked.items() if name != "query"}
            look = session.look_at_workload(**given) if "queries" in asked else session.look(**asked)
            see_size(look)
            answered = (history := self.datasets[name].history).answered(look.key)
            if look.key and not (answered and history.paid(caller.name, look.key)):
                _try_out(session, asked)
            began.see(look, answered, session)
            new = bool(look.key) and self.asks.note(caller.name, name, look.key, asked, began)
            try:
                release = _answered(session, asked, began)
            except DiscreetError as error:
                if new and error.charged is None:
                    self.asks.forget(caller.name, name, look.key)
                raise
            price = None if release.replayed or not look.key else look.loss
            try:
                if look.key and not new:  # the same one may have been refused, and forgotten, meanwhile
                    self.asks.note(caller.name, name, look.key, asked, began)
                return self._written(_seen(release, price), session, made)
            except Exception as error:
                tell(error, price)
                raise

        try:
            return await self.questions.do(caller.name, work, began, partial(self.asks.took, began))
        except TooLong:
            late = TimedOut(
                "The question takes longer than the service allows. It goes on.",
                "Look at your history in a while: once it is answered, the answer is free.",
            )
            late.charged, late.told = began.price, True
            raise late from None
        except Exception as error:
            raise _spoken(error) from None

    async def mock(
        self,
        caller: Caller,
        name: str,
        asked: Mapping[str, Any],
        rows: int,
        made: Callable[[Release, AnalystSession], T],
    ) -> T:
        """Answer a question about invented rows, which costs nothing; each time with other rows."""

        def work() -> T:
            session = self.session(caller, name)
            see_size(session.look(**asked))
            with session.mock(rows) as invented:
                return self._written(see_rows(invented.sql(**asked)), session, made)

        return await self.look(caller, work)

    def _written(self, release: Any, session: AnalystSession, made: Callable[[Any, AnalystSession], T]) -> T:
        """The form of an answer; large ones are made one after the other, as each takes much memory."""
        if sum(values_of(part.values) for part in _each(release)) < LARGE:
            return made(release, session)
        with self._large:
            return made(release, session)

    def spent(self) -> dict[str, list[dict[str, Any]]]:
        """The budgets of all analysts and the losses spent of them, by name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for name in self.people.names("analyst"):
            for dataset, terms in self.people.grants(name).items():
                if dataset in self.datasets:
                    standing = self.datasets[dataset].standing(name, terms)
                    found.setdefault(name, []).append({"dataset": dataset, **standing, **shown(terms)})
        return found

    def releases(self, caller: Caller, name: str) -> list[dict[str, Any]]:
        """The answers that an analyst has paid for, the newest first; of several charges one at most bought it."""
        found = self.dataset(caller, name)
        if caller.role != "analyst":
            raise NotAllowed("A steward has no answers.", "The log of the data set has all questions.")
        paid = found.history.of(caller.name)
        rows = [row for row in self.asks.of(caller.name, name) if row["key"] in paid]
        return [
            {
                "key": row["key"],
                "asked": json.loads(row["body"]),
                "made": paid[row["key"]].made.isoformat(timespec="seconds"),
                "epsilon": paid[row["key"]].epsilon,
                "delta": paid[row["key"]].delta,
                "charges": found.history.times(caller.name, row["key"]),
                "answered": self.asks.answered(name, row["key"]),
            }
            for row in sorted(rows, key=lambda row: paid[row["key"]].number, reverse=True)
        ]

    async def again(
        self, caller: Caller, name: str, key: str, made: Callable[[Release, AnalystSession], T]
    ) -> T:
        """Show an answer that was paid for; it costs nothing, and nothing private is read.

        Raises:
            QueryRefused: there is no answer, or its slot has not come: the two are told alike, in every process.
        """
        asked = self.asks.asked(caller.name, name, key)
        if caller.role != "analyst":
            raise not_there()
        if "queries" in asked:
            raise QueryRefused("This was a workload.", "Ask it again with the same epsilon, which is free.")

        def work() -> T:
            session, history = self.session(caller, name), self.datasets[name].history
            unanswered = history.paid(caller.name, key) and not history.answered(key)
            if unanswered or self.asks.held_back(name, key):
                raise QueryRefused("This question has no answer yet.", "If it stays so, ask it again.")
            return self._written(see_rows(session.again(**asked)), session, made)

        return await self.look(caller, work)


def _try_out(session: AnalystSession, asked: Mapping[str, Any]) -> None:
    """See that the parts above the noisy tables would end, of a question or of several as one."""
    if "queries" in asked:
        session.try_out_workload(**{name: value for name, value in asked.items() if name != "query"})
    else:
        session.try_out(**asked)


def _answered(session: AnalystSession, asked: Mapping[str, Any], began: Began) -> Release | Answers:
    """Answer a question, or several as one."""
    if "queries" in asked:  # whose text stands beside it for lists of questions
        given = {name: value for name, value in asked.items() if name != "query"}
        return session.workload(**given, progress=began)
    return session.sql(**asked, progress=began)


def _each(answer: Release | Answers) -> list[Release]:
    return [answer] if isinstance(answer, Release) else list(answer.values())


def _seen(answer: Release | Answers, charged: Loss | None) -> Release | Answers:
    """The answer, none of whose parts is too large."""
    for part in _each(answer):
        see_rows(part, charged)
    return answer


def shown(terms: Terms) -> dict[str, str]:
    """The terms of a budget beside its limit, for documents and pages; only those that it has."""
    said = {} if terms.most is None else {"most": exact(terms.most)}
    if terms.until is not None:
        said["until"] = dt.datetime.fromtimestamp(terms.until - 1, dt.UTC).date().isoformat()
    return said


def see_size(look: PlanSummary) -> None:
    """Refuse an answer of very many groups or numbers, before it is charged.

    Raises:
        QueryRefused: it has more than MOST_GROUPS, or MOST_VALUES.
    """
    if look.groups > MOST_GROUPS:
        raise QueryRefused(
            f"The answer has {look.groups:,} groups, and the service gives at most {MOST_GROUPS:,}.",
            "Group by fewer columns, or filter the groups with WHERE.",
        )
    if look.numbers > MOST_VALUES:
        raise QueryRefused(
            f"The groups have {look.numbers:,} numbers together, and the service gives at most {MOST_VALUES:,}.",
            "Ask for fewer aggregates at once, or for fewer groups.",
        )


def see_rows(release: Release, charged: Loss | None = None) -> Release:
    """Refuse an answer that is too large: the query above its noisy tables made more of it than there are groups.

    Args:
        release: the answer.
        charged: its price, where it had one.

    Raises:
        PostProcessingError: it has more than MOST_GROUPS rows, MOST_VALUES values or MOST_BYTES.
    """
    if is_small(release.values):
        return release
    error = PostProcessingError(*TOO_LARGE)
    tell(error, charged)
    raise error


def is_small(table: Any) -> bool:
    """Whether a table of Arrow is none too large for an answer."""
    return table.num_rows <= MOST_GROUPS and table.nbytes <= MOST_BYTES and values_of(table) <= MOST_VALUES


def _spoken(error: Exception) -> DiscreetError:
    said = told(error)
    if said is not error:
        # The kind alone: the message of an engine may quote a value.
        LOG.error("a request failed: %s", type(error).__name__)
    return said
