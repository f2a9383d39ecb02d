"""Earlier answers: questions that follow from them cost nothing, and others less.

The ledger keeps the noisy integers of every answer, with the question. Its plan is made again from that; where it has
the identity under which the answer was charged, which tells text, policy and version of the data, the integers are its.

Privacy: everything here is read from the ledger's released answers, the policy and the text. The price of a question
then follows from these, and from earlier released answers, and never from the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.escaping import name as one_line
from discreet.rational import Number
from discreet.records import dataclass
from discreet.release import gate
from discreet.release.answer import Release
from discreet.session.memory.remembered import Remembered
from discreet.session.notes import CHOSEN
from discreet.session.parameters import GROUP_ROWS, ErrorTarget
from discreet.session.queries import Queries
from discreet.session.question import ONE, SessionQuestion
from discreet.sql.finish.estimates import EarlierRelease, Estimate
from discreet.sql.finish.recall import Recall, mixes, recallable, recalled, sources_of
from discreet.sql.inspect.preview import expected_errors, least_epsilon, round_up, targets_of
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.recalled import variance

if TYPE_CHECKING:
    from discreet.release.draw import Draw

MOST_KEPT = 1 << 24
"""Answers of more bytes are not looked at."""
SAME = 1 + 1e-9
"""Variances that differ by less are the same."""
STEP = Fraction(201, 200)
"""How much more epsilon makes a question another one, in three digits."""
FORESEEN = (
    "epsilon was chosen as if a group had {:,} rows with values spread over their bounds, and the error of {} depends "
    "on that: smaller groups err more, and larger ones are paid too much for; where a size is public, or was released, "
    "name it with group_rows"
)
BEFORE = (
    "epsilon is chosen as if a group had {} rows with values spread over their bounds: in one of {} rows {}; "
    "group_rows looks at other sizes"
)


def recall(queries: Queries, remembered: Remembered) -> Recall:
    """Every release that was answered before and is of the present data, under the present policy."""
    with remembered.lock:
        remembered.of_data(queries.versions())
        for entry in queries.ledger.settled_after(remembered.seen):
            remembered.seen = entry.number
            if entry.question not in remembered.sources and entry.settles is not None:
                remembered.sources[entry.question] = _read(queries, entry.question, entry.settles)
        return Recall([source for own in remembered.sources.values() for source in own], remembered.between)


def _read(queries: Queries, identity: str, number: int) -> list[EarlierRelease]:
    """The releases of an answer; none where it is of another producer, of other data or too large."""
    from discreet.sql.finish.serialisation import question_of, unpack

    kept = queries.ledger.replay(identity)
    if kept is None or len(kept) > MOST_KEPT or not kept.startswith(b"PK"):
        return []
    asked = question_of(kept)
    if not asked:
        return []
    try:
        plan = queries.planned(SessionQuestion.of_json(asked))
    except DiscreetError:
        return []  # under another policy
    if queries.identity(plan) != identity:
        return []
    return sources_of(number, plan, unpack(kept, plan.whole).noisy)


@dataclass(frozen=True)
class RecalledQuestion:
    """A question and the earlier answers that it may be made of.

    Attributes:
        question: the question; its epsilon is that which is asked for.
        plan: for that epsilon.
        recall: the earlier answers.
        ways: by measure of that plan, the independent ways in which it follows from released integers.
    """

    question: SessionQuestion
    plan: QueryPlan
    recall: Recall
    ways: tuple[tuple[Estimate, ...], ...]

    @property
    def whole(self) -> bool:
        """Whether every measure is known."""
        return all(self.ways)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the charges of the questions that it is made of."""
        return tuple(
            sorted({source.number for own in self.ways for estimate in own for source, _ in estimate.used})
        )

    def missing(self) -> Fraction:
        """The epsilon with which another measurement makes the answer as exact as the asked one alone."""
        (release,) = self.plan.releases
        most = 0.0
        for index, own in enumerate(self.ways):
            alone = 2 * float(release.scale(index)) ** 2
            known = variance([estimate.law for estimate in own]) if own else math.inf
            if known > alone * SAME:
                most = max(most, math.sqrt(1 - alone / known))
        if not most:
            return Fraction(0)
        return min(self.question.epsilon, round_up(self.question.epsilon * Fraction(most / SAME)))

    def shown(self) -> QueryPlan:
        """The plan of the answer from earlier answers alone."""
        (release,) = self.plan.releases
        return replace(self.plan, releases=(_of(recalled(release, self.ways)).plan,))

    def together(self) -> QueryPlan:
        """The plan of the answer from earlier ones and a measurement for epsilon; its noise alone is right."""
        (release,) = self.plan.releases
        found = recalled(release, self.ways, more=True)
        return self.plan if isinstance(found, NoisyIntegers) else replace(self.plan, releases=(found,))


