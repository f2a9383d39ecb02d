"""Which sums over an ordered key a statement asks for above a noisy table: running totals, moving sums, single groups.

It decides which sums are measured, and nothing else: a form that is not recognised here is answered as rightly, with
more noise than it could have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from sqlglot import exp

from discreet.planning.ranges.families import EACH, RangeFamily, WindowFrame
from discreet.records import dataclass, field
from discreet.release.noisy_schema import aggregate_number, key_number
from discreet.sql.syntax.once import once
from discreet.sql.syntax.parse import output_name

FamiliesByKey: TypeAlias = tuple[tuple[int, tuple[RangeFamily, ...]], ...]
"""By the number of a key the families of sums along it."""


@dataclass(frozen=True)
class _Column:
    """A column that is made of one noisy table.

    Attributes:
        key: the number of the key that it is; None for others.
        noisy: whether it holds numbers of single groups.
    """

    key: int | None = None
    noisy: bool = False


_Columns: TypeAlias = Mapping[str, _Column]
_OTHER = _Column()


@once
def families_of(post: exp.Query, table: str) -> FamiliesByKey:
    """The families of sums of the numbers of a noisy table, by the key along which they run.

    Args:
        post: the statement above the noisy tables.
        table: the name of one of them.
    """
    if post.find(exp.Window) is None:
        return ()
    reader = _Reader(table)
    reader.shown(post, {})
    each = (EACH,) if reader.single else ()
    return tuple((key, (*each, *sorted(frames, key=repr))) for key, frames in sorted(reader.frames.items()))


@dataclass
class _Reader:
    """Walks through a statement, and collects.

    Attributes:
        table: the name of the noisy table.
        frames: the windows found, by the number of the key that orders them.
        single: whether numbers of single groups are shown, or put to a use that is not looked into.
    """

    table: str
    frames: dict[int, set[WindowFrame]] = field(default_factory=dict)
    single: bool = False

    def shown(self, node: exp.Expr, outer: Mapping[str, _Columns]) -> None:
        """A query whose columns are all looked at."""
        columns = self.columns(node, outer)  # which may set it, too
        self.single |= any(column.noisy for column in columns.values())

    def columns(self, node: exp.Expr, outer: Mapping[str, _Columns]) -> _Columns:
        """The columns of a query."""
        if isinstance(node, exp.Subquery):
            return self.columns(node.this, outer)
        known = dict(outer)
        clause = node.args.get("with_")
        for cte in clause.expressions if clause is not None else []:
            known[cte.alias.lower()] = self.columns(cte.this, known)
        if isinstance(node, exp.Select):
            return self._select(node, known)
        if isinstance(node, exp.SetOperation):
            self.shown(node.expression, known)
            return self.columns(node.this, known)
        return {}

    def _select(self, node: exp.Select, known: Mapping[str, _Columns]) -> _Columns:
        sources: dict[str, _Columns] = {}
        clause = node.args.get("from_")
        for source in [
            *([clause.this] if clause else []),
            *(join.this for join in node.args.get("joins") or []),
        ]:
            sources[source.alias_or_name.lower()] = self._source(source, known)
        grouped = node.args.get("group") is not None or any(map(_aggregates, node.expressions))
        out: dict[str, _Column] = {}
        for item in node.expressions:
            if item.is_star:
                out.update({name: column for columns in sources.values() for name, column in columns.items()})
                continue
            out[output_name(item).lower()] = self._item(item.unalias(), node, sources, known, grouped)
        for part in ("where", "having", "qualify"):
            clause = node.args.get(part)
            if clause is not None and self._item(clause, node, sources, known, grouped).noisy:
                self.single = True
        return out

    def _source(self, source: exp.Expr, known: Mapping[str, _Columns]) -> _Columns:
        if isinstance(source, exp.Subquery):
            return self.columns(source, known)
        name = source.name.lower()
        if name == self.table.lower():
            return _Noisy()
        return known.get(name, {})

    def _item(
        self, node: exp.Expr, select: exp.Select, sources: Mapping[str, _Columns],
        known: Mapping[str, _Columns], grouped: bool,
    ) -> _Column:  # fmt: skip
        if isinstance(node, exp.Column):
            return _column(node, sources)
        noisy = False
        for column in _outside(node, lambda window: self._framed(window, select, sources)):
            if isinstance(column, exp.Query):
                self.shown(column, {**known, **sources})
            elif isinstance(column, exp.Column):
                noisy |= _column(column, sources).noisy
        if grouped and noisy:
            self.single = True  # nobody looks into a GROUP BY above them
        return _Column(noisy=noisy)

    def _framed(self, window: exp.Window, select: exp.Select, sources: Mapping[str, _Columns]) -> bool:
        """Whether a window is a sum along a key, which is noted."""
        added = window.this.this if isinstance(window.this, exp.Sum | exp.Avg) else None
        if added is None or not any(_column(column, sources).noisy for column in _columns_in(added)):
            return False
        order, spec = _spelled(window, select)
        if order is None or len(order.expressions) != 1:
            return False
        ordered = order.expressions[0]
        target = ordered.this if isinstance(ordered, exp.Ordered) else ordered
        key = _column(target, sources).key if isinstance(target, exp.Column) else None
        frame = _frame(spec)
        if key is None or frame is None:
            return False
        backward = isinstance(ordered, exp.Ordered) and bool(ordered.args.get("desc"))
        self.frames.setdefault(key, set()).add(WindowFrame(frame.after, frame.before) if backward else frame)
        return True


class _Noisy(dict[str, _Column]):
    """The columns of the noisy table itself."""

    def get(self, name: str, default: object = None) -> _Column:
        key = key_number(name)
        return _Column(key) if key is not None else _Column(noisy=aggregate_number(name) is not None)


def _columns_in(node: exp.Expr) -> Iterator[exp.Column]:
    return (inner for inner in node.walk() if isinstance(inner, exp.Column))


def _column(node: exp.Column, sources: Mapping[str, _Columns]) -> _Column:
    name = node.name.lower()
    if node.table:
        return sources.get(node.table.lower(), {}).get(name, _OTHER)
    return next((columns.get(name, _OTHER) for columns in sources.values() if name in columns), _OTHER)


def _aggregates(node: exp.Expr) -> bool:
    """Whether an item adds up rows, not within a window."""
    return any(not isinstance(call.parent, exp.Window | exp.Filter) for call in node.find_all(exp.AggFunc))


def _outside(node: exp.Expr, framed: Callable[[exp.Window], bool]) -> Iterator[exp.Expr]:
    """The columns and sub-queries of an expression that are in no window that is a sum along a key."""
    if isinstance(node, exp.Column | exp.Query):
        yield node
        return
    if isinstance(node, exp.Window) and framed(node):
        return
    for child in node.iter_expressions():
        yield from _outside(child, framed)


def _spelled(window: exp.Window, select: exp.Select) -> tuple[exp.Expr | None, exp.Expr | None]:
    """The ORDER BY and the frame of a window, of the named one that it refers to, too."""
    order, spec = window.args.get("order"), window.args.get("spec")
    name: exp.Expr | None = window.args.get("alias")
    for other in select.args.get("windows") or []:
        if name and other.name.lower() == name.name.lower():
            order, spec = order or other.args.get("order"), spec or other.args.get("spec")
    return order, spec


def _frame(spec: exp.Expr | None) -> WindowFrame | None:
    """A frame in values before and after the present one; None where it cannot be told."""
    if spec is None:
        return WindowFrame(None, 0)
    start = _reach(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING")
    end = _reach(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING")
    if start is False or end is False:
        return None
    return WindowFrame(start, end)


def _reach(end: object, side: object, forward: str) -> int | Literal[False] | None:
    """How many values an end of a frame lies away; None for all, and False where it cannot be told."""
    if end == "CURRENT ROW":
        return 0
    if end == "UNBOUNDED":
        return None if side == forward else False
    number = end.this if isinstance(end, exp.Interval) else end
    if not isinstance(number, exp.Literal) or not number.name.isdigit():
        return False
    return int(number.name) if side == forward else -int(number.name)
