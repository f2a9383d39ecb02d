"""Session: a policy, an engine and a ledger behind one question-and-answer face."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from discreet.engines.engine import Engine
from discreet.errors import InvalidParameter, QueryRefused
from discreet.escaping import name as one_line
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.policy import Policy
from discreet.rational import Number, epsilon_of
from discreet.release import gate
from discreet.release.account import DataAccount
from discreet.release.answer import Release
from discreet.release.draw import Use
from discreet.release.guarantee import Guarantee
from discreet.release.plan import ReleasePlan
from discreet.session.asking import SLACK, asked, no_pickle, see_process
from discreet.session.budget import DATA_SET, BudgetState
from discreet.session.cost import loss_of, see_cost
from discreet.session.csv_types import advised
from discreet.session.held import held
from discreet.session.notebook import told
from discreet.session.notes import INVENTED, notes_of
from discreet.session.parameters import (
    GROUP_ROWS,
    MOCK_ROWS,
    confidence_of,
    level_of,
    no_noise,
    see_text,
    whole,
)
from discreet.session.producing import release_plan
from discreet.session.prompt import promptly
from discreet.session.question import ONE, Question
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.inspect.information import told as told_tables
from discreet.sql.inspect.information import with_information
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.lower.capabilities import lacking
from discreet.sql.plan.plan import Plan
from discreet.sql.plan.planner import NO_LIMITS, Emphasis, Limits, Reading
from discreet.sql.plan.planner import plan as make_plan

if TYPE_CHECKING:
    from discreet.release.draw import Draw
    from discreet.release.vouched import Numbers
    from discreet.sensitivity import SampledSensitivity
    from discreet.session.writing import Written
    from discreet.sql.finish.postprocess import Answered
    from discreet.sql.inspect.explain import Explanation
    from discreet.sql.inspect.preview import Preview
    from discreet.sql.lower.run import Noisy

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**64), Fraction(2**64)
"""Beyond these no question has noise that can be drawn, and floats of planning would overflow."""


REHEARSED = 1000
"""How many statements a session remembers as sound."""


class Session:
    """Answers questions about one data set under one budget.

    Made by `protect`. A session may be shared between threads; its ledger may be shared between processes. It belongs
    to the process that opened it: in a forked child, and when it is pickled, it raises `SessionError`, at once and
    uncharged. Every error of a question has the attribute `charged`, the exact loss that stays charged or None, and
    says it.
    """

    def __init__(self, engine: Engine, policy: Policy, ledger: Ledger) -> None:
        self._process = os.getpid()
        self._engine = engine
        self._policy = policy
        self._ledger = ledger
        self._invented = False
        self._held = held(engine, ledger)
        schemas = engine.schema()
        policy.check(schemas)
        public = {name: engine.public(name) for name, table in policy.tables.items() if table.public}
        self._catalog = with_information(Catalog.build(policy, schemas, public), policy)
        self._rehearsed: set[str] = set()
        self._known: dict[tuple[str, bool], Reading] = {}
        limit = Loss(policy.budget.epsilon, policy.budget.delta)
        self._accounts = (Account(DATA_SET, limit, policy.budget.accountant),)
        self._account = DataAccount(ledger, self._accounts[0], Guarantee.of(policy, self._catalog))

    @asked
    def sql(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Release:
        """Answer a question.

        The charge is durable before any private data is read, and stays when anything fails afterwards: then no answer
        is given, and the error says what was charged. The same question with the same epsilon on the same data, as far
        as its version tells, is answered from the ledger again, for nothing, once it was settled.

        Args:
            query: one SELECT in DuckDB's dialect over the tables of the policy. DESCRIBE, SHOW TABLES, SUMMARIZE and
                information_schema are answered from the policy alone, for nothing.
            epsilon: the privacy loss of the whole question, a positive rational; 0.1 means 1/10. What reads nothing
                private needs none.
            confidence: of the intervals, strictly between 0 and 1.
            delta: allows groups whose keys are not public: those with enough units are found, the others are not
                shown. It is spent only by a question that has such groups, and the budget must grant a delta.
            max_rows: how many rows of a unit count in this question; by default as the policy says. More rows lose
                less and need more noise.
            max_groups: in how many groups COUNT(DISTINCT unit) counts a unit, and in how many a unit helps to have
                groups found; by default max_rows.
            split: how many times its usual share of epsilon a column gets, such as `{"n": 3}`; the others get less. By
                default the shares make the summed relative variance of all columns least.
            simultaneous: whether all intervals of the answer together have the confidence, instead of each by itself:
                the way to look at many numbers, or for the largest of them. They are wider, the answer is the same.
            progress: called with a few words at each step; by default a notebook shows them after a second.

        Returns:
            The values, one row for every public group unless the question says otherwise, with intervals.

        Raises:
            InvalidParameter: epsilon, delta or confidence is out of range. Nothing was charged.
            QueryRefused: the question cannot be answered with a guarantee. Nothing was charged.
            SourceError: a table, a column or a file has gone, or may no longer be read. Nothing was charged.
            BudgetExceeded: the budget does not have so much left. Nothing was charged.
            LedgerError: the ledger cannot be read or written. Where that shows before the charge, nothing was charged
                and no data was touched; where the answer cannot be settled, the charge stays and the answer is lost.
            EngineError: the engine failed or was interrupted; the charge stays. Before the charge it means that the
                source is gone, and nothing was charged.
            PostProcessingError: what is done with the noisy tables failed; the charge stays.
            SessionError: this is another process than the one that opened the session. Nothing was charged.

        Every error, of ours or not, has `charged`: the exact loss that stays charged, or None.

        Privacy: epsilon-differentially private for the privacy unit of the policy, by the Laplace mechanism
        (Dwork, McSherry, Nissim and Smith 2006) on integers whose sensitivity is derived from the query; with
        groups that must be found (epsilon, delta), by `mechanisms.ThresholdedCounts`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> session = dp.protect(pa.table({"age": [31, 47, 62]}), privacy_unit="row", budget=3)
            >>> session.sql("SELECT COUNT(*) AS n FROM data", epsilon=1).columns
            ['n']
        """
        question = Question.read(query, loss_of(epsilon), confidence=confidence, delta=delta, max_rows=max_rows,
                                 max_groups=max_groups, split=split, simultaneous=simultaneous)  # fmt: skip
        plan = self._planned(question)
        see_cost(epsilon, plan)
        with told(progress) as say:
            return self._answer(question, plan, say)

    @asked
    def write(
        self,
        query: str,
        epsilon: Number,
        into: str | os.PathLike[str],
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        replace: bool = False,
        formulas: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Written:
        """Answer a question into a file.

        For answers of up to 10,000,000 groups: the noise, the intervals and the file are made block by block, so that
        memory does not grow with the number of groups (that of the engine is its own; DuckDB spills what does not
        fit). The file has the values and, for each column with an interval, `<name>_low` and `<name>_high`. It appears
        under its name when it is whole. The same question is the same answer here and in `sql`.

        Groups whose keys are not public, and answers of up to 65,536 groups, are made in memory first. With more
        groups than that, a column has an interval where it is a monotone expression of one aggregate.

        Args:
            query: as for `sql`.
            epsilon: as for `sql`.
            into: a path that ends in .parquet or .csv.
            confidence: of the intervals, strictly between 0 and 1.
            delta: as for `sql`.
            max_rows: as for `sql`.
            max_groups: as for `sql`.
            split: as for `sql`.
            simultaneous: as for `sql`; for more than 65,536 groups each row of the answer must be one group.
            replace: whether a file of this name may be replaced; never one of the data or of the ledger, by whichever
                name.
            formulas: whether text in a CSV file may begin as a formula does (=, +, -, @). By default such text gets an
                apostrophe in front, for a key that was found may come from anybody, and a spreadsheet would run it.
            progress: called with a few words at each step and, on the way, every half a second. It must not ask this
                session anything: the engine is at work.

        Returns:
            What was written, without the values.

        Raises:
            InvalidParameter: as for `sql`; or `into` has another ending, is there already, belongs to the data or the
                ledger, or cannot be written. Nothing was charged.
            QueryRefused: as for `sql`.
            BudgetExceeded: as for `sql`.
            LedgerError: as for `sql`.
            EngineError: the engine failed; the charge stays, and there is no file.
            PostProcessingError: what is done with the noisy tables failed; the charge stays, there is no file, and the
                noisy integers are kept.
            OSError: the disk is full or gone; the charge stays, and there is no file. Where the answer was kept
                before, the same question again is free.

        Privacy: as for `sql`.

        Example:
            >>> import tempfile
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> visits = pa.table({"x": [3, 4, 4], "y": [7, 7, 9]})
            >>> session = dp.protect(visits, privacy_unit="row", bounds={"x": (0, 299), "y": (0, 299)}, budget=1)
            >>> query = "SELECT x, y, COUNT(*) AS n FROM data GROUP BY x, y"
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     written = session.write(query, 1, f"{folder}/map.parquet")
            >>> written.rows, written.columns
            (90000, ('x', 'y', 'n', 'n_low', 'n_high'))
        """
        from discreet.release.answer_file import Target
        from discreet.session.writing import in_memory, streamed
        from discreet.sql.finish.blockwise import in_groups, streams
        from discreet.sql.finish.postprocess import rehearse

        target = Target(into, replace, formulas)
        self.see_free(into)
        question = Question.read(query, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
                                 max_groups=max_groups, split=split, simultaneous=simultaneous)  # fmt: skip
        plan = self._planned(question)
        target.see(lambda: rehearse(plan, self._catalog.public))
        with told(progress) as say:
            if streams(plan):
                if simultaneous and not in_groups(plan):
                    raise InvalidParameter(
                        "Simultaneous intervals of so many rows need an answer whose rows are groups.",
                        "Write the groups, and compute from the file.",
                    )
                return streamed(self, question, plan, target, say)
            return in_memory(self._answer(question, plan, say), target)

    @asked
    def release(
        self,
        compute: Callable[[], Any],
        sensitivity: Number | SampledSensitivity,
        epsilon: Number,
        *,
        what: str,
        confidence: float = 0.95,
    ) -> Release:
        """Release numbers that you compute yourself, for a sensitivity that you vouch for.

        For a steward with a statistic that SQL cannot say. Nothing is checked but the type of the sensitivity:
        `discreet.sensitivity.search` looks for pairs that break it. A sampled sensitivity is refused unless the
        policy says `random_dp = true`. There is no replay: each call is charged, before `compute` is called.

        Args:
            compute: returns a number or a row of them, (d,), whose length is public. They are read exactly: ints,
                floats, Fractions, or an array; no masked one.
            sensitivity: the L1 sensitivity of all numbers together, for the units and neighbours of the policy.
            epsilon: the privacy loss, a positive rational.
            what: what is computed, in words, for the card.
            confidence: of the intervals, strictly between 0 and 1.

        Returns:
            One row for each number, in the column `value`.

        Raises:
            InvalidParameter: a parameter is out of range, or the sensitivity was sampled for other neighbours than
                those of the policy. Nothing was charged.
            PolicyError: a sampled sensitivity, which the policy does not allow. Nothing was charged.
            BudgetExceeded: the budget does not have so much left. Nothing was charged.
            LedgerError: the ledger cannot be written; `charged` says whether that was before the charge, when nothing
                was computed, or after it.
            EngineError: `compute` failed or gave no finite numbers; the charge stays.

        Privacy: epsilon-differentially private by the Laplace mechanism (Dwork, McSherry, Nissim and Smith 2006) if
        the sensitivity is right; with a sampled one, (epsilon, gamma) random differential privacy only.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> ages = pa.table({"age": [31, 47, 62]})
            >>> session = dp.protect(ages, privacy_unit="row", budget=1, neighbours="replace_one")
            >>> middle = session.release(lambda: 47, sensitivity=104, epsilon=0.5, what="median age, in 0 … 104")
            >>> len(middle), session.budget
            (1, epsilon 0.5 left of 1 (0.5 spent))
        """
        from discreet.release.vouched import answer, computed, mechanism
        from discreet.sensitivity import admit

        level = confidence_of(confidence)
        size, note = admit(sensitivity, self._policy.random_dp, self._policy.neighbours)
        noise = mechanism(size, epsilon_of(epsilon))
        parts = ["vouched", what, str(noise.epsilon), str(size)]
        question = hashlib.sha256(json.dumps(parts).encode()).hexdigest()

        def made(numbers: Numbers) -> tuple[Release, bytes]:
            release = answer(numbers, noise, level, what, note)
            return release, release.to_bytes()

        plan = ReleasePlan(
            question=question,
            words=what,
            loss=Loss(noise.epsilon),
            uses={"numbers": Use(noise, self._policy.neighbours, None)},
            compute=lambda draw: computed(compute, lambda exact: draw("numbers", exact)),
            answer=made,
            size=SLACK,
        )
        return gate.release(plan, self._ledger, self._account)

    @asked
    def preview(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        within: Mapping[str, Number] | None = None,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        group_rows: int = GROUP_ROWS,
    ) -> Preview:
        """Say what a question would cost and how exact it would be, without reading data or charging.

        Args:
            query: as for `sql`.
            epsilon: the privacy loss to look at; leave it out to have the least one found.
            within: the largest error allowed by column, such as `{"n": 50}`.
            confidence: of the intervals.
            delta: as for `sql`.
            max_rows: as for `sql`.
            max_groups: as for `sql`.
            split: as for `sql`.
            simultaneous: as for `sql`.
            group_rows: how many rows a group is assumed to have, where an error depends on it, as that of an
                average does.

        Raises:
            InvalidParameter: neither or both of epsilon and within are given, or one is out of range.
            QueryRefused: as for `sql`.
        """
        from discreet.sql.inspect.preview import least_epsilon, preview_of

        level_of(confidence, simultaneous)
        if (epsilon is None) == (within is None):
            raise InvalidParameter("A preview needs either epsilon or within.",
                                   'Write epsilon=0.1, or within={"n": 50}.')  # fmt: skip
        whole(group_rows, "group_rows")
        asked = Question.read(query, ONE if epsilon is None else epsilon, confidence=confidence, delta=delta,
                              max_rows=max_rows, max_groups=max_groups, split=split,
                              simultaneous=simultaneous)  # fmt: skip
        level, public = asked.level, self._catalog.public
        self._rehearse(self._planned(asked.at(ONE)))
        if within is not None:
            loss = least_epsilon(lambda e: self._planned(asked.at(e)), public, within, level, group_rows)
            asked = asked.at(loss)
        plan = self._planned(asked)
        budget, cost = self.budget, Fraction(0)
        if plan.releases:
            after = self._account.spent(Loss(plan.epsilon, plan.delta)).epsilon
            cost = max(Fraction(0), after - budget.spent)
        return preview_of(plan, public, level, group_rows, cost, budget.left)

    @asked
    def explain(
        self,
        query: str,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        sql: bool = False,
    ) -> Explanation:
        """Say what a question would do, scope by scope, without reading data or charging.

        Args:
            query: as for `sql`.
            epsilon: the privacy loss to look at, which decides the grids and the noise.
            delta: as for `sql`.
            max_rows: as for `sql`.
            max_groups: as for `sql`.
            split: as for `sql`.
            sql: whether to show the SQL that the engine would run, too. A large table may be asked slice by slice of
                its units; how many slices there are depends on how many rows there are, so that is not shown.

        Returns:
            A tree: its `repr` is text, `to_dict()` is for machines, `to_svg()` is a picture.

        Raises:
            InvalidParameter: epsilon is out of range.
            QueryRefused: as for `sql`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> ages = pa.table({"age": [31, 47, 62]})
            >>> session = dp.protect(ages, privacy_unit="row", bounds={"age": (0, 120)}, budget=3)
            >>> session.explain("SELECT SUM(age) AS years FROM data WHERE age >= 18", epsilon=0.5)
            post-processing of noisy tables, which costs nothing
            │  epsilon  0.5
            │  sql      SELECT __release_1.a0 AS "years" FROM __release_1
            └─ release __release_1
               │  epsilon  0.5
               │  hides    one row, added or removed
               │  groups   1
               │  measure  1  sum of age: 1 integer per group
               │              clamped to 0 … 120 on a grid of step g = 1
               │              one row moves them by M = 120, one unit by 120, in L1
               │              epsilon 0.5: noise of scale 240 = 240 of age on each integer
               │  output   years = SUM(age) ← measure 1; its noise has standard deviation 339.4
               └─ rows that are aggregated
                  │  cap  each row is one unit
                  └─ rows that are filtered
                     │  where  age >= 18
                     └─ private table data
                           unit    each row is one unit
                           column  age: clamped to 0 … 120
        """
        question = Question.read(
            query, epsilon, delta=delta, max_rows=max_rows, max_groups=max_groups, split=split
        )
        plan = self._planned(question)
        self._rehearse(plan)
        from discreet.sql.inspect.explain import explain

        return explain(plan, self._catalog, self._policy, sql, self._engine.dialect)

    @asked
    def mock(self, rows: int = MOCK_ROWS) -> Session:
        """A session over invented tables, in which every question can be tried for nothing.

        Its tables have the names, columns and types of the real ones, and its policy is the same; the values are
        drawn evenly from the keys and bounds of the policy, and where there are none, from plain ones. Units have
        several rows, some more than max_rows. Public tables are the real ones. So a question is accepted or refused
        as it really is, and its answer has the columns and groups that it really has, but no number in it means
        anything. Errors of averages, which depend on the data, are those of values spread evenly.

        No private data is read for it. It has a budget of its own, in memory, as large as that of the policy; another
        mock has another one.

        Args:
            rows: how many rows each private table gets.

        Raises:
            InvalidParameter: rows is not a positive whole number.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> session = dp.protect(pa.table({"age": [31, 47, 62]}), privacy_unit="row", budget=1)
            >>> mock = session.mock(rows=500)
            >>> mock.sql("SELECT COUNT(*) AS n FROM data", epsilon=1).columns
            ['n']
            >>> mock.budget, session.budget
            (epsilon 0 left of 1 (1 spent), epsilon 1 left of 1 (0 spent))
        """
        from discreet.engines.duckdb import DuckDBEngine
        from discreet.sql.inspect.mock import invent

        whole(rows, "rows")
        tables = invent(self._policy, self._engine.schema(), self._catalog, rows)
        engine = DuckDBEngine.open(tables)
        session = Session(engine, self._policy, open_ledger(None))
        session._invented = True
        session._held = self._held
        return session

    def see_free(self, path: str | os.PathLike[str]) -> None:
        """See that a file of yours at this path would replace neither the data nor the ledger, by any link.

        Raises:
            InvalidParameter: it would.
        """
        self._held.see_free(path)

    @property
    def budget(self) -> BudgetState:
        """The budget of the data set: total, spent and left."""
        see_process(self._process)
        limit, spent = self._policy.budget, self._account.spent()
        return BudgetState(limit.epsilon, spent.epsilon, limit.delta, spent.delta)

    @property
    def ledger(self) -> Ledger:
        """The ledger, for `entries()` and `verify()`."""
        return self._ledger

    @property
    def policy(self) -> Policy:
        """The steward's declarations."""
        return self._policy

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

    # Steps -------------------------------------------------------------------------------------------------

    def _planned(self, question: Question) -> Plan:
        return self._plan(question.text, question.epsilon, question.limits, question.delta, question.split)

    def _plan(
        self,
        query: str,
        epsilon: Fraction,
        limits: Limits = NO_LIMITS,
        delta: Fraction = Fraction(0),
        emphasis: Emphasis = (),
    ) -> Plan:
        if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
            raise no_noise()
        from discreet.noise.parameters import LARGEST, SMALLEST

        see_text(query)
        try:
            plan = make_plan(query, self._catalog, epsilon, limits, delta, emphasis, self._known)
        except RecursionError:
            raise QueryRefused("The query is nested too deeply.", "Split it with WITH … AS (…).") from None
        except QueryRefused as error:
            raise advised(error, self._policy, self._engine) from None
        lacks: frozenset[str] = getattr(self._engine, "lacks", frozenset())
        missing = next((name for release in plan.releases if (name := lacking(release, lacks))), "")
        if missing:
            raise QueryRefused(
                f"{missing} is not possible on this engine.",
                "Write it without, or copy the data into DuckDB.",
            )
        # A scale that cannot be drawn must show here: once the question is charged it is too late.
        scales = [release.scale(at) for release in plan.releases for at in range(len(release.measures))]
        scales += [r.discovery.mechanism(r).scale for r in plan.releases if r.discovery is not None]
        if not all(SMALLEST <= scale <= LARGEST for scale in scales):
            raise no_noise()
        return plan

    def _answer(self, question: Question, plan: Plan, say: Callable[[str], None]) -> Release:
        """Charge, run and settle, or answer from the ledger; whoever asks the same meanwhile waits for this answer."""
        level = question.level
        if not plan.releases:
            self._rehearse(plan)
            return self._finish(plan, [], *level)
        from discreet.sql.finish.serialisation import pack
        from discreet.sql.intervals.row_mapping import follows

        def compute(draw: Draw) -> list[Noisy]:
            say("reading the data")
            return self._run(plan, draw)

        def made(noisy: list[Noisy]) -> tuple[Release, bytes]:
            say("finishing the answer")
            release = self._finish(plan, noisy, *level)
            return release, pack(release, noisy, follows(plan))

        def again(kept: bytes) -> Release:
            return self._settled(plan, kept, level)

        asked = release_plan(self, question, plan, compute, made, again)
        return gate.release(asked, self._ledger, self._account)

    def _rehearse(self, plan: Plan) -> None:
        """Run the post-processing on empty tables, once for each statement, so that faults show before the charge."""
        from discreet.sql.finish.postprocess import rehearse

        if plan.statement not in self._rehearsed:
            rehearse(plan, self._catalog.public)
            if len(self._rehearsed) < REHEARSED:
                self._rehearsed.add(plan.statement)

    def _probe(self, plan: Plan) -> None:
        """See that the engine could run the question, so that what has gone is found before the charge."""
        from discreet.sql.lower.probe import probe

        probe(plan, self._engine)

    def _question(self, plan: Plan) -> str:
        """The canonical question on this version of the data: what is released, not how it is written or shown."""
        from discreet.sql.lower.identity import identity

        tables = sorted(name for name, table in self._policy.tables.items() if not table.public)
        loss = str(plan.epsilon) + (f" {plan.delta}" if plan.delta else "")
        parts = [identity(plan, self._engine.dialect), loss, self._policy.digest(),
                 self._public_digest, *(f"{name} {self._engine.version(name)}" for name in tables)]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def _public_digest(self) -> str:
        """A digest of the public tables: keys and joins depend on them, so another content is another question."""
        import pyarrow as pa

        state = hashlib.sha256()
        for name, table in sorted(told_tables(self._catalog, self._policy).items()):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.combine_chunks())
            state.update(f"{name} {sink.tell()} ".encode() + sink.getvalue())
        return state.hexdigest()

    def _run(self, plan: Plan, draw: Draw) -> list[Noisy]:
        from discreet.sql.lower.run import run_release

        salt = self._ledger.salt(DATA_SET)
        return promptly(
            self._engine,
            lambda: [run_release(release, self._engine, salt, draw) for release in plan.releases],
        )

    def _finish(self, plan: Plan, noisy: list[Noisy], confidence: float, together: bool = False) -> Release:
        from discreet.sql.finish.postprocess import finish

        plan = replace(plan, releases=tuple(one.plan for one in noisy))  # with the groups that were found
        answered = finish(plan, noisy, self._catalog.public, confidence, together)
        return self._release(plan, answered, confidence, together=together)

    def _release(
        self,
        plan: Plan,
        answered: Answered,
        confidence: float,
        made: dt.datetime | None = None,
        replayed: bool = False,
        together: bool = False,
    ) -> Release:
        """The columns of an answer with all that belongs to them."""
        from discreet.sql.finish.blockwise import streams
        from discreet.sql.inspect.misleading import meanings_of, misled

        notes = notes_of(plan, answered.without, self._catalog.unit_factor)
        return Release(
            question=plan.text,
            values=answered.values,
            low=answered.ends(0),
            high=answered.ends(1),
            confidence=confidence,
            simultaneous=together,
            without=answered.without,
            meanings=meanings_of(plan),
            warnings=misled(plan, answered.values, confidence, whole=not streams(plan)),
            epsilon=plan.epsilon,
            delta=plan.delta,
            notes=INVENTED if self._invented and plan.releases else notes,
            made=made or dt.datetime.now(dt.UTC).replace(microsecond=0),
            replayed=replayed,
        )

    def _settled(self, plan: Plan, kept_bytes: bytes, level: Level) -> Release:
        """An earlier answer; written or shown in another way it is made anew from the same noisy integers."""
        from discreet.sql.finish.serialisation import unpack

        kept = unpack(kept_bytes, plan)
        release = kept.answer
        if (
            release is not None
            and (release.confidence, release.simultaneous) == level
            and release.question == plan.text
        ):
            return release
        # The values are those of the new run: without ORDER BY its rows may come in another order, and each
        # interval belongs to the row beside it.
        return replace(self._finish(plan, kept.noisy, *level), made=kept.made, replayed=True)
