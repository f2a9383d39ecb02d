"""Which keys have a group of NULL: those whose NULL the query or the type makes, like FALSE and TRUE.

A CASE without ELSE, NULLIF and a comparison with NULL decide something of every row, and NULL is one of the things that
they decide. So it is a group beside the others, whoever is in it. A column of a public table is NULL behind an outer
join in rows without a partner, which the query keeps: they are a group, too (`trial`). The NULL of a column whose keys
the policy lists is not listed there, and a number or a date that is missing is no value of its bounds: rows without
these are dropped.

Privacy: whether there is such a group follows from the text, the policy and public tables. A row is in one group at
most as before, so that no sensitivity changes.
"""

from __future__ import annotations

from functools import lru_cache

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Call, Expression

DECIDING = frozenset({"case", "nullif"})


@lru_cache(maxsize=256)
def has_null_group(key: Expression) -> bool:
    """Whether NULL is a group of a key.

    Args:
        key: over stored columns, as far as it could be traced.
    """
    if not key.span.nullable or key.span.listed or not (key.type is Type.BOOLEAN or _decides(key)):
        return False
    from discreet.sql.algebra.keys import takes_null

    return takes_null(key)


def _decides(expression: Expression) -> bool:
    """Whether a part of an expression decides between values, NULL among them."""
    if not isinstance(expression, Call):
        return False
    own = expression.name in DECIDING and expression.span.nullable
    return own or any(map(_decides, expression.args))
