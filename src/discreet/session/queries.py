"""Questions in SQL about one data set: planned, rehearsed, handed to the gate, and finished."""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any, TypeVar

from discreet.engines.engine import Engine
from discreet.errors import QueryRefused
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.release import gate
from discreet.release.account import DataAccount
from discreet.release.answer import Release
from discreet.release.bill import charged_at
from discreet.release.draw import Draw
from discreet.release.plan import ReleasePlan
from discreet.session.budget import DATA_SET
from discreet.session.memory.remembered import Remembered
from discreet.session.notes import INVENTED, facts_of, notes_of
from discreet.session.parameters import no_noise, not_too_deep, see_text
from discreet.session.question import SessionQuestion
from discreet.session.sources.csv_types import advised
from discreet.session.waiting.interruption import interruptibly
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.inspect.information import described_tables
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.lower.capabilities import lacking, refused_there
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan.generic.generic_plan import generic_release
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.planner import plan as make_plan
from discreet.sql.plan.reading import Readings

if TYPE_CHECKING:
    from discreet.release.cut_share import CutShare
    from discreet.sql.finish.postprocess import AnswerColumns
    from discreet.sql.lower.run import NoisyIntegers

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**64), Fraction(2**64)
"""Beyond these no question has noise that can be drawn, and floats of planning would overflow."""
REHEARSED = 1000
"""How many statements are remembered as sound."""
PLANS, CELLS = 256, 10_000
"""How many plans are kept, and of how many groups at most: a question is looked at before it is asked."""
N = TypeVar("N")
A = TypeVar("A")


