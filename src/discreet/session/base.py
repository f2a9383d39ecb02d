"""An open session: its engine, its policy and its ledger, and the facts that it states without a question."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Self

from discreet.engines.engine import Engine
from discreet.escaping import name as one_line
from discreet.ledger import Account, Ledger, Loss
from discreet.policy import Policy
from discreet.release.account import DataAccount
from discreet.release.exactly import exact
from discreet.release.guarantee import Guarantee
from discreet.session.asking import no_pickle, see_process
from discreet.session.budget import DATA_SET, BudgetState, account_of
from discreet.session.queries import Queries
from discreet.session.sources.protected_files import ProtectedFiles, files_of
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.inspect.information import with_information

if TYPE_CHECKING:
    from discreet.release.cards.card import Card


class OpenSession:
    """The base of every session, for all kinds of questions.

    Args:
        engine: where the data is.
        policy: the declarations of the steward.
        ledger: where the budget is kept.
        invented: the session over real data whose tables were invented; None for one over real data.
    """

    def __init__(
        self, engine: Engine, policy: Policy, ledger: Ledger, *, invented: OpenSession | None = None
    ) -> None:
        self._process = os.getpid()
        self._engine = engine
        self._policy = policy
        self._ledger = ledger
        self._invented = invented is not None
        self._files: ProtectedFiles = files_of(engine, ledger) if invented is None else invented._files
        schemas = engine.schema()
        policy.check(schemas, getattr(engine, "csv_tables", ()))
        public = {name: engine.public(name) for name, table in policy.tables.items() if table.public}
        self._catalog = with_information(Catalog.build(policy, schemas, public), policy)
        limit = Loss(policy.budget.epsilon, policy.budget.delta)
        account = Account(account_of(DATA_SET, policy.budget.version), limit, policy.budget.accountant)
        self._account = DataAccount(ledger, account, Guarantee.of(policy, self._catalog))
        self._queries = Queries(engine, policy, self._catalog, ledger, self._account, invented=self._invented)

    def see_free(self, path: str | os.PathLike[str]) -> None:
        """See that a file of yours at this path would replace neither the data nor the ledger, by any link.

        Raises:
            InvalidParameter: it would.
        """
        self._files.see_free(path)

    @property
    def budget(self) -> BudgetState:
        """The budget of the data set: total, spent and left."""
        see_process(self._process)
        limit, spent = self._policy.budget, self._account.spent()
        return BudgetState(limit.epsilon, spent.epsilon, limit.delta, spent.delta, self._account.shares)

    @property
    def ledger(self) -> Ledger:
        """The ledger, for `entries()` and `verify()`."""
        return self._ledger

    @property
    def policy(self) -> Policy:
        """The steward's declarations."""
        return self._policy

    def card(self) -> Card:
        """The card of the deployment: all that the policy says of it, and the loss spent so far."""
        from discreet.release.cards.card import Card
        from discreet.release.cards.deployment import facts

        spent = self.budget
        record = {
            **facts(self._policy),
            "spent": {"epsilon": exact(spent.spent), "delta": exact(spent.delta_spent)},
        }
        return Card.of([(label, words) for label, words in self._policy.lines()], record)

    def close(self) -> None:
        """Release the engine and the ledger. In a forked child it does nothing: both are the parent's."""
        if os.getpid() != self._process:
            return
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise no_pickle()

    def __repr__(self) -> str:
        if os.getpid() != self._process:
            return "<Session of another process>"
        tables = ", ".join(map(one_line, self._policy.tables))
        invented = "invented " if self._invented else ""
        return f"<Session over {invented}{tables}: {self.budget!r}>"

    def _repr_html_(self) -> str:
        from discreet.escaping import table

        lines = self._policy.lines()
        title = "Session over invented tables" if self._invented else "Session"
        return table([("budget", repr(self.budget)), *lines], title)
