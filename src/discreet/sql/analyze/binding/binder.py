"""Parsed SQL over private rows -> typed expressions. Anything outside the function table is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.sql import functions as fn
from discreet.sql.analyze.binding.comparisons import COMPARISONS, by_type, of_two_types
from discreet.sql.analyze.binding.literals import NotALiteralError, literal_of, moment_of
from discreet.sql.analyze.binding.opaque_columns import about_opaque
from discreet.sql.analyze.binding.text_moments import as_spelled, text_moment
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, is_null_literal, weight
from discreet.sql.expressions.span import Span
from discreet.sql.functions.names import BY_NAME, DIRECT, FLAGS, PLACES, TYPE_WORDS, unknown
from discreet.sql.syntax.names.quoted import bracketed
from discreet.sql.syntax.refusal import place, refuse

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
MOST_WEIGHT = 2000
"""A clamp within a clamp is written 25 times, so a few characters could keep an engine busy for ever."""


Form: TypeAlias = Callable[["Binder", exp.Expr], Expression]


@dataclass(frozen=True, slots=True)
class Binder:
    """Reads the expressions of one scope.

    Attributes:
        text: the analyst's query, for pointing at places in it.
        column: finds the expression of a column of the query; raises QueryRefused when there is none.
        opaque: cause and fix of the refusal of a column whose type can do no more than be present.
        forms: how SQL is read that is no plain call, by the class that the parser gives it; `special_forms` has them.
        named_forms: the same by name, where the parser has no class.
    """

    text: str
    column: Callable[[exp.Column], Expression]
    opaque: Callable[[Expression, str], tuple[str, str]] = about_opaque
    forms: Mapping[type[exp.Expr], Form] = field(default_factory=dict)
    named_forms: Mapping[str, Form] = field(default_factory=dict)

    def refuse(self, node: exp.Expr, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this query."""
        return refuse(node, self.text, cause, fix)

    def unknown(self, node: exp.Expr) -> QueryRefused:
        """The refusal of something that is not in the function table."""
        found = place(node, self.text)
        return self.refuse(node, *unknown(node, self.text[found[0] :] if found else ""))

    def condition(self, node: exp.Expr) -> Expression:
        """Read an expression that must be a boolean."""
        bound = self.bind(node)
        if bound.type is not B:
            raise self.refuse(node, f"This condition is {TYPE_WORDS[bound.type]}, not a boolean.",
                              "Compare it with something, for instance <> 0.")  # fmt: skip
        return bound

    def carried(self, node: exp.Expr) -> Expression:
        """Read an expression that is handed on unchanged, which a column of any type may be."""
        while isinstance(node, exp.Paren):
            node = node.this
        return self.column(node) if isinstance(node, exp.Column) else self.value(node)

    def presence(self, node: exp.Expr) -> Expression:
        """Read an expression of which it only matters whether it is NULL; an opaque column is TRUE or NULL here."""
        bound = self.carried(node)
        if isinstance(bound, Column) and bound.type is Type.OTHER:
            return Column(bound.name, B, Span(nullable=bound.span.nullable, domain=(True,)))
        if bound.type.item is not None:
            there = {"": "CASE WHEN {0} IS NOT NULL THEN TRUE END"}
            return Call("present", there, (bound,), B, Span(nullable=bound.span.nullable, domain=(True,)))
        return bound

    def bind(self, node: exp.Expr) -> Expression:
        """Read any expression over the rows whose values are compared, ordered or hashed.

        Raises:
            QueryRefused: it is not supported, or it is a list or an opaque column.
        """
        bound = self.value(node)
        if bound.type.item is not None:
            cause = f"This is {TYPE_WORDS[bound.type]}, which is not compared, ordered or grouped as a whole."
            name = node.sql("duckdb")
            fix = bracketed(node) or (
                f"Write list_contains({name}, …), len({name}), or FROM …, UNNEST({name}) AS t(item) for its items."
            )
            raise self.refuse(node, cause, fix)
        return bound

    def value(self, node: exp.Expr) -> Expression:
        """The same of any expression, lists among them.

        Raises:
            QueryRefused: it is not supported, or it is an opaque column.
        """
        bound = self._read(node)
        if bound.type is Type.OTHER:
            named = ".".join(part.name for part in node.parts) if isinstance(node, exp.Column) else node.name
            raise self.refuse(node, *self.opaque(bound, named))
        if weight(bound) > MOST_WEIGHT:
            raise self.refuse(node, "This expression is too large.", "Compute parts of it in a sub-query.")
        return bound

    def _read(self, node: exp.Expr | None) -> Expression:
        if node is None:  # the parser lets some functions stand without their arguments
            raise QueryRefused("A function of this question has no argument.", "Write it, as in year(x).")
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Column):
            return self.column(node)
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            return self._literal(node)
        if isinstance(node, exp.Anonymous):
            form = self.named_forms.get(node.name.lower())
            if form is not None:
                return form(self, node)
            name = BY_NAME.get(node.name.lower())
            if name is None:
                raise self.unknown(node)
            return self.call(node, name, node.expressions)
        form = self.forms.get(type(node))
        if form is not None:
            return form(self, node)
        name = DIRECT.get(type(node))
        if name is None:
            raise self.unknown(node)
        return self.call(node, name, self.arguments(node, *PLACES.get(type(node), ("this", "expression"))))

    def arguments(self, node: exp.Expr, *places: str) -> list[exp.Expr]:
        """The arguments of a node in order; refuses a node that has any other, which would be passed over."""
        strange = [k for k, v in node.args.items() if v and k not in places and k not in FLAGS]
        if strange:
            raise self.refuse(node, f"This form of {node.key.upper()} is not supported.",
                              "Write it in its plain form.")  # fmt: skip
        # Some functions wrap their argument in a cast that only some dialects need.
        found = [node.args[place] for place in places if node.args.get(place) is not None]
        return [arg.this if isinstance(arg, exp.TsOrDsToDate) else arg for arg in found]

    def call(self, node: exp.Expr, name: str, args: list[exp.Expr]) -> Expression:
        """Apply a function of the table to unbound arguments."""
        bound = [self.bind(arg) for arg in args]
        if name in COMPARISONS or name == "distinct":
            bound = by_type(bound)
        return self.apply(node, name, self.aligned(bound, args), args)

    def apply(self, node: exp.Expr, name: str, args: list[Expression], nodes: list[exp.Expr]) -> Expression:
        """Apply a function of the table to arguments that were bound, each once: twice would double at every level.

        Args:
            node: the whole call.
            name: of the function in the table.
            args: bound, and aligned where texts may stand for dates.
            nodes: the parts of the query that the arguments were read from.
        """
        lines = fn.TABLE[name]
        result = fn.call(name, *args)
        if result is not None:
            return result
        for line in lines:
            if len(line.takes) == len(args):
                for index, rule in line.literals.items():
                    widened = fn.widen(args[index], line.takes[index])
                    if widened is None or not fn.allowed(line, index, widened):
                        where = nodes[index] if place(nodes[index], self.text) else node
                        raise self.refuse(where, f"This must be {rule.says}.", rule.fix)
        found = place(node, self.text)
        written = self.text[found[0] : found[1]] if found else ""
        usage = " or ".join(dict.fromkeys(as_spelled(line.usage, written) for line in lines))
        if all(len(line.takes) != len(args) for line in lines):
            raise self.refuse(
                node, f"{usage} does not take {len(args)} arguments.", f"Write {lines[0].usage}."
            )
        got = " and ".join(TYPE_WORDS[arg.type] for arg in args)
        moment = next(
            (index for index, arg in enumerate(args) if arg.type is T and _wants_moment(lines, index, args)),
            None,
        )
        if moment is not None:
            raise self.refuse(node, f"{usage} takes a time stamp, not a text.",
                              text_moment(node, nodes[moment]))  # fmt: skip
        if name in COMPARISONS:
            raise self.refuse(node, *of_two_types(name, args, nodes))
        fix = "Convert the arguments with CAST(… AS …)."
        number = next(
            (index for index, arg in enumerate(args) if arg.type in (Type.INTEGER, Type.FLOAT)), None
        )
        if name in ("not", "and", "or") and number is not None:
            fix = f"A number is no condition: compare it, as in {nodes[number].sql('duckdb')} <> 0."
        raise self.refuse(node, f"{usage} does not take {got}.", fix)

    def _literal(self, node: exp.Expr) -> Literal:
        if isinstance(node, exp.Null):
            return Literal(None, I)
        if isinstance(node, exp.Boolean):
            return Literal(bool(node.this), B)
        assert isinstance(node, exp.Literal)
        try:
            return literal_of(node)
        except NotALiteralError as error:
            raise self.refuse(node, *error.args) from None

    def literal(self, node: exp.Expr, kind: type, cause: str, fix: str) -> Literal:
        """Read a literal of a Python type, and refuse all else."""
        bound = self.bind(node)
        if isinstance(bound, Literal) and isinstance(bound.value, kind) and not isinstance(bound.value, bool):
            return bound
        raise self.refuse(node, cause, fix)

    def aligned(self, bound: list[Expression], nodes: list[exp.Expr]) -> list[Expression]:
        """Read a text literal beside a date as a date, and an untyped NULL in the type beside it."""
        temporal = next((kind for kind in (S, D) if any(b.type is kind for b in bound)), None)
        typed = next((b.type for b in bound if not is_null_literal(b)), None)
        out: list[Expression] = []
        for operand, node in zip(bound, nodes, strict=True):
            if (
                isinstance(operand, Literal)
                and operand.type is T
                and not operand.missing
                and temporal is not None
            ):
                out.append(self.moment(node, operand, temporal))
            elif is_null_literal(operand) and typed is not None:
                out.append(Literal(None, typed))
            else:
                out.append(operand)
        return out

    def moment(self, node: exp.Expr, text: Literal, wanted: Type) -> Literal:
        """Read a text literal as a date or a time stamp."""
        try:
            return text.then(moment_of, wanted)
        except (ValueError, OverflowError):
            raise self.refuse(node, "This text is not a date.", "Write it like '2024-01-31'.") from None

    def unify(self, node: exp.Expr, bound: list[Expression]) -> list[Expression]:
        """Widen expressions to the least type that holds them all."""
        kinds = [b.type for b in bound if not is_null_literal(b)]
        kind = fn.common_type(kinds) if kinds else I
        if kind is None:
            words = " and ".join(dict.fromkeys(TYPE_WORDS[k] for k in kinds))
            fix = "Convert them to one type with CAST(… AS …)."
            if T in kinds and {I, F} & set(kinds) and any(isinstance(operand, Literal) for operand in bound):
                fix = "Write numbers without quotes and texts with them, or convert with CAST(… AS …)."
            raise self.refuse(node, f"This mixes {words}.", fix)
        widened = [fn.widen(b, kind) for b in bound]
        assert all(w is not None for w in widened)
        return [w for w in widened if w is not None]

    def several(self, node: exp.Expr, nodes: list[exp.Expr]) -> list[Expression]:
        """Read expressions that must come to one type."""
        return self.unify(node, self.aligned([self.bind(n) for n in nodes], nodes))


def _wants_moment(lines: Sequence[fn.Function], index: int, args: Sequence[Expression]) -> bool:
    """Whether the other arguments fit, and this one should be a date or a time stamp."""
    return any(
        len(line.takes) == len(args)
        and line.takes[index] in (D, S)
        and all(fn.widen(arg, line.takes[i]) is not None for i, arg in enumerate(args) if i != index)
        for line in lines
    )