class Queries:
    """The producer of releases from SQL.

    Args:
        engine: where the data is.
        policy: the declarations of the steward.
        catalog: the tables that a question may refer to.
        ledger: where answers are kept.
        account: that is charged.
        invented: whether the data is invented, so that no number means anything.
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        catalog: Catalog,
        ledger: Ledger,
        account: DataAccount,
        *,
        invented: bool = False,
    ) -> None:
        self.engine = engine
        self.policy = policy
        self.catalog = catalog
        self.ledger = ledger
        self.account = account
        self._invented = invented
        self._rehearsed: set[str] = set()
        self._readings = Readings()
        self._plans: dict[tuple[SessionQuestion, bool], QueryPlan] = {}
        self.remembered: Remembered | None = None if invented or policy.personal else Remembered()
        self.hidden: Callable[[str], bool] = lambda _: False  # a service keeps answers back until their slot
        self.held: Callable[[str], bool] = lambda _: False  # likewise, from whoever asks the same meanwhile

    def paid_by(self, account: DataAccount) -> Queries:
        """The same, charged to another account, with everything that is remembered of statements shared."""
        other = copy.copy(self)
        other.account = account
        other.remembered = None  # an analyst is shown nothing that was made of the answers of others
        return other

    def planned(self, question: SessionQuestion, narrowed: bool = True) -> QueryPlan:
        """Plan a question, and see that its noise can be drawn and that the engine can do it; `narrowed` as for `plan`.

        Raises:
            InvalidParameter: epsilon is out of range.
            QueryRefused: it cannot be answered with a guarantee, or not on this engine.
        """
        see_text(question.text)
        plan = self._plans.get((question, narrowed))
        if plan is None:
            plan = self._planned(question, narrowed)
            if sum(release.cells for release in plan.counted) <= CELLS:
                if len(self._plans) >= PLANS:
                    self._plans.clear()
                self._plans[question, narrowed] = plan
        return plan

    def _planned(self, question: SessionQuestion, narrowed: bool) -> QueryPlan:
        answering = question.epsilon * (1 - question.diagnose)
        alike = self.catalog.personal is None
        series = not question.apart and alike
        intervals = question.intervals and alike  # those of a sample would leave out the error of sampling

        def make() -> QueryPlan:
            plan = make_plan(question.text, self.catalog, answering, question.limits, question.delta, question.split,
                             self._readings, intervals, self._gaussian, series, narrowed)  # fmt: skip
            plan = plan.shaped(question.shaping)
            if question.diagnose:
                from discreet.sql.plan.cut_off import diagnosed

                plan = diagnosed(plan, question.epsilon - answering)
            if self.catalog.personal is None:
                return plan
            from discreet.sql.plan.people.class_plan import for_people

            return for_people(plan, self.catalog, self.engine.dialect)

        return self._see_drawn(question.epsilon, make, lambda plan: plan.whole)

    def plan_together(
        self, queries: Sequence[str], question: SessionQuestion
    ) -> tuple[QueryPlan, list[QueryPlan]]:
        """Plan several questions as one; the parameters are those of `question`.

        Raises:
            As `planned`.
        """
        from discreet.sql.plan.people.class_plan import see_same_for_all
        from discreet.sql.plan.planner import plan_together

        for query in queries:
            see_text(query)

        def make() -> tuple[QueryPlan, list[QueryPlan]]:
            see_same_for_all(self.catalog)
            return plan_together(queries, self.catalog, question.epsilon, question.limits, question.delta,
                                 question.intervals, self._gaussian, self._readings)  # fmt: skip

        return self._see_drawn(question.epsilon, make, lambda plans: plans[0])

    @property
    def _gaussian(self) -> bool:
        """Whether a question's delta may buy Gaussian noise: by a sum of epsilons it would pay for the delta alone."""
        return self.policy.budget.accountant != "pure"

    def _see_drawn(self, epsilon: Fraction, make: Callable[[], N], of: Callable[[N], QueryPlan]) -> N:
        """Make a plan, and see that its noise can be drawn and that the engine can do all that it asks."""
        if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
            raise no_noise()
        from discreet.noise.parameters import LARGEST, SMALLEST

        try:
            with not_too_deep():
                made = make()
        except QueryRefused as error:
            raise advised(error, self.policy, self.engine) from None
        plan = of(made)
        lacks: frozenset[str] = getattr(self.engine, "lacks", frozenset())
        missing = next((name for release in plan.releases if (name := lacking(release, lacks))), "")
        if missing:
            raise QueryRefused(*refused_there(missing))
        # A scale that cannot be drawn must show here: once the question is charged it is too late.
        scales = [scale for r in map(generic_release, plan.measured) for scale in r.scales]
        scales += [r.discovery.mechanism(r).scale for r in plan.releases if r.discovery is not None]
        if not all(SMALLEST <= scale <= LARGEST for scale in scales):
            raise no_noise()
        return made

    def answer(self, question: SessionQuestion, plan: QueryPlan, say: Callable[[str], None]) -> Release:
        """Charge, run and settle, or answer from the ledger; whoever asks the same meanwhile waits for this answer."""
        level = question.level
        if not plan.releases:
            self.rehearse(plan)
            return self.finish(plan, [], *level)
        from discreet.sql.finish.serialisation import pack
        from discreet.sql.intervals.row_mapping import follows

        def compute(draw: Draw) -> list[NoisyIntegers]:
            say("reading the data")
            return self.run(plan.whole, draw)

        def made(noisy: list[NoisyIntegers]) -> tuple[Release, bytes]:
            say("finishing the answer")
            release = self.finish(plan, noisy, *level)
            return release, pack(
                release, noisy, follows(plan) or bool(plan.shaping), asked=question.to_json()
            )

        def again(kept: bytes, free: bool) -> Release:
            return self.again(plan, kept, level, free)

        asked = self.release_plan(question, plan, compute, made, again, partial(pack, None))
        return gate.release(asked, self.ledger, self.account)

    def release_plan(
        self,
        question: SessionQuestion,
        plan: QueryPlan,
        compute: Callable[[Draw], N],
        made: Callable[[N], tuple[A, bytes | IO[bytes]]],
        replay: Callable[[Any, bool], A],
        keep: Callable[[N], bytes] | None = None,
        file: IO[bytes] | None = None,
    ) -> ReleasePlan[N, A]:
        """The plan that a question hands to the gate.

        Args:
            question: as the analyst asked it; its loss is charged.
            plan: of the question; it has releases.
            compute: runs the releases, with noise.
            made: builds the answer.
            replay: builds it from the record that the ledger kept, and from whether it is free now.
            keep: makes that record where the answer cannot be built.
            file: takes the record that the ledger kept, if it is large.
        """
        from discreet.sql.finish.serialisation import size_of

        whole = plan.whole
        parts = [part for release in whole.measured for part in release.parts]
        key = self.identity(plan)
        return ReleasePlan(
            question=key,
            words=plan.text,
            loss=question.loss(plan.delta > 0),
            uses=uses_of(whole.measured),
            compute=compute,
            answer=made,
            caps=tuple(part.cap for part in parts if part.rows.per_unit),
            size=size_of(whole),
            rehearse=lambda: self.rehearse(plan),
            probe=lambda: self.probe(whole),
            replay=replay,
            keep=keep,
            file=file,
            held=lambda: self.held(key),
        )

    def rehearse(self, plan: QueryPlan) -> None:
        """Run the post-processing on empty tables, once for each statement, so that faults show before the charge."""
        from discreet.sql.finish.rehearsal import rehearse

        if plan.statement not in self._rehearsed:
            with not_too_deep():
                rehearse(plan, self.catalog.public)
            if len(self._rehearsed) < REHEARSED:
                self._rehearsed.add(plan.statement)

    def probe(self, plan: QueryPlan) -> None:
        """See that the engine could run the question, so that a table that has gone is found before the charge."""
        from discreet.sql.lower.probe import probe

        probe(plan, self.engine)

    def identity(self, plan: QueryPlan, versions: tuple[str, ...] | None = None) -> str:
        """The canonical question on versions of the data: the numbers released, not the writing or the display."""
        from discreet.sql.lower.identity import identity

        versions = self.versions() if versions is None else versions
        loss = str(plan.epsilon) + (f" {plan.delta}" if plan.delta else "")
        known = plan.memo  # a plan never changes, and has one engine
        if "identity" not in known:
            known["identity"] = identity(plan.whole, self.engine.dialect)
        of, named = known.get("named", (None, ""))
        if of != versions:
            parts = [known["identity"], loss, self._policy_digest, self._public_digest, *versions]
            named = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            known["named"] = versions, named
        return str(named)

    def versions(self) -> tuple[str, ...]:
        """The versions of the private tables."""
        tables = sorted(name for name, table in self.policy.tables.items() if not table.public)
        return tuple(f"{name} {self.engine.version(name)}" for name in tables)

    @cached_property
    def _policy_digest(self) -> str:
        return self.policy.digest()

    @cached_property
    def _public_digest(self) -> str:
        """A digest of the public tables: keys and joins depend on them, so another content is another question."""
        import pyarrow as pa

        state = hashlib.sha256()
        for name, table in sorted(described_tables(self.catalog, self.policy).items()):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.combine_chunks())
            state.update(f"{name} {sink.tell()} ".encode() + sink.getvalue())
        return state.hexdigest()

    def run(self, plan: QueryPlan, draw: Draw) -> list[NoisyIntegers]:
        """Compute the integers of all releases, with noise; a signal stops the engine at once."""
        from discreet.sql.lower.sequence import run_all

        salt = self.ledger.salt(DATA_SET)
        return interruptibly(self.engine, lambda: run_all(plan, self.engine, salt, draw, self.catalog.public))

    def finish(
        self,
        plan: QueryPlan,
        noisy: list[NoisyIntegers],
        confidence: float,
        together: bool = False,
        shown: list[NoisyIntegers] | None = None,
    ) -> Release:
        """The answer that noisy integers give."""
        from discreet.sql.finish.postprocess import finish
        from discreet.sql.inspect.compared import compared_with
        from discreet.sql.lower.workloads import tables_of

        cut: tuple[CutShare, ...] = ()
        if plan.cut_off:
            from discreet.sql.finish.cut_off import shares

            cut = shares(plan, noisy, confidence)
        measured, noisy = noisy, tables_of(plan, noisy)
        if plan.shaping and shown is None:
            from discreet.sql.finish.shaping import shaped

            shown = shaped(plan, measured, noisy)
        plan = plan.with_releases([table.plan for table in noisy])  # with the groups that were found
        answered = finish(plan, noisy, self.catalog.public, confidence, together, shown)
        said = compared_with(plan, noisy, self.catalog.public, confidence)
        return self.shown(plan, answered, confidence, together=together, said=said, cut=cut)

    def shown(
        self,
        plan: QueryPlan,
        answered: AnswerColumns,
        confidence: float,
        made: dt.datetime | None = None,
        replayed: bool = False,
        together: bool = False,
        said: tuple[str, ...] = (),
        cut: tuple[CutShare, ...] = (),
    ) -> Release:
        """The columns of an answer with all that belongs to them."""
        from discreet.sql.finish.many_groups import streams
        from discreet.sql.inspect.misleading import meanings_of, misled

        texts: frozenset[str] = getattr(self.engine, "csv_tables", frozenset())
        notes = notes_of(plan, answered.without, self.catalog.unit_factor, texts)
        return Release(
            question=plan.text,
            values=answered.values,
            low=answered.ends(0),
            high=answered.ends(1),
            confidence=confidence,
            simultaneous=together,
            without=answered.without,
            meanings=meanings_of(plan),
            warnings=said + misled(plan, answered.values, confidence, whole=not streams(plan)),
            epsilon=plan.epsilon,
            delta=plan.delta,
            notes=INVENTED if self._invented and plan.releases else notes,
            made=made or charged_at(),
            replayed=replayed,
            cut_off=cut,
            deployment=self.deployment(plan),
        )

    def deployment(self, plan: QueryPlan) -> Callable[[], dict[str, Any]]:
        """The facts for a card, which are gathered when one is asked for."""
        return partial(facts_of, self.policy, plan)

    def again(self, plan: QueryPlan, kept_bytes: bytes, level: Level, free: bool) -> Release:
        """An earlier answer; written or shown in another way it is made anew from the same noisy integers."""
        from discreet.sql.finish.serialisation import unpack

        kept = unpack(kept_bytes, plan.whole)
        release = kept.answer
        if (
            release is not None
            and (release.confidence, release.simultaneous) == level
            and release.question == plan.text
            and not plan.shaping
        ):
            return replace(release, replayed=free, deployment=self.deployment(plan))
        # The values are those of the new run: without ORDER BY its rows may come in another order, and each
        # interval belongs to the row beside it.
        return replace(self.finish(plan, kept.noisy, *level), made=kept.made, replayed=free)
