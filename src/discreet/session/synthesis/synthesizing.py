"""Session.synthesize: one release of noisy marginals, and rows drawn from a model of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import InvalidParameter, QueryRefused
from discreet.escaping import name as one_line
from discreet.quoting import quote
from discreet.rational import Number
from discreet.release import gate
from discreet.session.asking import asked
from discreet.session.parameters import whole
from discreet.session.question import SessionQuestion
from discreet.session.waiting.progress_line import shown_progress
from discreet.session.workloads import WorkloadSession

if TYPE_CHECKING:
    from discreet.session.synthesis.producing import Synthesis
    from discreet.sql.algebra.catalog import PrivateTable
    from discreet.sql.plan.plan import PlannedRelease
    from discreet.synthetic.axes import Axis
    from discreet.synthetic.foretold import SynthesisPreview
    from discreet.synthetic.table import SyntheticTable

MOST_ROWS: Final = 1 << 24
"""So many synthetic rows are drawn at most."""
DEGREES: Final = (1, 2, 3)
TABLE_ROWS: Final = 10_000
"""A table is taken to have so many rows where a preview is not told."""


class SyntheticSession(WorkloadSession):
    """A session that makes synthetic tables."""

    @asked
    def synthesize(
        self,
        like: str | None = None,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        degree: int = 2,
        workload: Sequence[Sequence[str]] | None = None,
        bins: Mapping[str, Any] | None = None,
        max_rows: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> SyntheticTable:
        """Make a table of rows that nobody gave, like a private one.

        Noisy counts of single columns and of sets of columns that are chosen one by one are released; the rows are
        drawn from a model of them, which costs nothing more. The same question again is the same table, for nothing.

        Args:
            like: the private table; may be left out where there is one.
            epsilon: the privacy loss of all of it.
            delta: buys Gaussian noise where that errs less, under the accountants `zcdp` and `pld`; else not spent.
            columns: to take; by default all with keys or bounds, and booleans. Texts need keys.
            rows: how many to draw; by default about as many as the noisy counts tell.
            degree: marginals of so many columns matter, 1 to 3.
            workload: the sets of columns that matter, in place of all of that degree; one that is named three times
                matters three times as much.
            bins: the number of intervals of a bounded column, or the ends between them, by its name; by default 16 of
                one length. Choose them without the data.
            max_rows: how many rows of a unit count; by default as the policy says.
            progress: called with a few words at each step.

        Raises:
            InvalidParameter: a parameter is out of range. Nothing was charged.
            The other errors are those of `sql`.

        Privacy: epsilon-differentially private for the privacy unit of the policy, or (epsilon, delta) with Gaussian
        noise, by `mechanisms.adaptive.AdaptiveRounds`: noisy counts and exact choices under one loss.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> people = pa.table({"age": [31, 47, 62] * 400, "smokes": [True, False, None] * 400})
            >>> session = dp.protect(people, privacy_unit="row", bounds={"age": (0, 119)}, budget=3)
            >>> made = session.synthesize(epsilon=1, rows=1000)
            >>> made.columns, len(made), session.budget
            (['age', 'smokes'], 1000, epsilon 2 left of 3 (1 spent))
        """
        synthesis = self._synthesis(like, epsilon, columns, rows, degree, workload, bins, max_rows)
        question = SessionQuestion.read("", epsilon, delta=delta, max_rows=max_rows)
        with shown_progress(progress) as say:
            plan = synthesis.plan(question, say)
            return gate.release(plan, self._queries.ledger, self._queries.account)

    @asked
    def preview_synthesis(  # noqa: D417  most are those of `synthesize`
        self,
        like: str | None = None,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        columns: Sequence[str] | None = None,
        degree: int = 2,
        workload: Sequence[Sequence[str]] | None = None,
        bins: Mapping[str, Any] | None = None,
        max_rows: int | None = None,
        table_rows: int = TABLE_ROWS,
    ) -> SynthesisPreview:
        """Give the cost of a synthetic table, the marginals that may be measured, and their noise; it reads no data.

        Args:
            like, epsilon, delta, columns, degree, workload, bins, max_rows: as for `synthesize`.
            table_rows: how many rows the table is assumed to have, at least 1.

        Raises:
            InvalidParameter: as for `synthesize`.
            QueryRefused: as for `synthesize`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> people = pa.table({"age": [31, 47, 62] * 400, "smokes": [True, False, None] * 400})
            >>> session = dp.protect(people, privacy_unit="row", bounds={"age": (0, 119)}, budget=3)
            >>> seen = session.preview_synthesis(epsilon=1)
            >>> seen.columns, len(seen.marginals), seen.left
            ({'age': 17, 'smokes': 3}, 3, Fraction(2, 1))
        """
        whole(table_rows, "table_rows")
        synthesis = self._synthesis(like, epsilon, columns, None, degree, workload, bins, max_rows)
        question = SessionQuestion.read("", epsilon, delta=delta, max_rows=max_rows)
        return synthesis.preview(question, table_rows, self.budget.left)

    def _synthesis(
        self,
        like: str | None = None,
        epsilon: Number = 1,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        degree: int = 2,
        workload: Sequence[Sequence[str]] | None = None,
        bins: Mapping[str, Any] | None = None,
        max_rows: int | None = None,
    ) -> Synthesis:
        """A synthetic table that is asked for, with all parameters read."""
        # Half of the room of synthetic tables: a session that makes none need not wait for it.
        from discreet.session.synthesis.columns import planned_columns
        from discreet.session.synthesis.producing import Synthesis

        table = self._private(like)
        if rows is not None:
            whole(rows, "rows")
        if rows is not None and rows > MOST_ROWS:
            raise InvalidParameter(f"rows is above {MOST_ROWS:,}.", "Draw fewer rows.")

        def planned(text: str) -> PlannedRelease:
            question = SessionQuestion.read(text, epsilon, max_rows=max_rows)
            return self._queries.planned(question).releases[0]

        found, left_out = planned_columns(table, columns, _mapping(bins), planned)
        weights = _weights([column.axis for column in found], degree, workload)
        # Without groups nothing but max_rows caps the rows of a unit.
        cap = planned(f"SELECT COUNT(*) AS n FROM {quote(table.name)}").parts[0].cap
        return Synthesis(self._queries, table, cap, found, weights, left_out, rows)

    def _private(self, like: object) -> PrivateTable:
        """The private table of a name, or the only one."""
        private = self._catalog.private
        if like is None and len(private) == 1:
            return next(iter(private.values()))
        found = private.get(like.lower()) if isinstance(like, str) else None
        if found is None:
            names = ", ".join(one_line(table.name) for table in private.values())
            cause = (
                "No private table is named." if like is None else "There is no private table of this name."
            )
            raise QueryRefused(cause, f"Write like= with one of {names}.")
        return found


def _mapping(bins: object) -> dict[str, Any]:
    if bins is not None and not isinstance(bins, Mapping):
        raise InvalidParameter("bins is no mapping of columns.", 'Write bins={"income": 20}.')
    return dict(bins or {})


def _weights(axes: Sequence[Axis], degree: object, workload: Any) -> dict[tuple[int, ...], int]:
    """The marginals of two columns or more that matter, each with the weight 1."""
    if isinstance(degree, bool) or not isinstance(degree, int) or degree not in DEGREES:
        raise InvalidParameter("degree is not 1, 2 or 3.", "Write degree=2.")
    if workload is None:
        every = (itertools.combinations(range(len(axes)), size) for size in range(2, degree + 1))
        return dict.fromkeys(itertools.chain.from_iterable(every), 1)
    place = {axis.name.lower(): index for index, axis in enumerate(axes)}
    found: dict[tuple[int, ...], int] = {}
    if isinstance(workload, str) or not isinstance(workload, Iterable):
        raise InvalidParameter("workload is no list of columns.", 'Write workload=[("age", "county")].')
    for names in workload:
        named = isinstance(names, Iterable) and not isinstance(names, str)
        if not named or not all(isinstance(name, str) and name.lower() in place for name in names):
            raise InvalidParameter(
                "The workload names a column that is not taken.", 'Write workload=[("age", "county")].'
            )
        columns = tuple(sorted({place[name.lower()] for name in names}))
        if len(columns) > 1:
            found[columns] = found.get(columns, 0) + 1
    return found
