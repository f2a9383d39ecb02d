"""The gate: the one way from private data to an answer, for every producer of releases.

    rehearse -> replay -> probe -> see the loss -> charge, durably -> compute, with noise -> settle -> answer

The replay looks as far as this process read the ledger. The charge, which reads it to its end, is not made where
another process has settled the question since; its answer is given then.

Until the charge nothing private is touched, and a refusal costs nothing. From the charge on nothing is given back.
`Draw` is made here alone, after the charge, so that no noise of a release can be drawn before it is paid for; nothing
else in discreet charges a ledger, but for the account that re-prices earlier charges (`account`). A test reads the
source for that.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import DiscreetError, InvalidParameter, LedgerError, QueryRefused, UnsupportedEvent
from discreet.ledger import Charge, Ledger, Loss
from discreet.ledger.faults import SettledElsewhere
from discreet.release.bill import bill
from discreet.release.draw import REPORT, Draw, Use
from discreet.release.plan import Answer, Noisy, ReleasePlan

if TYPE_CHECKING:
    from discreet.accounting.events import Event
    from discreet.ledger.room import Room


HELD = 0.005
"""Seconds between two looks whether an answer is still held back."""


class Payer(Protocol):
    """Charges an account of a ledger."""

    @property
    def neighbours(self) -> str:
        """The neighbouring data sets that the account's epsilon speaks of."""

    @property
    def shares(self) -> Mapping[str, Fraction]:
        """By class of people, the part of every loss that they allow; empty where everybody allows the same."""

    def charge(
        self, question: str, event: Event, kept: tuple[int, ...], words: str, *, once: bool = False
    ) -> Charge:
        """Charge the price of the event that a question releases, durably, or raise.

        With `once` a question that is settled raises `SettledElsewhere`, and is not charged.
        """

    def owes(self, question: str) -> bool:
        """Whether an answer that the ledger kept has a price: an analyst's, who has not seen it yet."""

    def receive(self, question: str, event: Event, kept: tuple[int, ...], words: str) -> Charge:
        """Charge that price, durably, or raise."""


def release(plan: ReleasePlan[Noisy, Answer], ledger: Ledger, payer: Payer) -> Answer:
    """Answer a release, from the ledger or anew; whoever asks the same meanwhile waits for this answer.

    Privacy: `plan.loss` for the neighbours of the payer, by sequential composition of the mechanisms of the plan
    (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006, theorem 1).

    Raises:
        QueryRefused: the mechanisms do not add up to the loss. Nothing was charged.
        BudgetExceeded, PolicyError: the account refuses. Nothing was charged.
        LedgerError: the ledger cannot be read or written.
        Every error of the steps of the plan is raised too; from `compute` on the charge stays.
    """
    plan.rehearse()
    if plan.replay is None:
        with ExitStack() as room:
            return _computed(plan, ledger, *_paid(plan, ledger, payer, room))
    while True:
        with ledger.turn(plan.question), ExitStack() as room:
            kept = _replayed(plan, ledger, here=True)
            if kept is None:
                try:
                    paid = _paid(plan, ledger, payer, room, once=True)
                except (DiscreetError, SettledElsewhere) as refused:
                    kept = _settled_elsewhere(plan, ledger, refused)
                else:
                    return _computed(plan, ledger, *paid)
            if not plan.held():
                owed = payer.owes(plan.question)
                if owed:
                    _charged(plan, ledger, payer.receive, see_loss(plan, payer.neighbours))
                return plan.replay(kept, not owed)
        while plan.held():  # before the charge, whose time is seen
            time.sleep(HELD)


def _replayed(plan: ReleasePlan[Noisy, Answer], ledger: Ledger, *, here: bool = False) -> Any:
    """The answer to the same question that the ledger kept; None where it has none, or it is not known `here`."""
    if here and not ledger.has_settled(plan.question, here=True):
        return None
    if plan.file is None:
        return ledger.replay(plan.question)
    found = ledger.replay_into(plan.question, plan.file)  # type: ignore[arg-type]  # as below
    return plan.file if found else None


