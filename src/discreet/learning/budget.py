"""The budget that learners are charged to, shared by all that look at the same people."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from discreet.errors import InvalidParameter
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.policy import Policy
from discreet.release import gate
from discreet.release.account import DataAccount
from discreet.release.bill import Bill, billed
from discreet.release.guarantee import Guarantee
from discreet.session.budget import DATA_SET, BudgetState, account_of

if TYPE_CHECKING:
    from discreet.release.plan import Answer, Noisy, ReleasePlan

_LEDGER = ("ledger", "account")
"""The attributes that stay with the process, and with the people."""
_UNITS = "column units"
"""The privacy unit in a guarantee where rows belong to people."""


class ChargedAccount(Protocol):
    """Private rows or a budget of them."""

    @property
    def ledger(self) -> Ledger:
        """The ledger that is charged."""

    @property
    def account(self) -> DataAccount:
        """Its account."""


def bought(plan: ReleasePlan[Noisy, Answer], payer: ChargedAccount) -> Answer:
    """The answer to a release; every error names the charge, that of a machine that is gone as well."""
    with Bill() as own, billed(own):
        return gate.release(plan, payer.ledger, payer.account)


class LearningBudget:
    """A ledger for everything that is learned from the same people. Copies of it are itself.

    A model can be saved with it, by `pickle` or `joblib`, but the ledger stays behind: the budget that is read back
    has none, so that nothing is spent twice. Give the model a budget before it is fitted again.

    Args:
        budget: an epsilon, or a `Budget`.
        ledger: a file or an address; by default in memory, for this process.
        name: of the data set in the ledger.
        neighbours: "replace_one", where each row is one person and their number is public; or "add_remove", where
            people have any number of rows.

    Raises:
        PolicyError: the budget cannot be read, or its ledger holds a loss for other units, which cannot be converted.

    Example:
        >>> budget = LearningBudget(3)
        >>> budget.state.left
        Fraction(3, 1)
    """

    def __init__(
        self,
        budget: Any,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "arrays",
        neighbours: Literal["add_remove", "replace_one"] = "replace_one",
    ) -> None:
        policy = Policy.for_table(name, privacy_unit="row", budget=budget, neighbours=neighbours)
        self.neighbours: Literal["add_remove", "replace_one"] = neighbours
        self.ledger: Ledger = open_ledger(ledger or ":memory:")
        self._limit = policy.budget
        limit = Loss(policy.budget.epsilon, policy.budget.delta)
        account = Account(account_of(DATA_SET, policy.budget.version), limit, policy.budget.accountant)
        guarantee = Guarantee.declared(policy)
        if neighbours == "add_remove":  # an epsilon for rows is another one than for all rows of a person
            guarantee = replace(guarantee, units=dict.fromkeys(guarantee.units, _UNITS))
        self.account = DataAccount(self.ledger, account, guarantee, exact=False)

    @property
    def state(self) -> BudgetState:
        """Total, spent and left."""
        spent = self.account.spent()
        return BudgetState(self._limit.epsilon, spent.epsilon, self._limit.delta, spent.delta)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # scikit-learn copies the parameters of estimators, and a copy must not spend twice

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _LEDGER}

    def __getattr__(self, name: str) -> Any:
        if name in _LEDGER:
            raise InvalidParameter(
                "This budget was saved with a model, and its ledger is not here.",
                "Write model.set_params(budget=LearningBudget(…)), with the ledger of these people.",
            )
        raise AttributeError(name)

    def __repr__(self) -> str:
        if "ledger" not in vars(self):
            return "<LearningBudget, without its ledger>"
        return f"<LearningBudget, epsilon {float(self.state.left):g} left>"
