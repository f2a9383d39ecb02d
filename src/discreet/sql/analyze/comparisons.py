"""The words for a comparison of two types, of which one side was most often only spelled otherwise."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.names import TYPE_WORDS

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_NUMBERS = (Type.INTEGER, Type.FLOAT)


def of_two_types(name: str, bound: list[Expression], nodes: list[exp.Expr]) -> tuple[str, str]:
    """Cause and fix of the refusal of a comparison of two types.

    Args:
        name: of the comparison in the table of functions.
        bound: its two sides.
        nodes: what these were read from.
    """
    cause = f"This compares {TYPE_WORDS[bound[0].type]} with {TYPE_WORDS[bound[1].type]}."
    for (one, node), (other, beside) in (sides := list(zip(bound, nodes, strict=True)), sides[::-1]):
        if one.type in _NUMBERS and other.type is Type.TEXT:
            return cause, _number_and_text(name in ("eq", "ne"), one, node, other, beside)
        if one.type is Type.BOOLEAN and isinstance(other, Literal):
            return cause, f"Compare {node.sql('duckdb')} with TRUE or FALSE."
    return cause, "Convert one side with CAST(… AS …)."


def _number_and_text(
    equal: bool, one: Expression, node: exp.Expr, other: Expression, beside: exp.Expr
) -> str:
    if isinstance(other, Literal):
        if _is_number(str(other.value)):
            return f"Write the number without quotes: {str(other.value).strip()}."
        return f"{node.sql('duckdb')} is a number: compare it with one, written without quotes."
    if isinstance(one, Literal) and equal:
        text = exp.Literal.string(node.sql("duckdb")).sql("duckdb")
        return f"Write it in quotes, as the texts are spelled: {text}."
    return f"Compare CAST({beside.sql('duckdb')} AS DOUBLE); a text that is no number is NULL there."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lstrip("+-.")[:1].isdecimal() and text.isascii() and "_" not in text