def _of(found: object) -> NoisyIntegers:
    assert isinstance(found, NoisyIntegers)
    return found


def known_of(
    queries: Queries, question: SessionQuestion, earlier: Recall | None = None
) -> RecalledQuestion | None:
    """The earlier answers that a question may be made of; None where there are none, or it is not of that kind."""
    return _known(queries, question, queries.planned(question), earlier)


def _known(
    queries: Queries, question: SessionQuestion, plan: QueryPlan, earlier: Recall | None
) -> RecalledQuestion | None:
    if queries.remembered is None or not recallable(plan):
        return None
    found = recall(queries, queries.remembered) if earlier is None else earlier
    (release,) = plan.releases
    ways = found.known(release, mixes(plan.post))
    return RecalledQuestion(question, plan, found, ways) if any(ways) else None


def widely_known(
    queries: Queries, question: SessionQuestion, known: RecalledQuestion | None
) -> RecalledQuestion | None:
    """The earlier answers that a question is made of with the bounds of the policy, not those of its conditions.

    Sums of groups have these bounds, so that those below a limit follow from them: `SUM(pay) … WHERE pay < 10` from
    `SUM(pay) … GROUP BY pay`. None where that is no other plan, or where a measure is not known.
    """
    if queries.remembered is None:  # another plan would be made for nothing
        return None
    narrow, plan = (queries.planned(question, narrowed) for narrowed in (True, False))
    if [own.measures for own in narrow.releases] == [own.measures for own in plan.releases]:
        return None
    found = _known(queries, question, plan, None if known is None else known.recall)
    return found if found is not None and found.whole else None


def best_known(queries: Queries, question: SessionQuestion) -> RecalledQuestion | None:
    """The earlier answers that a question is made of, with either bounds; else those that tell of a part of it."""
    known = known_of(queries, question)
    whole = known is not None and known.whole
    return known if whole else widely_known(queries, question, known) or known


def errors_of(
    queries: Queries, plan: QueryPlan, question: SessionQuestion, group_rows: int
) -> dict[str, float]:
    """The half-widths that the intervals of an answer are expected to have."""
    return expected_errors(plan, queries.catalog.public, question.level, group_rows)[0]


def least(
    queries: Queries,
    question: SessionQuestion,
    within: Mapping[str, Number],
    group_rows: int,
    reuse: bool = True,
) -> tuple[Fraction, RecalledQuestion | None]:
    """The least epsilon for an answer that is exact enough beside the earlier ones; 0 where these are enough.

    Raises:
        InvalidParameter: no epsilon will do, or `within` names no column of the answer.
    """
    targets = targets_of(within)
    known = known_of(queries, question.with_epsilon(ONE)) if reuse else None
    wide = widely_known(queries, question.with_epsilon(ONE), known) if reuse else None
    for whole in (known, wide):
        if whole is not None and whole.whole:
            errors = errors_of(queries, whole.shown(), question, group_rows)
            if all(errors.get(name, math.inf) <= target for name, target in targets.items()):
                return Fraction(0), whole

    def make(epsilon: Fraction) -> QueryPlan:
        own = None if known is None else known_of(queries, question.with_epsilon(epsilon), known.recall)
        return queries.planned(question.with_epsilon(epsilon)) if own is None else own.together()

    epsilon = least_epsilon(make, queries.catalog.public, within, question.level, group_rows)
    if known is None:
        return epsilon, None
    alone = errors_of(queries, queries.planned(question.with_epsilon(epsilon)), question, group_rows)
    if all(alone.get(name, math.inf) <= target for name, target in targets.items()):
        return epsilon, None  # the earlier answers are too coarse to help
    asked = _unasked(queries, question.with_epsilon(epsilon))
    return asked.epsilon, known_of(queries, asked, known.recall)