def _settled_elsewhere(plan: ReleasePlan[Noisy, Answer], ledger: Ledger, refused: Exception) -> Any:
    """The answer that another process settled since this one read the ledger; where there is none, the refusal."""
    if isinstance(refused, LedgerError) and not refused.unwritten:  # the charge may stand
        raise refused
    kept = _replayed(plan, ledger)
    if kept is None:
        raise refused
    return kept


def _paid(
    plan: ReleasePlan[Noisy, Answer], ledger: Ledger, payer: Payer, stack: ExitStack, *, once: bool = False
) -> tuple[Charge, Room]:
    """The charge of a release, and room for its answer until the stack ends. Up to here, a refusal costs nothing."""
    see_shares(plan, payer.shares)
    plan.probe()
    event = see_loss(plan, payer.neighbours)
    room = stack.enter_context(ledger.room(plan.size))
    return _charged(plan, ledger, partial(payer.charge, once=once), event), room


def _computed(plan: ReleasePlan[Noisy, Answer], ledger: Ledger, charge: Charge, room: Room) -> Answer:
    draw = Draw(plan.uses)
    noisy = plan.compute(draw)
    draw.see_all_drawn()
    try:
        answer, kept = plan.answer(noisy)
    except Exception:  # released numbers alone decide it; they are paid for, and free from now on
        if plan.keep is not None:
            ledger.settle(charge, plan.keep(noisy), room)
        raise
    ledger.settle(charge, kept, room)  # type: ignore[arg-type]  # a file of bytes is one, of any class
    return answer


def _charged(
    plan: ReleasePlan[Noisy, Answer], ledger: Ledger, pay: Callable[..., Charge], event: Event
) -> Charge:
    """Pay for a release, and note it on the bill of the question."""
    return bill().charge(
        ledger, plan.question, plan.loss, lambda: pay(plan.question, event, plan.caps, plan.words)
    )


def see_loss(plan: ReleasePlan[Noisy, Answer], neighbours: str) -> Event:
    """See that the loss of a plan is the price of its draws.

    Args:
        plan: with the loss that was promised.
        neighbours: those of the policy.

    Returns:
        The event that the mechanisms release together: the ledger charges its price, and keeps it.

    Raises:
        QueryRefused: it is another one, or a sensitivity speaks of other neighbours.
    """
    from discreet.accounting.pricing import loss_of

    if any(use.neighbours != neighbours for use in plan.uses.values()):
        raise QueryRefused(
            "The sensitivity of this question is for other neighbours than the policy's.", REPORT
        )
    try:
        event = event_of(plan.uses, plan.loss)
        right = loss_of(event) == plan.loss
    except (InvalidParameter, UnsupportedEvent):
        right = False
    if not right:
        raise QueryRefused("The noise of this question does not add up to its privacy loss.", REPORT)
    return event


def see_shares(plan: ReleasePlan[Noisy, Answer], shares: Mapping[str, Fraction]) -> None:
    """See that a plan takes no more from a person than their class allows.

    Privacy: a person of a class is moved by the uses of that class, and by those of samples, which keep them so seldom
    that they lose their part of its epsilon (Jorgensen, Yu and Cormode 2015). All of these together are at most the
    part of the plan's loss that the class allows. So it is for a sum of questions, as the parts are the same for each.

    Args:
        plan: with the loss that was promised.
        shares: by class of people, the part of every loss that they allow.

    Raises:
        QueryRefused: a use is for everybody where people allow different epsilons, or is too dear for a class.
    """
    if not shares:
        if any(use.person or use.kept is not None for use in plan.uses.values()):
            raise QueryRefused("The policy has no classes of people for this question.", REPORT)
        return
    from discreet.accounting.personal import keep_probability
    from discreet.accounting.pricing import loss_of

    sampled = {key: use for key, use in plan.uses.items() if use.kept is not None}
    if plan.loss.delta or any(
        key not in sampled and use.person not in shares for key, use in plan.uses.items()
    ):
        raise QueryRefused(
            "People allow different epsilons, and this would cost everybody the same.",
            "Ask in SQL for counts, sums, averages and quantiles by public keys.",
        )
    by_coin = [(loss_of(event_of({key: use})).epsilon, use.kept or {}) for key, use in sampled.items()]
    for name, share in shares.items():
        own = {key: use for key, use in plan.uses.items() if use.person == name}
        lost = loss_of(event_of(own)).epsilon if own else Fraction(0)
        lost += sum((share * epsilon for epsilon, _ in by_coin), Fraction(0))
        # A coin that keeps a person as often as this makes their part of the epsilon of those who are kept.
        often = any(
            keep.get(name, Fraction(1)) > keep_probability(share * epsilon, epsilon)
            for epsilon, keep in by_coin
        )
        if often or lost > share * plan.loss.epsilon:
            raise QueryRefused(
                "The noise of this question costs a class of people more than they allow.", REPORT
            )


