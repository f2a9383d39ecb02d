"""The account of a data set in its ledger, under the guarantee that the policy gives now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.accounting.loss import at_most
from discreet.errors import BudgetExceeded, PolicyError, QueryRefused
from discreet.ledger import Account, Charge, Entry, Ledger, Loss
from discreet.ledger.admission import priced
from discreet.ledger.charged import charged_in
from discreet.ledger.description import described
from discreet.release.guarantee import Guarantee, cannot_reprice

if TYPE_CHECKING:
    from discreet.accounting.events import Event
    from discreet.ledger.terms import Terms

KNOWN = 64
"""How many notes of charges are kept, each by the note of the charge before: a session repeats few."""
TRIES = 5
"""How often a charge is tried while others change the guarantee."""


class DataAccount:
    """Charges one account of one ledger under one guarantee, and re-prices the charges made under an earlier one.

    Raises:
        PolicyError: the charges so far cannot be converted to this guarantee; see `guarantee`.
    """

    def __init__(
        self, ledger: Ledger, account: Account, guarantee: Guarantee, exact: bool = True, who: str = ""
    ) -> None:
        self._ledger = ledger
        self._account = account
        self._accounts = [account]
        self._guarantee = guarantee
        self._exact = exact
        self._texts: dict[tuple[str, tuple[int, ...]], str] = {}
        self._who = who
        self._terms: Terms | None = None
        self._last = ledger.latest(account.name)
        self._times(self._last)

    @property
    def neighbours(self) -> str:
        """The neighbouring data sets that an epsilon of this account speaks of."""
        return self._guarantee.neighbours

    @property
    def shares(self) -> Mapping[str, Fraction]:
        """By class of people, the part of every loss that they allow; empty where everybody allows the same."""
        return self._guarantee.shares

    def charge(
        self, question: str, event: Event, kept: Iterable[int], words: str, *, once: bool = False
    ) -> Charge:
        """Charge a question, after re-pricing the earlier charges if the policy has changed.

        Args:
            question: the canonical one.
            event: the event of its release; the price of the event is charged.
            kept: the caps of this question.
            words: the question in words.
            once: as for `Ledger.charge`.

        Raises:
            SettledElsewhere: as there.
            PolicyError: the guarantee has changed in the meantime, and there is no converting. Nothing was charged.
            BudgetExceeded: the budget does not have so much left. The question was not charged.
        """
        said = described(words, self._who)
        last, kept, price = self._last, tuple(kept), priced(event)[0]
        for turn in range(TRIES):
            if turn or last is None or self._times(last) != 1:
                last = self._last = self._ledger.latest(self._account.name)
                self._reprice(last)
            text = self._text(last, kept)

            def admit(found: Entry | None, text: str = text) -> None:
                self._see_terms(price)
                self._counts_once(found)
                if self._is_mine(found) and self._text(found, kept) != text:
                    raise _Changed

            try:
                return self._ledger.charge(
                    question, event, self._accounts, guarantee=text, description=said, admit=admit, once=once
                )
            except _Changed:
                continue  # another process, with another policy, was faster
        raise PolicyError(
            "Two processes ask this ledger under two policies.",
            "Let them use the same one.",
            key="neighbours",
        )

    def _see_terms(self, price: Loss) -> None:
        """See, within the transaction of a charge, the terms that the account has beside its limit."""
        if self._terms is not None:
            self._terms.see(self._accounts[-1].name, price)

    @property
    def most(self) -> Fraction | None:
        """The most that one question may cost; None for no cap beside the budget."""
        return None if self._terms is None else self._terms.most

    def owes(self, question: str) -> bool:
        """Whether an answer that the ledger kept has a price for this account: none, as it paid for all of them."""
        return False

    def receive(self, question: str, event: Event, kept: Iterable[int], words: str) -> Charge:
        """Charge for an answer that the ledger kept, where the account owes it."""
        return self.charge(question, event, kept, words)

    def spent(self, extra: Loss | Event | None = None) -> Loss:
        """The loss spent, as it counts under this guarantee, with a loss or an event that is not charged yet."""
        ((last, found),) = self._ledger.standings([self._account], extra)
        return self._counted(last, found, extra)

    def _counted(self, last: Entry | None, found: Loss, extra: Loss | Event | None) -> Loss:
        """A loss spent up to a charge, as it counts now."""
        times = self._times(last)
        if times == 1:
            return found
        spent = self._ledger.spent(self._account)
        more = Loss(0) if extra is None else priced(extra)[0].rounded_up()
        return Loss(times * spent.epsilon, spent.delta) + more

    def left(self, extra: Loss | Event | None = None) -> Fraction:
        """The epsilon left, with a loss or event that is not charged yet; negative where it is more than there is."""
        return self._account.limit.epsilon - self.spent(extra).epsilon

    def _is_mine(self, last: Entry | None) -> bool:
        """Whether an entry is a charge of the account whose guarantees follow one another."""
        return last is not None and any(line.account == self._account.name for line in last.postings)

    def _times(self, last: Entry | None) -> int:
        """How many times the loss charged up to an entry counts now."""
        before = _said(last)
        if before is None and self.shares and self._ledger.spent(self._account).epsilon:
            # Nobody said the cost of the charges so far to each class, so all of them lost everything.
            before = Guarantee(self.neighbours, {}, {})
        times = self._guarantee.times(before, self._exact)
        if times > 1 and self._account.rule != "pure":
            raise cannot_reprice(times, f"the accountant {self._account.rule}")
        if times > 1 and self._ledger.spent(self._account).delta:
            raise cannot_reprice(times, "an account that has spent a delta")
        return times

    def _reprice(self, last: Entry | None) -> None:
        """Charge the earlier loss again, once for each time beyond the first that it counts."""
        times = self._times(last)
        if last is None or times == 1:
            return
        from discreet.accounting.events import Released, neighbours_of

        spent = self._ledger.spent(self._account)  # all that was charged until `last`, or it is seen below

        def same(entry: Entry | None) -> None:
            if entry is None or entry.number != last.number:
                raise _Changed

        more = Released((times - 1) * spent.epsilon, neighbours=neighbours_of(self._guarantee.neighbours))
        text = self._guarantee.after(_said(last)).text()
        words = f"what was charged before counts {times} times since the policy has changed"
        try:
            self._ledger.charge(
                "re-pricing", more, [self._account], guarantee=text, description=words, admit=same
            )
        except _Changed:
            return  # the charge looks again
        except BudgetExceeded as error:
            error.add_note(f"Under the present policy, the loss charged before counts {times} times.")
            raise

    def _text(self, last: Entry | None, kept: tuple[int, ...]) -> str:
        """The note of a charge that follows another one."""
        key = "" if last is None else last.guarantee, kept
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= KNOWN:
                self._texts.clear()
            found = self._texts[key] = self._guarantee.after(_said(last)).text(kept)
        return found

    def _counts_once(self, last: Entry | None) -> None:
        """See, within the transaction of a charge, that the earlier loss counts once."""
        try:
            once = self._guarantee.times(_said(last), self._exact) == 1
        except PolicyError:
            once = False
        if not once:
            raise _Changed


class AnalystAccount(DataAccount):
    """Charges a data set and one of its analysts in one transaction; both or neither.

    Privacy: the data set's account holds for everything that all analysts were answered together. The analyst's holds
    for the answers that this analyst was given: an answer that another one had bought is charged to it too, and to it
    alone, for it is nothing new about the data and something new to this analyst.

    Args:
        ledger: of the data set.
        account: of the data set.
        own: of the analyst.
        guarantee: of the policy.
        who: the name that the ledger's descriptions give.
        terms: of the analyst's budget.
    """

    def __init__(
        self, ledger: Ledger, account: Account, own: Account, guarantee: Guarantee, who: str, terms: Terms
    ) -> None:
        super().__init__(ledger, account, guarantee, who=who)
        self.own = DataAccount(ledger, own, guarantee, who=who)
        self._terms = self.own._terms = terms
        self._accounts = [account, own]
        self._charged = charged_in(ledger)

    def charge(
        self, question: str, event: Event, kept: Iterable[int], words: str, *, once: bool = False
    ) -> Charge:
        """Charge a question to both accounts; see `DataAccount.charge`."""
        try:
            receipt = super().charge(question, event, kept, words, once=once)
        except BudgetExceeded as error:
            raise self._of_their_own(error, event) from None
        self._charged.add(self.own._account.name, question)
        return receipt

    def owes(self, question: str) -> bool:
        """Whether the analyst was never charged for this question, by this process or another one."""
        return not self._charged.has(self._ledger, self.own._account.name, question)

    def left(self, extra: Loss | Event | None = None) -> Fraction:
        """The epsilon left in both accounts; see `DataAccount.left`."""
        limits = (account.limit.epsilon for account in self._accounts)
        return min(limit - spent.epsilon for limit, spent in zip(limits, self.both_spent(extra), strict=True))

    def both_spent(self, extra: Loss | Event | None = None, *, here: bool = False) -> tuple[Loss, Loss]:
        """The loss spent of the data set and of the analyst, at one moment; see `DataAccount.spent`.

        Args:
            extra: as there.
            here: as for `Ledger.standings`.
        """
        whole, own = self._ledger.standings(self._accounts, extra, here=here)
        return self._counted(*whole, extra), self.own._counted(*own, extra)

    def _of_their_own(self, error: BudgetExceeded, event: Event) -> BudgetExceeded:
        """A refusal in words about the analyst's own budget, which the data set's may hide."""
        if error.account != self._account.name:
            return error
        limit = self.own._account.limit.epsilon
        left = at_most(max(Fraction(0), limit - self.own.spent().epsilon))
        if self.own.left(event) < 0:
            said = BudgetExceeded(self.own._account.name, error.asked, left)
        else:
            fix = (
                f"Your own budget has epsilon {left} left, but all analysts spend that of the data set together: ask "
                "with a smaller epsilon, or ask the steward for a larger budget of the data set."
            )
            said = BudgetExceeded(error.account, error.asked, error.left, fix)
        for note in getattr(error, "__notes__", ()):
            said.add_note(note)
        return said

    def receive(self, question: str, event: Event, kept: Iterable[int], words: str) -> Charge:
        """Charge the analyst alone, for an answer that another one had bought."""
        receipt = self.own.charge(question, event, kept, words)
        self._charged.add(self.own._account.name, question)
        return receipt

    def _reprice(self, last: Entry | None) -> None:
        super()._reprice(last)
        self.own._reprice(self._ledger.latest(self.own._account.name))


class ReadOnlyAccount(DataAccount):
    """Pays for nothing: a question is answered from the ledger, or refused."""

    def charge(
        self, question: str, event: Event, kept: Iterable[int], words: str, *, once: bool = False
    ) -> Charge:
        """Refuse.

        Raises:
            QueryRefused: always. Nothing was charged.
        """
        raise QueryRefused(
            "The ledger keeps no answer to this question on the present version of the data.",
            "Ask it, which is charged.",
        )


class PlainAccount:
    """An account whose guarantee is written elsewhere, as that of a node is in its declaration.

    Args:
        ledger: where it is kept.
        account: with its limit.
        neighbours: the neighbouring data sets that its epsilon speaks of.
    """

    def __init__(self, ledger: Ledger, account: Account, neighbours: str) -> None:
        self._ledger = ledger
        self._account = account
        self.neighbours = neighbours
        self.shares: Mapping[str, Fraction] = {}

    def charge(
        self, question: str, event: Event, kept: Iterable[int], words: str, *, once: bool = False
    ) -> Charge:
        """Charge a question. Caps and words are not written down."""
        return self._ledger.charge(question, event, [self._account], once=once)

    def owes(self, question: str) -> bool:
        """Whether an answer that the ledger kept has a price: none."""
        return False

    receive = charge


class _Changed(Exception):
    """The last charge is another one than was looked at."""


def _said(last: Entry | None) -> Guarantee | None:
    return None if last is None else _read(last.guarantee)


@lru_cache(64)
def _read(text: str) -> Guarantee | None:
    return Guarantee.read(text)
