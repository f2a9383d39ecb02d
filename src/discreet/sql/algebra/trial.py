"""Which combinations of public values satisfy the conditions of one branch of private rows.

A condition counts where all that it reads is public: listed keys, booleans, bounded integers and dates, moments cut to
a unit, and the rows of public tables. Of a conjunction the parts that count are kept, a disjunction counts where every
side does, and the others are passed over: that leaves groups in, and never takes one out that could have rows.

A moment has too many values to be listed. It is sampled: at its ends, once in every unit that something cuts it to, and
beside every literal that it is compared with. Between those nothing changes, so the samples stand for all moments.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.schema import Type, arrow_type
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.branches import Branch, Joined, holds_null
from discreet.sql.algebra.keys import MAX_EVALUATED, column_values, listed_values, public_values
from discreet.sql.algebra.multiplicity import most_alike
from discreet.sql.algebra.narrowing import conjuncts, moment_in, narrowed, rebuilt, uses_of
from discreet.sql.algebra.null_groups import has_null_group
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.canonical import distinct
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves, spell
from discreet.sql.expressions.span import MICROSECOND, Value
from discreet.sql.functions import call
from discreet.sql.functions.dates import FIRST, LAST

if TYPE_CHECKING:
    import pyarrow as pa

BESIDE = (-1, 0, 1)
"""Where a moment is sampled beside a literal, in microseconds."""
Group: TypeAlias = tuple[Value | None, ...]
Block: TypeAlias = tuple[tuple[int, ...], set[Group]]
Sources: TypeAlias = frozenset[str]


class Trial:
    """One branch, and the keys that its rows are grouped by.

    Attributes:
        empty: whether no row can satisfy its conditions.
    """

    def __init__(self, branch: Branch, keys: Sequence[Expression]) -> None:
        self._joined = {joined.prefix: joined for joined in branch.joined}
        self._lonely = branch.lonely
        self._all_listed: dict[str, tuple[Column, Group | None]] = {}
        traced = [branch.over_leaves(key) for key in keys]
        conditions = conjuncts(branch.conditions)
        found = {leaf.name: leaf for expression in (*traced, *conditions) for leaf in leaves(expression)}
        own = {name: leaf for name, leaf in found.items() if self._prefix(name) not in self._joined}
        self._columns, rest = narrowed(conditions, own)
        self._narrowed = {name for name, column in self._columns.items() if column != own[name]}
        self.empty = any(map(never_met, self._columns.values()))
        for leaf in (leaf for on in self._ons() for leaf in leaves(on) if self._is_private(leaf)):
            self._columns.setdefault(leaf.name, leaf)
        self._keys = [rebuilt(key, self._columns) for key in traced]
        self._given = [rebuilt(condition, self._columns) for condition in rest]
        self._moments = {
            name: samples
            for name, column in self._columns.items()
            if column.type is Type.TIMESTAMP and (samples := self._sampled(name)) is not None
        }
        self._conditions = [
            weak for condition in self._given if (weak := self._weakened(condition)) is not None
        ]

    def _ons(self) -> list[Expression]:
        return [on for _, on in self._lonely if on is not None]

    def _is_private(self, leaf: Column) -> bool:
        prefix = self._prefix(leaf.name)
        return prefix not in self._joined and all(prefix != table.prefix for table, _ in self._lonely)

    def values(self, index: int) -> Group | None:
        """Every value of a key by itself; None where it is not public."""
        return self._values[index]

    @cached_property
    def _values(self) -> list[Group | None]:
        return [self._alone(key) for key in self._keys]

    def _alone(self, key: Expression) -> Group | None:
        values = public_values(key)
        if values is None and self._read(key) is not None:
            sources = self._read(key) or frozenset()
            if self._size(sources) > MAX_EVALUATED:
                return None
            tried = [group[0] for group in self._run([key], sources, [])]
            values = tuple(sorted(value for value in tried if value is not None))
        named = self._named(key) if self._read(key) is None else None
        if named is not None:
            return named if values is None else tuple(value for value in values if value in named)
        return (*values, None) if values is not None and self._has_null(key) else values

    def _has_null(self, key: Expression) -> bool:
        if has_null_group(key) or not self._null_is_group(key):
            return has_null_group(key)
        sources = self._read(key)
        if sources is None or self._size(sources) > MAX_EVALUATED:
            return True
        return (None,) in self._run([key], sources, [])  # COALESCE makes a value of it

    def _may_lack(self, key: Expression) -> bool:
        """Whether a key reads a column of a public table in which rows of this branch found no partner."""
        return bool(self._lonely) and holds_null(key)

    def _null_is_group(self, key: Expression) -> bool:
        """Whether the NULL of a key is a group: the query decides it, or it is that of rows without a partner."""
        return has_null_group(key) or (self._may_lack(key) and self._apart)

    @cached_property
    def _apart(self) -> bool:
        """Whether a row can be without a partner in each of those tables, as far as public values tell."""
        for table, on in self._lonely:
            sources = frozenset() if on is None else self._read(on, table.prefix)
            if sources is None or self._size(sources) > MAX_EVALUATED:
                continue
            given = [c for c in self._conditions if (self._read(c) or frozenset()) <= sources]
            if not self._run([Literal(1, Type.INTEGER)], sources, given):
                return False
        return True

    def _named(self, key: Expression) -> Group | None:
        """The values of a key that a condition lists, as `left(phone, 2) IN ('13', '31')`; None where none does."""
        found: list[list[Value]] = []
        for condition in self._given if isinstance(key, Call) else ():
            if isinstance(condition, Call) and condition.name in ("in", "eq"):
                sides = (
                    condition.args
                    if condition.args[0] == key or condition.name == "in"
                    else condition.args[::-1]
                )
                literals = [
                    arg.value for arg in sides[1:] if isinstance(arg, Literal) and arg.value is not None
                ]
                if sides[0] == key and len(literals) == len(sides) - 1:
                    found.append(literals)
        return (
            distinct([value for value in found[0] if all(value in listed for listed in found)], key.type)
            if found
            else None
        )

    def groups(self, known: Sequence[int]) -> list[Block]:
        """The combinations of values of some keys that can have rows, in blocks that are independent of each other."""
        out: list[Block] = []
        components = self._components(known)
        empty = self.empty or any(
            not indices and self._fails(sources, given) for indices, sources, given in components
        )
        for indices, sources, conditions in components:
            if empty or not indices:
                out += [(indices, set())] if indices else []
            elif (
                len(indices) == 1
                and not conditions
                and not self._bound(sources)
                and not self._bent(indices[0])
            ):
                out.append((indices, {(value,) for value in self._values[indices[0]] or ()}))
            elif self._met(sources, conditions) <= MAX_EVALUATED:
                out.append(
                    (indices, self._run([self._keys[index] for index in indices], sources, conditions))
                )
            else:
                out += [((index,), self._pruned_alone(index, conditions)) for index in indices]
        return out

    def _fails(self, sources: Sources, conditions: list[Expression]) -> bool:
        """Whether nothing satisfies conditions that no key depends on."""
        if not conditions or self._met(sources, conditions) > MAX_EVALUATED:
            return False
        return not self._run([Literal(1, Type.INTEGER)], sources, conditions)

    def _bent(self, index: int) -> bool:
        """Whether a key is computed from columns of which some values were taken away."""
        key = self._keys[index]
        return isinstance(key, Call) and any(leaf.name in self._narrowed for leaf in leaves(key))

    def _pruned_alone(self, index: int, conditions: list[Expression]) -> set[Group]:
        """A key with those conditions that read nothing but it."""
        sources = self._read(self._keys[index])
        if sources is None or self._size(sources) > MAX_EVALUATED:
            return {(value,) for value in self._values[index] or ()}
        own = [condition for condition in conditions if (self._read(condition) or frozenset()) <= sources]
        return self._run([self._keys[index]], sources, own)

    # Sources: a column that can be listed, a moment that is sampled, or a public table --------------------------

    def _prefix(self, name: str) -> str:
        return name.partition(":")[0] + ":"

    def _source(self, name: str) -> str:
        prefix = self._prefix(name)
        return prefix if prefix in self._joined else name

    def _listed(self, name: str) -> Group | None:
        """Every value of a column; it may have a million, and each condition asks."""
        column = self._columns.get(name)
        if column is None:
            return None
        known = self._all_listed.get(name)
        if known is None or known[0] is not column:
            known = self._all_listed[name] = column, column_values(column.span, column.type)
        return known[1]

    def _read(self, expression: Expression, besides: str = "") -> Sources | None:
        """The sources that an expression reads; None where it reads anything that is not public."""
        if isinstance(expression, Literal):
            return frozenset()
        if isinstance(expression, Column):
            if besides and expression.name.startswith(besides):
                return frozenset()
            if self._prefix(expression.name) in self._joined or self._listed(expression.name) is not None:
                return frozenset({self._source(expression.name)})
            return None
        moment = moment_in(expression)
        if moment is not None and moment[0] in self._moments:
            return frozenset({moment[0]})
        parts = [self._read(arg, besides) for arg in expression.args]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))

    def _sampled(self, name: str) -> Group | None:
        """Moments that stand for all moments of a column; None where there are too many, or no bounds."""
        span = self._columns[name].span
        if not span.within(int(FIRST[Type.TIMESTAMP]), int(LAST[Type.TIMESTAMP])) or span.domain is not None:
            return None
        grains: list[int] = []
        literals: list[int] = []
        for expression in (*self._keys, *self._given, *self._ons()):
            uses_of(expression, name, grains, literals)
        assert span.lo is not None
        assert span.hi is not None
        first, last = math.ceil(span.lo), math.floor(span.hi)
        if not (grains or literals) or last < first:
            return None
        if grains and (last - first) / min(grains) > MAX_EVALUATED:
            return None
        places = {*(range(first, last, min(grains)) if grains else ()), first, last}
        places |= {place + step for place in literals for step in BESIDE if first <= place + step <= last}
        return tuple(dt.datetime(1970, 1, 1) + MICROSECOND * place for place in sorted(places))

    def _weakened(self, condition: Expression) -> Expression | None:
        """The part of a condition that public values alone decide; None when they decide nothing."""
        if self._read(condition) is not None:
            return condition
        if isinstance(condition, Call) and condition.name in ("and", "or"):
            parts = [self._weakened(arg) for arg in condition.args]
            kept = [part for part in parts if part is not None]
            if len(kept) == len(parts):
                return call(condition.name, *kept)
            return kept[0] if kept and condition.name == "and" else None
        if isinstance(condition, Call) and condition.name == "not":
            inner = condition.args[0]
            if isinstance(inner, Call) and inner.name in ("and", "or"):
                sides = [call("not", arg) for arg in inner.args]
                turned = call(
                    "or" if inner.name == "and" else "and", *(side for side in sides if side is not None)
                )
                return None if turned is None else self._weakened(turned)
        return None

    # Components: keys and conditions that share sources ---------------------------------------------------------

    def _components(self, known: Sequence[int]) -> list[tuple[tuple[int, ...], Sources, list[Expression]]]:
        merged: list[tuple[set[int], set[str], list[Expression]]] = []

        def join(indices: set[int], sources: Iterable[str], conditions: list[Expression]) -> None:
            mine = (set(indices), set(sources), list(conditions))
            for other in [component for component in merged if component[1] & mine[1]]:
                merged.remove(other)
                mine = (mine[0] | other[0], mine[1] | other[1], other[2] + mine[2])
            merged.append(mine)

        for index in known:
            sources = self._read(self._keys[index])
            join({index}, {f"key {index}"} if sources is None else sources, [])
        for condition in self._conditions:
            join(set(), self._read(condition) or (), [condition])
        for table, on in self._lonely:
            join(set(), (None if on is None else self._read(on, table.prefix)) or (), [])
        return [
            (tuple(sorted(indices)), frozenset(sources), conditions)
            for indices, sources, conditions in merged
        ]

    def _bound(self, sources: Sources) -> bool:
        """Whether public tables decide which values of these sources occur."""
        return any(source in self._joined for source in sources) or any(
            on is None or (self._read(on, table.prefix) or frozenset()) & sources
            for table, on in self._lonely
        )

    def _size(self, sources: Sources) -> int:
        return math.prod(len(self._rows(source)) for source in sources)

    def _met(self, sources: Sources, conditions: list[Expression]) -> int:
        """How many combinations are met at most: equalities join public tables, each row with few of theirs."""
        done = {source for source in sources if source not in self._joined}
        out, left = (
            self._size(frozenset(done)),
            [source for source in sorted(sources) if source in self._joined],
        )
        while left:
            partners = {
                source: most_alike(self._joined[source].table.data, self._equal(source, done, conditions))
                for source in left
            }
            least = min(left, key=partners.__getitem__)
            out, done = out * partners[least], done | {least}
            left.remove(least)
        return out

    def _equal(self, source: str, done: set[str], conditions: list[Expression]) -> list[str]:
        """The columns of a public table that conditions set equal to something of other sources."""
        found = set()
        for condition in conditions:
            if isinstance(condition, Call) and condition.name == "eq":
                for a, b in (condition.args, condition.args[::-1]):
                    read = self._read(b)
                    if (
                        isinstance(a, Column)
                        and a.name.startswith(source)
                        and read is not None
                        and read <= done
                    ):
                        found.add(a.name.removeprefix(source))
        return sorted(found)

    def _rows(self, source: str) -> pa.Table | Group:
        if source in self._joined:
            return self._joined[source].table.data
        return self._moments.get(source) or (self._listed(source) or ())

    def _run(self, keys: list[Expression], sources: Sources, conditions: list[Expression]) -> set[Group]:
        """Try all combinations of the values of some sources."""
        import pyarrow as pa

        from discreet.engines.sandbox import Sandbox

        if any(source.startswith("key ") for source in sources):
            (index,) = (int(source[4:]) for source in sources)
            return {(value,) for value in self._values[index] or ()}
        tables: dict[str, pa.Table] = {}
        for index, source in enumerate(sorted(sources)):
            rows = self._rows(source)
            if source in self._joined:
                tables[f"source_{index}"] = _renamed(self._joined[source])
                continue
            column = self._columns[source]
            values = [*rows, None] if column.span.nullable else list(rows)
            tables[f"source_{index}"] = pa.table({source: pa.array(values, type=arrow_type(column.type))})
        where = [spell(condition, DUCKDB) for condition in conditions]
        for index, (lonely, on) in enumerate(self._lonely):
            read = frozenset() if on is None else self._read(on, lonely.prefix)
            if read is not None and read <= sources:
                tables[f"lonely_{index}"] = _renamed(lonely)
                where.append(
                    f"NOT EXISTS (SELECT 1 FROM lonely_{index}"
                    + ("" if on is None else f" WHERE {spell(on, DUCKDB)}")
                    + ")"
                )
        listed = [f"{spell(key, DUCKDB)} AS {key_name(index)}" for index, key in enumerate(keys)]
        where += [f"{spell(key, DUCKDB)} IS NOT NULL" for key in keys if not self._null_is_group(key)]
        read_from = ", ".join(name for name in tables if name.startswith("source_")) or "(SELECT 1) AS one"
        with Sandbox(tables) as sandbox:
            answer = sandbox.run(
                f"SELECT DISTINCT {', '.join(listed)} FROM {read_from} WHERE {' AND '.join(where) or 'TRUE'}"
            )
        return set(zip(*map(listed_values, answer.itercolumns()), strict=True))


def _renamed(joined: Joined) -> pa.Table:
    """A public table whose columns have the names of leaves."""
    data = joined.table.data
    return data.rename_columns([f"{joined.prefix}{name}" for name in data.column_names])


def never_met(column: Column) -> bool:
    """Whether conditions left a column no value."""
    lo, hi = column.span.lo, column.span.hi
    return column.span.domain == () or (lo is not None and hi is not None and lo > hi)