def event_of(uses: Mapping[str, Use], loss: Loss | None = None) -> Event:
    """The event that some uses of mechanisms release together.

    Args:
        uses: by name.
        loss: that they were promised to have. The uses whose price is a rho have together the part of it that the
            others leave: they must use up exactly this part, in zCDP or by the curve of Gaussian noise.

    Raises:
        InvalidParameter: there is no use, or their noise is not the one that the loss buys.
        UnsupportedEvent: they have more loss than that.
    """
    from discreet.accounting.events import Composed, Converted
    from discreet.accounting.pricing import loss_of

    known = {name: use.mechanism.event(use.neighbours) for name, use in uses.items()}
    by_rho = {name for name, event in known.items() if _has_rho(event)}
    if not by_rho or loss is None:
        return _together(uses, known)
    others = {name: event for name, event in known.items() if name not in by_rho}
    pure = [_together(uses, others)] if others else []
    spent = loss_of(pure[0]) if pure else Loss(0)
    rest = Loss(loss.epsilon - spent.epsilon, loss.delta - spent.delta)
    noise = _together(uses, {name: event for name, event in known.items() if name in by_rho})
    if not _used_up(noise, rest):
        raise InvalidParameter("The noise is not the one that its loss buys.", REPORT)
    converted = Converted(noise, rest)
    return Composed([*pure, converted]) if pure else converted


def _has_rho(event: Event) -> bool:
    """Whether the price of an event is a rho: it is Gaussian noise, or holds some."""
    from discreet.accounting.events import Composed, Concentrated, DiscreteGaussianNoise, GaussianPrivate

    if isinstance(event, Composed):
        return any(map(_has_rho, event.events))
    return isinstance(event, Concentrated | DiscreteGaussianNoise | GaussianPrivate)


def _used_up(noise: Event, rest: Loss) -> bool:
    """Whether noise is exactly as little as a loss allows: by the rho that it buys, or by the curve of such noise."""
    from discreet.accounting.gaussian.gdp import GDP, gdp_of
    from discreet.accounting.pricing import zcdp_of
    from discreet.accounting.zcdp import ZCDP

    if zcdp_of(noise) == ZCDP.bought(rest):
        return True
    tight = gdp_of(noise)
    return tight == GDP.bought(rest, tight.draws)


def _together(uses: Mapping[str, Use], known: Mapping[str, Event]) -> Event:
    """The event of some uses: each by itself, or a set of alternatives."""
    from discreet.accounting.events import Alternatives, Composed, Repeated

    sets: dict[tuple[str, str], list[Event]] = {}
    for name, event in known.items():
        use = uses[name]
        own = ("alternatives", use.alternatives) if use.alternatives else ("use", name)
        sets.setdefault(own, []).append(event)
    counted = Counter(group[0] if len(group) == 1 else Alternatives(group) for group in sets.values())
    events = [event if times == 1 else Repeated(event, times) for event, times in counted.items()]
    return events[0] if len(events) == 1 else Composed(events)
