"""A session for one of several analysts of a data set, each with a budget of their own within that of the data set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.errors import InvalidParameter, QueryRefused
from discreet.ledger import Account, Loss
from discreet.ledger.terms import Terms
from discreet.rational import Number, epsilon_of, show
from discreet.records import dataclass, field
from discreet.release.account import AnalystAccount, ReadOnlyAccount
from discreet.release.answer import Release
from discreet.release.guarantee import Guarantee
from discreet.session.asking import asked, see_process
from discreet.session.base import OpenSession
from discreet.session.budget import DATA_SET, BudgetState, account_of
from discreet.session.parameters import GROUP_ROWS, see_cost
from discreet.session.question import ONE, SessionQuestion
from discreet.session.session import Session
from discreet.session.text_only import answer_about, read_price
from discreet.session.waiting.heavy import see_ends, shows_all
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.priced import looked_at

NAME = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*", re.ASCII)
LONGEST_NAME = 60
"""Characters of a name."""
_ANALYST = "analyst "


def name_of(name: object) -> str:
    """Read the name of an analyst: lower case and ASCII, so that no two names look alike.

    Raises:
        InvalidParameter: it is another text.

    Example:
        >>> name_of("ana.maria-2")
        'ana.maria-2'
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise InvalidParameter(
            "The name of an analyst is not 1 to 60 of a-z, 0-9 and single . _ or - between them, from a letter on.",
            "Choose one such as ana or ana.maria.",
        )
    return name


def account_name(name: str) -> str:
    """The account of an analyst in the ledger of a data set."""
    return f"{_ANALYST}{name}"


def analyst_of(account: str) -> str:
    """The analyst of an account; empty for another account."""
    return account.removeprefix(_ANALYST) if account.startswith(_ANALYST) else ""


@dataclass(frozen=True)
class AnalystBudget(BudgetState):
    """The budget of an analyst, within that of the data set.

    Attributes:
        data_set: the budget of the data set, which all analysts spend together.
    """

    data_set: BudgetState = field(kw_only=True)

    @property
    def left(self) -> Fraction:
        """The epsilon that the analyst can still ask for: both budgets must have it left."""
        return min(max(Fraction(0), self.epsilon - self.spent), self.data_set.left)

    @property
    def delta_left(self) -> Fraction:
        """The delta that the analyst can still ask for."""
        return min(max(Fraction(0), self.delta - self.delta_spent), self.data_set.delta_left)

    def __repr__(self) -> str:
        whole = self.data_set
        return f"{super().__repr__()}; of the data set {show(whole.left)} of {show(whole.epsilon)} left"


class PlanSummary(NamedTuple):
    """The plan of a question, in short.

    Attributes:
        key: the name under which the ledger keeps the answer; empty for one that costs nothing.
        groups: how many groups are measured.
        loss: the price.
        numbers: how many numbers are measured, or shown where the answer is all groups.
        versions: those of the data that the key is for.
    """

    key: str
    groups: int
    loss: Loss
    numbers: int = 0
    versions: tuple[str, ...] = ()