def _unasked(queries: Queries, question: SessionQuestion) -> SessionQuestion:
    """The question for the next larger epsilon that it was not asked for: a replay would be no measurement more."""
    while queries.ledger.has_settled(queries.identity(queries.planned(question))):
        question = question.with_epsilon(round_up(question.epsilon * STEP))
    return question


def as_exact(queries: Queries, question: SessionQuestion) -> tuple[Fraction, RecalledQuestion | None]:
    """The epsilon for an answer as exact as that of the question makes it by itself; 0 where earlier ones are that."""
    known = known_of(queries, question)
    if known is not None and not known.missing():
        return Fraction(0), known
    wide = widely_known(queries, question, known)
    if wide is not None and _as_exact_as(queries, wide, queries.planned(question)):
        return Fraction(0), wide
    if known is None:
        return question.epsilon, None
    missing = known.missing()
    asked = _unasked(queries, question.with_epsilon(missing))
    found = known_of(queries, asked, known.recall)
    if asked.epsilon >= question.epsilon or found is None or _fewer(found, known):
        return question.epsilon, None
    return asked.epsilon, found


def _as_exact_as(queries: Queries, known: RecalledQuestion, plan: QueryPlan) -> bool:
    """Whether the answer from earlier ones has no wider interval than that of a plan."""
    free, alone = (errors_of(queries, own, known.question, GROUP_ROWS) for own in (known.shown(), plan))
    return all(free.get(name, math.inf) <= error * SAME for name, error in alone.items())


def within_error(
    queries: Queries,
    question: SessionQuestion,
    plan: QueryPlan,
    target: ErrorTarget,
    used: bool,
    say: Callable[[str], None],
) -> Release:
    """Answer a question for the least epsilon that reaches an error, beside earlier answers where they are used."""
    queries.rehearse(plan)
    cost, known = least(queries, question, target.within, target.group_rows, used)
    warned = [*_foreseen(queries, question, target), *_lacking(queries, question, known, used)]
    found = _answer(queries, question, cost, known, say)
    return replace(found, warnings=(*found.warnings, *warned))


def exactly_as(queries: Queries, question: SessionQuestion, say: Callable[[str], None]) -> Release:
    """Answer a question as exactly as its epsilon alone would, for less where earlier answers tell of it."""
    cost, known = as_exact(queries, question)
    warned = _lacking(queries, question, known)
    found = _answer(queries, question, cost, known, say)
    return replace(found, warnings=(*found.warnings, *warned))


def _lacking(
    queries: Queries, question: SessionQuestion, known: RecalledQuestion | None, used: bool = True
) -> list[str]:
    """The warning that an earlier answer would have made a question that is asked anew."""
    said = asked_anew(queries, question) if used and known is None else ""
    return [said] if said else []


def asked_anew(queries: Queries, question: SessionQuestion) -> str:
    """Which earlier answer would make a question, had its groups not lacked rows; "" where there is none."""
    if queries.remembered is None:
        return ""
    from discreet.session.memory.lacking import lacking

    plans = [queries.planned(question, narrowed) for narrowed in (True, False)]
    told = (lacking(plan, recall(queries, queries.remembered)) for plan in plans if recallable(plan))
    return next(filter(None, told), "")


