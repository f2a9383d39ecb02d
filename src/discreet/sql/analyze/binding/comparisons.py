"""The words for a comparison of two types, of which one side was most often only spelled otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.names import TYPE_WORDS

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_NUMBERS = (Type.INTEGER, Type.FLOAT)
_PLAIN = re.compile(r"[+-]?(\d{1,18}(\.\d{0,15})?|\.\d{1,15})", re.ASCII)
"""A number whose value nobody can read in two ways."""
_TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""The texts that DuckDB reads as TRUE and FALSE."""


def by_type(bound: Sequence[Expression]) -> list[Expression]:
    """Read literals by the type of the column that they are compared with: '8' beside a number, 1 beside a boolean.

    Only literals of certain meaning are read so, and nothing is guessed; the others stay unchanged.
    """
    kinds = {operand.type for operand in bound if not isinstance(operand, Literal)}
    if len(kinds) != 1:
        return list(bound)
    (kind,) = kinds
    return [_meant(operand, kind) if isinstance(operand, Literal) else operand for operand in bound]


def _meant(literal: Literal, kind: Type) -> Literal:
    as_number = kind in _NUMBERS and literal.type is Type.TEXT
    as_truth = kind is Type.BOOLEAN and literal.type in (Type.TEXT, Type.INTEGER)
    return literal.then(_read_as, kind) if (as_number or as_truth) and not literal.missing else literal


def _read_as(literal: Literal, kind: Type) -> Literal:
    value = literal.value
    if kind in _NUMBERS and isinstance(value, str) and _PLAIN.fullmatch(value.strip(" ")):
        number = Decimal(value.strip(" "))
        if kind is Type.INTEGER and number != number.to_integral_value():
            return literal  # the engine would round it
        return (
            Literal(int(number), Type.INTEGER) if kind is Type.INTEGER else Literal(float(number), Type.FLOAT)
        )
    if kind is Type.BOOLEAN and isinstance(value, str) and value.lower() in _TRUTHS:
        return Literal(_TRUTHS[value.lower()], Type.BOOLEAN)
    if kind is Type.BOOLEAN and literal.type is Type.INTEGER and value in (0, 1):
        return Literal(bool(value), Type.BOOLEAN)
    return literal


def of_two_types(name: str, bound: list[Expression], nodes: list[exp.Expr]) -> tuple[str, str]:
    """Cause and fix of the refusal of a comparison of two types.

    Args:
        name: of the comparison in the table of functions.
        bound: its two sides.
        nodes: the parts of the query that these were read from.
    """
    cause = f"This compares {TYPE_WORDS[bound[0].type]} with {TYPE_WORDS[bound[1].type]}."
    for (side, node), (other, beside) in (sides := list(zip(bound, nodes, strict=True)), sides[::-1]):
        if side.type in _NUMBERS and other.type is Type.TEXT:
            return cause, _number_and_text(name in ("eq", "ne"), side, node, other, beside)
        if side.type is Type.BOOLEAN and isinstance(other, Literal):
            return cause, f"Compare {node.sql('duckdb')} with TRUE or FALSE."
    return cause, "Convert one side with CAST(… AS …)."


def _number_and_text(
    equal: bool, number: Expression, node: exp.Expr, other: Expression, beside: exp.Expr
) -> str:
    if isinstance(other, Literal):
        if _is_number(str(other.value)):
            return f"Write the number without quotes: {str(other.value).strip()}."
        if isinstance(number, Literal):
            column = exp.to_identifier(str(other.value), quoted=True).sql("duckdb")
            return (
                "Single quotes hold a text; if it is the name of a column, write it in double ones: "
                f"{column}."
            )
        return f"{node.sql('duckdb')} is a number: compare it with one, written without quotes."
    if isinstance(number, Literal) and equal:
        text = exp.Literal.string(node.sql("duckdb")).sql("duckdb")
        return f"Write it in quotes, as the texts are spelled: {text}."
    internal = any(column.table.startswith("__") for column in beside.find_all(exp.Column))
    shown = "…" if internal else beside.sql("duckdb")
    return f"Compare CAST({shown} AS DOUBLE); a text that is no number is NULL there."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lstrip("+-.")[:1].isdecimal() and text.isascii() and "_" not in text