class AnalystSession(Session):
    """A session whose questions are charged to the data set and to one analyst, in one transaction.

    It shares engine, policy, catalogue and ledger with the session that it is made from, and leaves them open.

    Args:
        session: over the data set.
        name: of the analyst.
        epsilon: the most that the analyst may ever spend of the data set's budget.
        most: the most that one question may cost; None for no cap of its own.
        until: seconds since 1970, after which nothing more is charged; None for no end.
        hidden: says of an answer, by its key, whether a preview may not tell yet that it is there; None for never.
        held: says of it whether whoever asks the same has to wait for it; None for never.

    Raises:
        InvalidParameter: the name or epsilon cannot be used.
        PolicyError: the charges so far cannot be converted to the present policy.
        LedgerError: the ledger cannot be read.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> ages = pa.table({"age": [31, 47, 62]})
        >>> session = dp.protect(ages, privacy_unit="row", bounds={"age": (0, 120)}, budget=2)
        >>> ana, ben = AnalystSession(session, "ana", 1), AnalystSession(session, "ben", 1)
        >>> number = ana.sql("SELECT COUNT(*) AS n FROM data", epsilon=0.5)["n"]
        >>> number == ben.sql("SELECT COUNT(*) AS n FROM data", epsilon=0.5)["n"]
        True
        >>> ana.budget
        epsilon 0.5 left of 1 (0.5 spent); of the data set 1.5 of 2 left
        >>> ben.budget
        epsilon 0.5 left of 1 (0.5 spent); of the data set 1.5 of 2 left
    """

    def __init__(
        self,
        session: OpenSession,
        name: str,
        epsilon: Number,
        *,
        most: Number | None = None,
        until: int | None = None,
        hidden: Callable[[str], bool] | None = None,
        held: Callable[[str], bool] | None = None,
    ) -> None:
        vars(self).update(vars(session))
        self.name = name_of(name)
        limit, policy = epsilon_of(epsilon), self._policy
        budget = policy.budget
        house, mine = (account_of(subject, budget.version) for subject in (DATA_SET, account_name(name)))
        whole = Account(house, Loss(budget.epsilon, budget.delta), budget.accountant)
        own = Account(mine, Loss(limit, budget.delta), budget.accountant)
        guarantee = Guarantee.of(policy, self._catalog)
        self.terms = Terms(limit, None if most is None else epsilon_of(most), until)
        self._account: AnalystAccount = AnalystAccount(
            self._ledger, whole, own, guarantee, self.name, self.terms
        )
        self._queries = self._queries.paid_by(self._account)
        self._queries.hidden = hidden or self._queries.hidden
        self._queries.held = held or self._queries.held
        self._kept = self._queries.paid_by(ReadOnlyAccount(self._ledger, whole, guarantee))

    @property
    def budget(self) -> AnalystBudget:
        """The analyst's budget: total, spent and left, within that of the data set."""
        return self._budget(here=False)

    @property
    def budget_here(self) -> AnalystBudget:
        """The same as this process knows it: with all that it charged, and all that was charged before that."""
        return self._budget(here=True)

    def _budget(self, *, here: bool) -> AnalystBudget:
        see_process(self._process)
        granted, (whole, own) = self._policy.budget, self._account.both_spent(here=here)
        shares = self._account.shares
        data_set = BudgetState(granted.epsilon, whole.epsilon, granted.delta, whole.delta, shares)
        return AnalystBudget(
            self.terms.epsilon, own.epsilon, granted.delta, own.delta, shares, data_set=data_set
        )

    @asked
    @read_price
    def look(self, /, query: str, epsilon: Number | None = None, **options: Any) -> PlanSummary:
        """The name, the size and the price of an answer, from the plan of its question; nothing is read or charged.

        Args:
            query: as for `sql`.
            epsilon: as for `sql`.
            options: as for `sql`.

        Raises:
            InvalidParameter: as for `sql`.
            QueryRefused: as for `sql`.
        """
        if looked_at(query) is not None:
            return PlanSummary("", 0, Loss(0))
        question = SessionQuestion.read(query, ONE if epsilon is None else epsilon, **options)
        plan = self._queries.planned(question)
        if not plan.releases:
            return PlanSummary("", 0, Loss(0))
        see_cost(epsilon, plan)
        groups = max(release.cells for release in plan.releases)
        versions = self.versions()
        key = self._queries.identity(plan, versions)
        return PlanSummary(key, groups, Loss(plan.epsilon, plan.delta), _numbers(plan), versions)

    def versions(self) -> tuple[str, ...]:
        """The present versions of the private tables; nothing of them is read."""
        return self._queries.versions()

    @asked
    @read_price
    def try_out(self, /, query: str, epsilon: Number | None = None, **options: Any) -> None:
        """See that the part of a question above its noisy tables would end; nothing is read or charged.

        Args:
            query: as for `sql`.
            epsilon: as for `sql`.
            options: as for `sql`.

        Raises:
            QueryRefused: it takes too long on invented numbers.
        """
        if looked_at(query) is None:
            question = SessionQuestion.read(query, ONE if epsilon is None else epsilon, **options)
            see_ends([self._queries.planned(question)], self._queries.catalog.public, question.level)

    @asked
    def try_out_workload(self, /, queries: Mapping[str, str], epsilon: Number, **options: Any) -> None:
        """The same of several questions that are asked as one, as for `workload`."""
        from discreet.session.workloads import asked_together

        _, question, _, each = asked_together(self._queries, queries, epsilon, **options)
        see_ends(each, self._queries.catalog.public, question.level)

    @asked
    def look_at_workload(self, /, queries: Mapping[str, str], epsilon: Number, **options: Any) -> PlanSummary:
        """The same of several questions that are asked as one, as for `workload`."""
        from discreet.session.workloads import asked_together

        _, question, plan, each = asked_together(self._queries, queries, epsilon, **options)
        if not plan.releases:
            return PlanSummary("", 0, Loss(0))
        groups = sum(release.cells for release in plan.releases)
        numbers = sum(_numbers(part) for part in each)
        return PlanSummary(self._queries.identity(plan), groups, question.loss(plan.delta > 0), numbers)

    @asked
    @read_price
    def epsilon_for(
        self, /, query: str, within: Mapping[str, Number], group_rows: int = GROUP_ROWS, **options: Any
    ) -> Fraction:
        """The least epsilon for which a question is expected to err so little; nothing is read or charged.

        Args:
            query: as for `sql`.
            within: as for `sql`.
            group_rows: as for `sql`.
            options: as for `sql`.

        Raises:
            InvalidParameter: as for `sql`.
            QueryRefused: as for `sql`.
        """
        from discreet.session.memory.answering import least

        if "epsilon" in options:  # of the text
            raise InvalidParameter("A question has either epsilon or within.", "Leave one of them out.")
        question = SessionQuestion.read(query, ONE, **options)
        self._queries.rehearse(self._queries.planned(question))
        return least(self._queries, question, within, group_rows, reuse=False)[0]

    @asked
    @answer_about
    @read_price
    def again(self, /, query: str, epsilon: Number | None = None, **options: Any) -> Release:
        """Show an answer that this analyst has paid for, from the ledger; nothing is ever charged, and no data is read.

        Args:
            query: as for `sql`.
            epsilon: as for `sql`.
            options: as for `sql`.

        Raises:
            QueryRefused: there is none, or the analyst has not paid for it.
        """
        question = SessionQuestion.read(query, ONE if epsilon is None else epsilon, **options)
        plan = self._kept.planned(question)
        if plan.releases and self._account.owes(self._kept.identity(plan)):
            raise QueryRefused("This answer was never given to you.", "Ask the question, which is charged.")
        return self._kept.answer(question, plan, lambda _: None)

    def close(self) -> None:
        """Nothing: engine and ledger belong to the session of the data set."""


def _numbers(plan: QueryPlan) -> int:
    """How many numbers are measured, or shown where the answer is all groups."""
    shown = len(plan.post.selects) if shows_all(plan.post) else 0
    each = (release.cells * max(len(release.aggregates), shown) for release in plan.releases)
    return max(each, default=0)
