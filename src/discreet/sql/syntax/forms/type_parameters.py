"""Parameters of types, as in DECIMAL(9, 2): plain whole numbers, and none where DuckDB's type takes none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from discreet.sql.syntax.refusal import match_at_token, place, refuse, refuse_at

_TYPE = exp.DataType.Type
_TEXTS = (_TYPE.VARCHAR, _TYPE.TEXT, _TYPE.CHAR, _TYPE.BPCHAR, _TYPE.NCHAR, _TYPE.NVARCHAR)
_MOMENTS = (_TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ, _TYPE.TIMESTAMPTZ)
_TAKEN: Final[dict[object, tuple[tuple[int, int], ...]]] = {
    _TYPE.DECIMAL: ((1, 38), (0, 38)), _TYPE.FLOAT: ((1, 53),),
    **dict.fromkeys(_TEXTS, ((0, 2**31 - 1),)), **dict.fromkeys(_MOMENTS, ((0, 9),)),
}  # fmt: skip
"""By type, the least and the greatest value of each parameter that it may have."""
_WHOLE = re.compile("[0-9][0-9_]{0,12}")
_UNKEPT = re.compile(
    r"(?:\bas\b|::)\s*+((?:varchar|char|text|string|bpchar|nvarchar)\s*\(\s*(?:'|max\b|\d+\s*[.,]))",
    re.IGNORECASE,
)
"""A type of texts with odd parameters: the parser does not keep them. In DuckDB a text there is a collation."""


def see(nodes: Iterable[exp.Expr], text: str) -> None:
    """See that every type has parameters that DuckDB takes.

    Raises:
        QueryRefused: one has others.
    """
    if (odd := match_at_token(_UNKEPT, text)) is not None:
        raise refuse_at(text, *odd.span(1), "These are no parameters of the type VARCHAR.", "Write VARCHAR.")
    for node in nodes:
        if not isinstance(node, exp.DataType):
            continue
        if node.args.get("collate") is not None or node.args.get("nullable"):
            raise refuse(_shown(node, text), text, "A type in a cast says nothing of collations and of NULL.",
                         "Write the type alone.")  # fmt: skip
        given = [part.this for part in node.expressions if isinstance(part, exp.DataTypeParam)]
        if given and not _fit(node.this, given):
            name = node.this.value
            fix = "Write DECIMAL(18, 3)." if node.this is _TYPE.DECIMAL else f"Write {name}."
            cause = f"These are no parameters of the type {name}."
            raise refuse(_shown(node, text), text, cause, fix)


def _fit(kind: object, given: list[exp.Expr]) -> bool:
    taken = _TAKEN.get(kind, ())
    plain = all(isinstance(g, exp.Literal) and not g.is_string and _WHOLE.fullmatch(g.name) for g in given)
    if not plain or len(given) > len(taken):
        return False
    numbers = [int(literal.name) for literal in given]
    within = all(least <= n <= most for n, (least, most) in zip(numbers, taken, strict=False))
    return within and (kind is not _TYPE.DECIMAL or numbers[-1] <= numbers[0])


def _shown(node: exp.Expr, text: str) -> exp.Expr | None:
    """The type, or the cast around it where the text has another spelling of the type."""
    return node if place(node, text) is not None else node.parent
