"""Several questions as one: one charge, one strategy, and answers that agree with each other."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet import escaping
from discreet.errors import InvalidParameter
from discreet.rational import Number, show
from discreet.records import dataclass
from discreet.release import gate
from discreet.release.answer import Release
from discreet.session.asking import asked
from discreet.session.base import OpenSession
from discreet.session.parameters import GROUP_ROWS, see_group_rows, see_text
from discreet.session.queries import Queries
from discreet.session.question import SessionQuestion
from discreet.session.waiting.progress_line import shown_progress
from discreet.sql.plan.plan import QueryPlan

if TYPE_CHECKING:
    from discreet.release.draw import Draw
    from discreet.sql.inspect.preview import Preview
    from discreet.sql.lower.run import NoisyIntegers

MOST = 64
"""The most questions of one workload."""


@dataclass(frozen=True, repr=False)
class Answers(Mapping[str, Release]):
    """The answers to several questions that were asked as one.

    Attributes:
        releases: by the name of the question; the `epsilon` of each is that of all of them together.
        epsilon: the privacy loss of all of them.
        delta: of all of them.
        replayed: whether these are earlier answers, which cost nothing again.
    """

    releases: Mapping[str, Release]
    epsilon: Fraction
    delta: Fraction
    replayed: bool

    def __getitem__(self, name: str) -> Release:
        return self.releases[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    def __repr__(self) -> str:
        parts = [f"{escaping.name(name)}\n{release!r}" for name, release in self.releases.items()]
        return "\n\n".join([*parts, self._cost()])

    def _repr_html_(self) -> str:
        return _page(self.releases, [self._cost()])

    def _cost(self) -> str:
        return "free: asked before" if self.replayed else f"epsilon {show(self.epsilon)}, all together"


@dataclass(frozen=True, repr=False)
class WorkloadPreview(Mapping[str, "Preview"]):
    """The cost of several questions that would be asked as one, and the errors of their answers.

    Attributes:
        previews: by the name of the question; the cost of each is that of all of them together.
        epsilon: the privacy loss of all of them.
        delta: of all of them.
        together: which of their tables are measured together, and how much that saves.
    """

    previews: Mapping[str, Preview]
    epsilon: Fraction
    delta: Fraction
    together: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Preview:
        return self.previews[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.previews)

    def __len__(self) -> int:
        return len(self.previews)

    def __repr__(self) -> str:
        parts = [f"{escaping.name(name)}\n{seen!r}" for name, seen in self.previews.items()]
        return "\n\n".join([*parts, *self._foot()])

    def _repr_html_(self) -> str:
        return _page(self.previews, self._foot())

    def _foot(self) -> list[str]:
        return [
            "free: asked before" if self.replayed else f"epsilon {show(self.epsilon)}, all together",
            *self.together,
        ]

    @property
    def replayed(self) -> bool:
        """Whether all of them were answered before as one, so that asking them again costs nothing."""
        return any(preview.replayed for preview in self.previews.values())


def _page(parts: Mapping[str, Release] | Mapping[str, Preview], foot: Sequence[str]) -> str:
    """The parts of a workload under their names, in the HTML of a notebook."""
    tables = [f"<b>{escaping.markup(name)}</b>{part._repr_html_()}" for name, part in parts.items()]
    return f"{''.join(tables)}<p>{'<br>'.join(map(escaping.markup, foot))}</p>"


class WorkloadSession(OpenSession):
    """A session that takes several questions as one."""

    @asked
    def workload(
        self,
        queries: Mapping[str, str],
        epsilon: Number,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        intervals: bool = True,
        nonnegative: bool = False,
        integers: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Answers:
        """Answer several questions as one.

        They cost epsilon together. Where they have the same FROM, WHERE and aggregates and differ in their keys alone,
        the marginals are measured from which all of them are estimated with the least error, and the same number is the
        same in every answer. A total still counts the rows whose key is not listed, so it may differ from the sum of
        its parts; in one question with GROUP BY ROLLUP it does not. Where they ask for several ranges of one column,
        such as ages, the pieces that the ranges cut are measured, and ranges add up.

        Args:
            queries: the questions by name, each as for `sql`.
            epsilon: the privacy loss of all of them.
            confidence: as for `sql`.
            delta: as for `sql`, for all of them.
            max_rows: as for `sql`.
            max_groups: as for `sql`.
            max_rows_per_group: as for `sql`.
            intervals: as for `sql`.
            nonnegative: as for `sql`; totals stay the sums of their parts.
            integers: as for `sql`; totals stay the sums of their parts.
            progress: as for `sql`.

        Raises:
            InvalidParameter: there is no question, or too many. Nothing was charged.
            Those of `sql`.

        Privacy: as for `sql`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> data = pa.table({"age": [31, 47, 62], "smokes": [True, False, True]})
            >>> session = dp.protect(data, privacy_unit="row", bounds={"age": (0, 119)}, budget=3)
            >>> answers = session.workload({
            ...     "all": "SELECT COUNT(*) AS n FROM data",
            ...     "smokers": "SELECT smokes, COUNT(*) AS n FROM data GROUP BY smokes",
            ... }, epsilon=1)
            >>> list(answers), answers["smokers"].columns
            (['all', 'smokers'], ['smokes', 'n'])
        """
        named, question, plan, each = asked_together(
            self._queries, queries, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
            max_groups=max_groups, max_rows_per_group=max_rows_per_group, intervals=intervals,
            nonnegative=nonnegative, integers=integers,
        )  # fmt: skip
        with shown_progress(progress) as say:
            releases = answered(self._queries, question, plan, each, say)
        replayed = bool(plan.releases) and all(release.replayed for release in releases if release.epsilon)
        return Answers(dict(zip(named, releases, strict=True)), plan.epsilon, plan.delta, replayed)

    @asked
    def preview_workload(  # noqa: D417  most are those of `workload`
        self,
        queries: Mapping[str, str],
        epsilon: Number,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        intervals: bool = True,
        nonnegative: bool = False,
        integers: bool = False,
        group_rows: int = GROUP_ROWS,
    ) -> WorkloadPreview:
        """Give the cost of a workload and the errors of its answers, without reading data or charging.

        Args:
            queries, epsilon, confidence, delta, max_rows, max_groups, max_rows_per_group, intervals: as for `workload`.
            nonnegative, integers: as for `workload`; the errors are those before.
            group_rows: as for `preview`.

        Raises:
            InvalidParameter: as for `workload`.
            QueryRefused: as for `workload`.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> data = pa.table({"smokes": [True, False, True]})
            >>> session = dp.protect(data, privacy_unit="row", budget=3)
            >>> seen = session.preview_workload({
            ...     "all": "SELECT COUNT(*) AS n FROM data",
            ...     "smokers": "SELECT smokes, COUNT(*) AS n FROM data GROUP BY smokes",
            ... }, epsilon=1)
            >>> seen["all"].errors, seen.epsilon
            ({'n': 5.0}, Fraction(1, 1))
        """
        from discreet.session.previewing import preview_together

        see_group_rows(group_rows)
        named, question, plan, each = asked_together(
            self._queries, queries, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
            max_groups=max_groups, max_rows_per_group=max_rows_per_group, intervals=intervals,
            nonnegative=nonnegative, integers=integers,
        )  # fmt: skip
        seen, together = preview_together(self._queries, question, plan, each, group_rows, self.budget)
        return WorkloadPreview(dict(zip(named, seen, strict=True)), plan.epsilon, plan.delta, together)


def _named(queries: object) -> dict[str, str]:
    named = dict(queries) if isinstance(queries, Mapping) else {}
    if not 1 <= len(named) <= MOST or not all(isinstance(name, str) for name in named):
        raise InvalidParameter(
            f"A workload has from 1 to {MOST} questions by name.", 'Write {"total": "SELECT …", …}.'
        )
    return named


def asked_together(
    queries: Queries, asked: Mapping[str, str], epsilon: Number, **options: Any
) -> tuple[dict[str, str], SessionQuestion, QueryPlan, list[QueryPlan]]:
    """Some questions by name, their parameters, the plan of all of them, and that of each.

    Args:
        queries: the producer.
        asked: the questions by name.
        epsilon: of all of them.
        options: as for `Session.workload`.

    Raises:
        InvalidParameter: there is no question, or too many, or a parameter is out of range.
        QueryRefused: one of them cannot be answered with a guarantee.
    """
    named = _named(asked)
    for text in named.values():
        see_text(text)
    question = SessionQuestion.read("; ".join(named.values()), epsilon, **options)
    plan, each = queries.plan_together(list(named.values()), question)
    return named, question, plan.shaped(question.shaping), [part.shaped(question.shaping) for part in each]


def answered(
    queries: Queries,
    question: SessionQuestion,
    whole: QueryPlan,
    each: Sequence[QueryPlan],
    say: Callable[[str], None],
) -> list[Release]:
    """Charge several questions once, run them and settle, or answer them from the ledger.

    Args:
        queries: the producer.
        question: epsilon, delta and confidence of all of them.
        whole: the plan of all releases.
        each: for each question its tables and its post-processing.
        say: takes words on the progress.
    """
    from discreet.sql.finish.serialisation import pack, unpack
    from discreet.sql.intervals.row_mapping import follows

    def finished(noisy: list[NoisyIntegers]) -> list[Release]:
        return _finished(queries, question, whole, each, noisy)

    def compute(draw: Draw) -> list[NoisyIntegers]:
        say("reading the data")
        return queries.run(whole, draw)

    def made(noisy: list[NoisyIntegers]) -> tuple[list[Release], io.BytesIO]:
        say("finishing the answers")
        releases = finished(noisy)
        formulas = bool(whole.shaping) or all(follows(plan) for plan in each if plan.releases)
        return releases, io.BytesIO(pack(releases[0], noisy, formulas, releases[1:]))

    def again(kept: bytes, free: bool) -> list[Release]:
        stored = unpack(kept, whole)
        before = [] if stored.answer is None else [stored.answer, *stored.beside]
        # Intervals that are drawn differ each time, so the same words have the answer that was shown.
        same = {
            answer.question: answer
            for answer in before
            if not whole.shaping and (answer.confidence, answer.simultaneous) == question.level
        }
        return [
            replace(
                same.get(plan.text, release),
                made=stored.made,
                replayed=bool(plan.releases) and free,
                deployment=release.deployment,
            )
            for plan, release in zip(each, finished(stored.noisy), strict=True)
        ]

    for plan in each:
        queries.rehearse(plan)
    if not whole.releases:
        return finished([])
    asked = queries.release_plan(question, whole, compute, made, again, partial(pack, None))
    return gate.release(replace(asked, rehearse=lambda: None), queries.ledger, queries.account)


def _finished(
    queries: Queries,
    question: SessionQuestion,
    whole: QueryPlan,
    each: Sequence[QueryPlan],
    noisy: list[NoisyIntegers],
) -> list[Release]:
    """The answers that noisy integers give."""
    from discreet.sql.finish.shaping import shaped
    from discreet.sql.lower.workloads import tables_of

    tables = {table.plan.name: table for table in tables_of(whole, noisy)}
    shown = {
        table.plan.name: table for table in shaped(whole, noisy, list(tables.values())) or tables.values()
    }
    paid = queries.deployment(replace(whole, releases=tuple(table.plan for table in tables.values())))
    out = []
    for plan in each:
        own, seen = ([given[release.name] for release in plan.releases] for given in (tables, shown))
        release = queries.finish(plan, own, *question.level, seen if whole.shaping else None)
        if own:
            release = replace(release, epsilon=whole.epsilon, delta=whole.delta, deployment=paid)
        out.append(release)
    return out