def _foreseen(queries: Queries, question: SessionQuestion, target: ErrorTarget) -> list[str]:
    """The warning that an error was foreseen for groups of a certain size; it depends on the question alone."""
    plan = queries.planned(question.with_epsilon(ONE))
    small, large = (errors_of(queries, plan, question, target.group_rows * times) for times in (1, 16))
    names = [one_line(name) for name in target.within if small.get(name) != large.get(name)]
    return [FORESEEN.format(target.group_rows, ", ".join(names))] if names else []


def not_reached(
    queries: Queries,
    question: SessionQuestion,
    shown: QueryPlan,
    within: Mapping[str, Number],
    group_rows: int,
) -> list[str]:
    """The warning, before the charge, by how much an error is missed in groups that are smaller than was assumed.

    How many rows a group has is private, so that no error of an average can be promised; this is told by the question
    and the policy alone.

    Args:
        queries: the producer.
        question: for the epsilon that was found.
        shown: the plan of the answer.
        within: the errors that were asked for.
        group_rows: how many rows a group was assumed to have.
    """
    fewer = max(1, group_rows // 10)
    foreseen, missed = (errors_of(queries, shown, question, rows) for rows in (group_rows, fewer))
    told = [
        f"{one_line(name)} would be {'unknown' if math.isinf(missed[name]) else f'± {missed[name]:,.4g}'}"
        for name in within
        if name in missed and missed[name] > foreseen.get(name, math.inf) * SAME
    ]
    if not told:
        return []
    said = BEFORE.format(f"{group_rows:,}", f"{fewer:,}", ", ".join(told))
    return [said + (f"; ask it with group_rows={group_rows}" if group_rows != GROUP_ROWS else "")]


def _answer(
    queries: Queries,
    question: SessionQuestion,
    cost: Fraction,
    known: RecalledQuestion | None,
    say: Callable[[str], None],
) -> Release:
    if known is None:
        asked = question.with_epsilon(cost)
        return queries.answer(asked, queries.planned(asked), say)
    return measured(queries, known, say) if cost else free(queries, known)


def _fewer(found: RecalledQuestion, known: RecalledQuestion) -> bool:
    """Whether less is known of a question at another epsilon, at which its integers lie on another grid."""
    return [len(own) for own in found.ways] < [len(own) for own in known.ways]


def _told(answer: Release, known: RecalledQuestion) -> Release:
    """An answer with the numbers of the earlier questions, and the warning that belongs to them."""
    return replace(answer, known_from=known.numbers, notes=(*answer.notes, CHOSEN))


def free(queries: Queries, known: RecalledQuestion) -> Release:
    """The answer from earlier ones, which costs nothing."""
    plan = known.shown()
    queries.rehearse(plan)
    (release,) = known.plan.releases
    made = queries.finish(plan, [_of(recalled(release, known.ways))], *known.question.level)
    return _told(made, known)


def measured(queries: Queries, known: RecalledQuestion, say: Callable[[str], None]) -> Release:
    """The answer from earlier ones and one more measurement, for the epsilon of the question."""
    from discreet.sql.finish.serialisation import pack, unpack

    (release,) = known.plan.releases

    def finished(noisy: list[NoisyIntegers]) -> Release:
        table = _of(recalled(release, known.ways, noisy[0]))
        shown = replace(known.plan, releases=(table.plan,))
        found = _told(queries.finish(shown, [table], *known.question.level), known)
        return replace(found, epsilon=known.plan.epsilon, deployment=queries.deployment(known.plan))

    def compute(draw: Draw) -> list[NoisyIntegers]:
        say("reading the data")
        return queries.run(known.plan, draw)

    def made(noisy: list[NoisyIntegers]) -> tuple[Release, bytes]:
        say("finishing the answer")
        answer = finished(noisy)
        return answer, pack(answer, noisy, True, asked=known.question.to_json())

    def again(kept: bytes, free: bool) -> Release:
        stored = unpack(kept, known.plan)
        return replace(finished(stored.noisy), made=stored.made, replayed=free)

    asked = queries.release_plan(known.question, known.plan, compute, made, again)
    return gate.release(asked, queries.ledger, queries.account)
