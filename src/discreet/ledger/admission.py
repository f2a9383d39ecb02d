"""Whether an account admits a charge, and the words where it does not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.loss import Loss, at_least, at_most
from discreet.accounting.tally import OWN, Tally, admits, price
from discreet.errors import BudgetExceeded
from discreet.ledger.chain.entry import Account, Entry, Posting
from discreet.ledger.chain.verify import check
from discreet.ledger.store import PAGE, LedgerRows

if TYPE_CHECKING:
    from discreet.accounting.events import Event


def priced(loss: Loss | Event) -> tuple[Loss, str]:
    """The loss to charge, and the text of the event that is priced; empty where only a loss was said."""
    if isinstance(loss, Loss):
        return loss, ""
    from discreet.accounting.event_text import written
    from discreet.accounting.pricing import loss_of

    return loss_of(loss), written(loss)


def rho_of(loss: Loss | Event) -> Fraction | None:
    """The rho to charge, where the event says one."""
    if isinstance(loss, Loss):
        return None
    from discreet.accounting.pricing import rho_of

    return rho_of(loss)


def admit_charge(rows: LedgerRows, account: Account, cost: Loss, rho: Fraction | None = None) -> Posting:
    """The posting of a charge.

    Args:
        rows: of the ledger.
        account: that is charged.
        cost: its loss, rounded up.
        rho: its zCDP, where the event says one.

    Raises:
        BudgetExceeded: the account has too little left.
    """
    # Rounding the limit down changes no decision: totals are multiples of 1/UNIT themselves.
    latest, limit = rows.tally(account.name), account.limit.rounded_down()
    before = latest.tally if latest else Tally()
    after = before.plus(cost, rho)
    if not admits(account.rule, after, limit):
        raise _exceeded(account, before, after, cost, limit)
    return Posting(account.name, cost, after.loss, limit, account.rule, after.squares, after.count)


def _exceeded(account: Account, before: Tally, after: Tally, cost: Loss, limit: Loss) -> BudgetExceeded:
    spent = price(account.rule, before, limit.delta)
    # By another rule than the sum, a question costs the rise of the price, which depends on the past.
    asked = max(Fraction(0), price(account.rule, after, limit.delta).epsilon - spent.epsilon)
    left = max(Fraction(0), limit.epsilon - spent.epsilon)
    asked_words, left_words, fix = at_least(asked), at_most(left), ""
    own = limit.delta if account.rule == "pure" else OWN * limit.delta
    overdrawn = before.loss.delta > own  # the budget granted more when that was spent
    if overdrawn:
        fix = (
            f"Delta {at_least(before.loss.delta)} was spent already, more than this budget grants: ask with a budget "
            "that grants so much, or ask the steward to write delta under [budget] of the policy."
        )
    elif cost.delta and not limit.delta:
        fix = (
            "No delta is granted: group by public keys, or ask the steward to write one under [budget] of the "
            "policy, such as delta = 1e-6, far below one over the number of units (without a policy "
            "budget=Budget(epsilon=…, delta=…) in Python)."
        )
    elif cost.delta > own - before.loss.delta:
        fix = "Ask with a smaller delta, or ask the steward for a larger one."
    if cost.delta or overdrawn or (limit.delta and account.rule == "pure"):
        asked_words += f" and delta {at_least(cost.delta)}"
        left_words += f" and delta {at_most(max(Fraction(0), own - before.loss.delta))}"
    return BudgetExceeded(account.name, asked_words, left_words, fix)


def last_charge(rows: LedgerRows, account: str) -> Entry | None:
    """The last charge of an account that gives its guarantee: almost always the one that posted to it last."""
    line = rows.tally(account)
    if line is None:  # an account without a charge: no need to walk back to the start
        return None
    posted = rows.posted(account)
    # The count of charges rises with each posting, and was compared with the book: no earlier entry has this one.
    if posted is not None and posted.guarantee and line in posted.postings:
        check(posted)
        return posted
    last, count = rows.book().head.number, 4
    while last > 0:
        first = max(0, last - count)
        for entry in reversed(rows.after(first, last - first)):
            if entry.guarantee and any(line.account == account for line in entry.postings):
                check(entry)
                return entry
        last, count = first, min(2 * count, PAGE)
    return None


def spent_of(line: Posting | None, account: str | Account, extra: Loss | Event | None) -> Loss:
    """The price of the latest posting of an account, with a loss or an event to come; see `Ledger.spent`."""
    tally = line.tally if line else Tally()
    if extra is not None:
        tally = tally.plus(priced(extra)[0].rounded_up(), rho_of(extra))
    if not isinstance(account, str):
        return price(account.rule, tally, account.limit.rounded_down().delta)
    return price(line.rule, tally, line.limit.delta) if line else tally.loss
