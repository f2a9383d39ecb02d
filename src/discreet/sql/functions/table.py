"""A line of the function table, and its notation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from discreet.engines.schema import LIST_OF, Type
from discreet.records import dataclass, field
from discreet.sql.expressions.span import BOOLEANS, Span, Value

Bounds: TypeAlias = Callable[..., Span]

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
LETTERS = {"b": B, "i": I, "f": F, "t": T, "d": D, "s": S}
LISTS = {letter.upper(): LIST_OF[kind] for letter, kind in LETTERS.items()}
"""The letters of lists."""
INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Rule:
    """The kind of an argument that has to be written out in the query.

    Attributes:
        says: the values that are allowed, in words to follow "must be".
        fix: an example of the call.
        allows: whether a value will do.
        examples: some values that will do, the extreme ones among them, for tests.
    """

    says: str
    fix: str
    allows: Callable[[Value], bool]
    examples: tuple[Value, ...]


def whole_between(lo: int, hi: int, fix: str) -> Rule:
    """An integer literal from lo to hi."""
    return Rule(
        f"a literal from {lo} to {hi}",
        fix,
        lambda v: isinstance(v, int) and not isinstance(v, bool) and lo <= v <= hi,
        tuple(sorted({lo, max(lo, min(hi, 2)), hi})),
    )


def text_up_to(most: int, fix: str, least: int = 0) -> Rule:
    """A text literal of at most so many characters."""
    says = (
        f"a literal of {least} to {most} characters" if least else f"a literal of at most {most} characters"
    )
    return Rule(says, fix, lambda v: isinstance(v, str) and least <= len(v) <= most, ("x", "x" * most))


@dataclass(frozen=True, slots=True)
class Function:
    """One line of the table.

    Attributes:
        name: how the plan names it.
        usage: how an analyst writes it.
        takes: the types of the arguments.
        gives: the type of the result.
        bounds: the span of the result, from the spans of the arguments.
        spelling: SQL, with {0}, {1}, … for the arguments, or {*} for all of them: the standard one by the name "", and
            another for DuckDB. Those of other engines stand in their dialects.
        meaning: the result, where it is not plain from the name.
        literals: by place, the rule for an argument that has to be a literal.
        shortens: whether its texts are cut to their first `LONGEST` characters before, because it makes longer
            ones of them: else a few sub-queries would make texts that fill the memory, if the data has any.
    """

    name: str
    usage: str
    takes: tuple[Type, ...]
    gives: Type
    bounds: Bounds
    spelling: Mapping[str, str]
    meaning: str = ""
    literals: Mapping[int, Rule] = field(default_factory=dict)
    shortens: bool = False


@dataclass(frozen=True, slots=True)
class Variadic:
    """A function of any number of arguments that all have the type of the result."""

    name: str
    usage: str
    bounds: Callable[[list[Span]], Span]
    sql: str
    meaning: str = ""


class FunctionLines:
    """The lines of the table that one file writes, in their order."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.variadic: list[Variadic] = []

    def define(
        self,
        name: str,
        usage: str,
        takes: str,
        gives: Type,
        bounds: Bounds,
        sql: str,
        meaning: str = "",
        *,
        literals: Mapping[int, Rule] | None = None,
        shortens: bool = False,
        duckdb: str = "",
    ) -> None:
        """Write one line.

        Args:
            name: as in `Function`, like all that is not said here.
            usage: an analyst's.
            takes: a letter per argument: b, i, f, t, d or s, and the capital for a list of that type.
            gives: the type.
            bounds: the rule.
            sql: the standard spelling.
            meaning: where needed.
            literals: by place.
            shortens: the texts.
            duckdb: another spelling for DuckDB; those of other engines stand in their dialects.
        """
        types = tuple({**LETTERS, **LISTS}[c] for c in takes)
        spelling = {"": sql, **({"duckdb": duckdb} if duckdb else {})}
        line = Function(name, usage, types, gives, bounds, spelling, meaning, literals or {}, shortens)
        self.functions.append(line)


# Rules of bounds that several lines share -----------------------------------------------------------------


def null(*spans: Span) -> bool:
    """Whether one of the arguments can be NULL."""
    return any(s.nullable for s in spans)


def constant_bounds(lo: int, hi: int, nullable: bool = False) -> Bounds:
    """The same bounds for all arguments."""
    return lambda *a: Span(Fraction(lo), Fraction(hi), nullable or null(*a))


def truth(*spans: Span) -> Span:
    """A boolean that is NULL where an argument is."""
    return BOOLEANS.null(null(*spans))


def unknown(*spans: Span) -> Span:
    """No bounds: texts, and values of which nothing is known."""
    return Span(nullable=True)


def same(a: Span, *rest: Span) -> Span:
    """The bounds of the first argument, or NULL."""
    return Span(a.lo, a.hi, True)
