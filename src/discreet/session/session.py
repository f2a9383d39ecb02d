"""Session: a policy, an engine and a ledger behind one question-and-answer face."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidParameter
from discreet.ledger import open_ledger
from discreet.rational import Number, epsilon_of
from discreet.release import gate
from discreet.release.answer import Release
from discreet.session.asking import asked
from discreet.session.parameters import (
    GROUP_ROWS,
    MOCK_ROWS,
    ErrorTarget,
    choice_of,
    confidence_of,
    see_group_rows,
    whole,
)
from discreet.session.question import ONE, SessionQuestion
from discreet.session.text_only import ExplainingSession, answer_about, read_price
from discreet.session.tuning.suggesting import SuggestingSession
from discreet.session.waiting.progress_line import shown_progress

if TYPE_CHECKING:
    from discreet.sensitivity import SampledSensitivity
    from discreet.session.writing import Written
    from discreet.sql.inspect.preview import Preview


class Session(SuggestingSession, ExplainingSession):
    """Answers questions about one data set under one budget.

    Made by `protect`. A session may be shared between threads; its ledger may be shared between processes. It belongs
    to the process that opened it: in a forked child, and when it is pickled, it raises `SessionError`, at once and
    uncharged. Every error of a question has the attribute `charged`, the exact loss that stays charged or None, and
    says it.
    """

    @asked
    @answer_about
    @read_price
    def sql(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        within: Mapping[str, Number] | None = None,
        group_rows: int = GROUP_ROWS,
        reuse: bool | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Release:
        """Answer a question.

        The charge is durable before any private data is read, and stays when anything fails afterwards: then no answer
        is given, and the error names the charge. The same question with the same epsilon on the same data, as far
        as its version tells, is answered from the ledger again, for nothing, once it was settled.

        Args:
            query: one SELECT in DuckDB's dialect over the tables of the policy. DESCRIBE, SHOW TABLES, SUMMARIZE,
                EXPLAIN and information_schema are answered from the policy alone, for nothing. A text may carry its
                price: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, …) ….
            epsilon: the privacy loss of the whole question, a positive rational; 0.1 means 1/10. Not needed for
                a question that reads nothing private.
            confidence: of the intervals, strictly between 0 and 1.
            delta: allows groups whose keys are not public: those with enough units are found, the others stay hidden.
                Else it buys Gaussian noise that errs less, under the accountants `zcdp` and `pld`, or is not spent.
            max_rows: how many rows of a unit count in this question; by default as the policy says.
            max_rows_per_group: how many of them count in one group; by default as the policy says, or all.
            max_groups: in how many groups it is counted as a unit, or helps to have them found; by default max_rows.
            split: how many times its usual share of epsilon a column gets, such as `{"n": 3}`; the others get less.
            simultaneous: whether all intervals of the answer together have the confidence, instead of each by itself:
                the way to look at many numbers, or for the largest of them. They are wider, the answer is the same.
            intervals: False for all of epsilon in numbers: quantiles spend a part of it on intervals, and without
                have their bounds instead, which say nothing.
            diagnose: the share of epsilon that measures how much was cut off, such as 0.05; by default none. The answer
                then says which share of the rows was dropped by max_rows, and of the values clamped to bounds.
            nonnegative: whether counts, and sums of numbers that are not negative, are never shown below zero. The
                notes of the answer say which bias that brings.
            integers: whether counts are whole also where several tables, or running totals, are estimated together.
            within: in place of epsilon the largest error by column, such as `{"n": 50}`, beside earlier answers.
            group_rows: beside `within`, how many rows a group is assumed to have, where an error depends on it. It
                decides the price, and is seen in it: take a public number, or one that was released before.
            reuse: whether sums of groups answered before are made of these, and the rest is paid; by default with
                `within`. The intervals do not cover a question that was chosen because of these.
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
            EngineError: the engine failed or was interrupted; the charge stays. Before it, the source is gone.
            PostProcessingError: the post-processing of the noisy tables failed; the charge stays.
            SessionError: this is another process than the one that opened the session. Nothing was charged.

        Privacy: epsilon-differentially private for the privacy unit of the policy, by the Laplace mechanism (Dwork,
        McSherry, Nissim and Smith 2006) on integers of derived sensitivity, and by the exponential mechanism on ranks;
        (epsilon, delta) with found groups or Gaussian noise, by `mechanisms.ThresholdedCounts` and `GaussianVector`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> session = dp.protect(pa.table({"age": [31, 47, 62]}), privacy_unit="row", budget=3)
            >>> session.sql("SELECT COUNT(*) AS n FROM data", epsilon=1).columns
            ['n']
        """
        from discreet.session.memory.dispatch import answered

        question = SessionQuestion.read(query, ONE if epsilon is None else epsilon, confidence=confidence, delta=delta,
                                 max_rows=max_rows, max_groups=max_groups, max_rows_per_group=max_rows_per_group,
                                 split=split, simultaneous=simultaneous, intervals=intervals,
                                 diagnose=diagnose, nonnegative=nonnegative, integers=integers)  # fmt: skip
        with shown_progress(progress) as say:
            price = ErrorTarget.read(within, group_rows)
            return answered(self._queries, question, epsilon, price, choice_of(reuse, "reuse"), say)

    @asked
    @read_price
    def write(  # noqa: D417  most are those of `sql`
        self,
        query: str,
        epsilon: Number,
        into: str | os.PathLike[str],
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        replace: bool = False,
        formulas: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Written:
        """Answer a question into a file.

        For answers of up to 10,000,000 groups: the noise, the intervals and the file are made block by block, so that
        memory does not grow with the number of groups (that of the engine is its own; DuckDB spills the rest
        to disk). The file has the values and, for each column with an interval, `<name>_low` and `<name>_high`. It
        appears under its name when it is whole. The same question is the same answer here and in `sql`.

        Groups whose keys are not public, tables that are measured together, and answers of up to 65,536 groups, are
        made in memory first. With more groups, a column has an interval where it is monotone in one aggregate.

        Args:
            query, epsilon: as for `sql`.
            into: a path that ends in .parquet or .csv.
            confidence: of the intervals, strictly between 0 and 1.
            delta, max_rows, max_groups, max_rows_per_group, split, intervals: as for `sql`.
            simultaneous: as for `sql`; for more than 65,536 groups each row of the answer must be one group.
            diagnose, nonnegative: as for `sql`, for answers of up to 65,536 groups.
            integers: as for `sql`.
            replace: whether a file of this name may be replaced; never one of the data or of the ledger, by any name.
            formulas: whether text in a CSV file may begin as a formula does (=, +, -, @). By default such text gets an
                apostrophe in front, for a key that was found may come from anybody, and a spreadsheet would run it.
            progress: called with a few words at each step and, on the way, every half a second. It must not ask this
                session anything: the engine is at work.

        Returns:
            The description of the file, without the values.

        Raises:
            InvalidParameter: as for `sql`; or `into` has another ending, is there already, belongs to the data or the
                ledger, or cannot be written. Nothing was charged.
            QueryRefused, BudgetExceeded, LedgerError: as for `sql`.
            EngineError: the engine failed; the charge stays, and there is no file.
            PostProcessingError: the post-processing of the noisy tables failed; the charge stays, there is no file, and
                the noisy integers are kept.
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
        from discreet.session.writing import written

        target = Target(into, replace, formulas)
        self.see_free(into)
        question = SessionQuestion.read(query, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
                                 max_groups=max_groups, max_rows_per_group=max_rows_per_group, split=split,
                                 simultaneous=simultaneous, intervals=intervals, diagnose=diagnose,
                                 nonnegative=nonnegative, integers=integers)  # fmt: skip
        with shown_progress(progress) as say:
            return written(self._queries, question, target, say)

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
            what: the statistic, in words, for the card.
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
        from discreet.session.vouching import release_plan, with_card

        plan = release_plan(
            compute, sensitivity, epsilon_of(epsilon), what, confidence_of(confidence), self._policy
        )
        return with_card(gate.release(plan, self._ledger, self._account), plan, self._policy)

    @asked
    @read_price
    def preview(  # noqa: D417  most are those of `sql`
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        within: Mapping[str, Number] | None = None,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        group_rows: int = GROUP_ROWS,
        reuse: bool | None = None,
    ) -> Preview:
        """Give the cost of a question and the errors of its answer, without reading data or charging.

        Args:
            query: as for `sql`.
            epsilon: the privacy loss to look at; leave it out to have the least one found.
            within: the largest error allowed by column, such as `{"n": 50}`.
            confidence: of the intervals.
            delta, max_rows, max_groups, max_rows_per_group, split, simultaneous, intervals, diagnose, reuse: as for
                `sql`.
            nonnegative, integers: as for `sql`; the errors are those before.
            group_rows: how many rows a group is assumed to have, where an error depends on it.

        Raises:
            InvalidParameter: neither or both of epsilon and within are given, or one is out of range.
            QueryRefused: as for `sql`.
        """
        from discreet.session.previewing import preview

        if (epsilon is None) == (within is None):
            raise InvalidParameter("A preview needs either epsilon or within.",
                                   'Write epsilon=0.1, or within={"n": 50}.')  # fmt: skip
        see_group_rows(group_rows)
        question = SessionQuestion.read(query, ONE if epsilon is None else epsilon, confidence=confidence, delta=delta,
                                 max_rows=max_rows, max_groups=max_groups, max_rows_per_group=max_rows_per_group,
                                 split=split, simultaneous=simultaneous, intervals=intervals, diagnose=diagnose,
                                 nonnegative=nonnegative, integers=integers)  # fmt: skip
        return preview(self._queries, question, within, group_rows, self.budget, choice_of(reuse, "reuse"))

    @asked
    def mock(self, rows: int = MOCK_ROWS) -> Session:
        """A session over invented tables, in which every question can be tried for nothing.

        Its tables have the names, columns and types of the real ones, and its policy is the same; the values are
        drawn evenly from the keys and bounds of the policy, and where there are none, from plain ones. Units have
        several rows, some more than max_rows. Public tables are the real ones. So a question is accepted or refused
        as it really is, and its answer has the columns and groups that it really has, but no number in it means
        anything. Errors of averages, which depend on the data, are those of values spread evenly.

        No private data is read for it. Each has a budget of its own, in memory, as large as that of the policy.

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
        return Session(DuckDBEngine.open(tables), self._policy, open_ledger(None), invented=self)
