"""The forms of SQL that read lists, fields of structs and fields of JSON texts."""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.names import TYPE_WORDS

SLICE, NTH = "Write tags[1:5], with literals from 1.", "Write tags[1], with a literal from 1."
SOME = "Write list_has_any(x, ['a', 'b']), with literals. Write AND between conditions."
JSON = "Write payload ->> 'a', or payload ->> '$.a.b[0]'."
_MISREAD = re.compile(r"->>?\s*'(?![$/])[^']*[.\[*]")
"""A key that the parser takes for a path: DuckDB reads `'a.b'` as one name, and only `'$.a.b'` as two."""


def path_of(node: exp.Expr) -> exp.Column | None:
    """A field of a struct as a column with dots in its name; None of anything else."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return node
    field = None
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        field = node.expression.name
    elif isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        (only,) = node.expressions
        field = only.name if isinstance(only, exp.Literal) and only.is_string else None
    elif isinstance(node, exp.StructExtract) and node.expression.is_string:
        field = node.expression.name
    inner = None if field is None else path_of(node.this)
    if inner is None:
        return None
    out = inner.copy()
    out.set("this", exp.to_identifier(f"{inner.name}.{field}", quoted=True))
    return out


def _field(binder: Binder, node: exp.Expr) -> Expression:
    column = path_of(node)
    if column is None:
        raise binder.unknown(node)
    return binder.column(column)


def _list(binder: Binder, node: exp.Expr, whole: exp.Expr) -> Expression:
    bound = binder.value(node)
    if bound.type.item is None:
        raise binder.refuse(
            whole, f"This takes a list, not {TYPE_WORDS[bound.type]}.", "Name a column of lists."
        )
    return bound


def length(binder: Binder, node: exp.Expr, of: exp.Expr) -> Expression:
    """How many items a list has: no more than the policy says that count."""
    bound = _list(binder, of, node)
    counted = binder.apply(node, "len", [bound], [of])
    most = bound.span.hi
    return counted if most is None else fn.clamp(counted, most * 0, most)


def _length(binder: Binder, node: exp.Expr) -> Expression:
    bound = binder.value(node.this)
    if bound.type.item is None:
        return binder.apply(node, "length", [bound], [node.this])
    return length(binder, node, node.this)


def _size(binder: Binder, node: exp.Expr) -> Expression:
    dimension = node.args.get("expression")
    if dimension is not None and not (isinstance(dimension, exp.Literal) and dimension.name == "1"):
        raise binder.refuse(dimension, "A list has one dimension here.", "Write len(x).")
    return length(binder, node, node.this)


def _among(binder: Binder, node: exp.Expr, name: str, of: exp.Expr, item: exp.Expr) -> Expression:
    return binder.apply(node, name, [_list(binder, of, node), binder.bind(item)], [of, item])


def _contains(binder: Binder, node: exp.Expr) -> Expression:
    return _among(binder, node, "list_contains", node.this, node.expression)


def _equal(binder: Binder, node: exp.Expr) -> Expression:
    for item, some in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(some, exp.Any):
            return _among(binder, node, "equals_any", some.this, item)
    return binder.call(node, "eq", binder.arguments(node, "this", "expression"))


def _several(binder: Binder, node: exp.Expr, of: exp.Expr, items: exp.Expr, every: bool) -> Expression:
    """Whether one item, or every one, of some literals is in a list."""
    literals = items.expressions if isinstance(items, exp.Array) else []
    if not literals or not all(isinstance(literal, exp.Literal) for literal in literals):
        raise binder.refuse(items, "This takes a list and some literals.", SOME)
    found = [_among(binder, node, "list_contains", of, literal) for literal in literals]
    out = found[0]
    for test in found[1:]:
        both = fn.call("and" if every else "or", out, test)
        assert both is not None
        out = both
    return out


def _any(binder: Binder, node: exp.Expr) -> Expression:
    return _several(binder, node, node.this, node.expression, False)


def _all(binder: Binder, node: exp.Expr) -> Expression:
    return _several(binder, node, node.this, node.expression, True)


def _whole(binder: Binder, node: exp.Expr, fix: str) -> Literal:
    return binder.literal(node, int, "The place of an item must be a literal.", fix)


def _slice(binder: Binder, node: exp.Expr, of: exp.Expr, ends: list[exp.Expr | None]) -> Expression:
    first, last = ends
    if last is None:
        raise binder.refuse(node, "The last item must be said.", SLICE)
    lo = Literal(1, Type.INTEGER) if first is None else _whole(binder, first, SLICE)
    bound = [_list(binder, of, node), lo, _whole(binder, last, SLICE)]
    return binder.apply(node, "list_slice", bound, [of, node if first is None else first, last])


def _bracket(binder: Binder, node: exp.Expr) -> Expression:
    if len(node.expressions) != 1:
        raise binder.refuse(node, "One item is read at a time.", NTH)
    (subscript,) = node.expressions
    if isinstance(subscript, exp.Slice):
        if subscript.args.get("step") is not None:
            raise binder.refuse(node, "A slice with steps is not supported.", SLICE)
        return _slice(binder, node, node.this, [subscript.this, subscript.args.get("expression")])
    if isinstance(subscript, exp.Literal) and subscript.is_string:
        return _field(binder, node)
    if not isinstance(subscript, exp.Literal):
        raise binder.refuse(node, "The place of an item must be a literal.", NTH)
    of, place = _list(binder, node.this, node), _whole(binder, subscript, NTH)
    return binder.apply(node, "list_extract", [of, place], [node.this, subscript])


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    of, place = _taking(binder, node, 2)
    return binder.apply(
        node, "list_extract", [_list(binder, of, node), _whole(binder, place, NTH)], [of, place]
    )


def _sliced(binder: Binder, node: exp.Expr) -> Expression:
    of, first, last = _taking(binder, node, 3)
    return _slice(binder, node, of, [first, last])


def _taking(binder: Binder, node: exp.Expr, many: int) -> list[exp.Expr]:
    if len(node.expressions) != many:
        raise binder.refuse(node, f"{node.name} takes {many} arguments here.", SLICE if many == 3 else NTH)
    return list(node.expressions)


def _distinct(binder: Binder, node: exp.Expr) -> Expression:
    return binder.apply(node, "list_distinct", [_list(binder, node.this, node)], [node.this])


def _array(binder: Binder, node: exp.Expr) -> Expression:
    if not 1 <= len(node.expressions) <= fn.MOST_PIECES:
        raise binder.refuse(
            node, f"A list of 1 to {fn.MOST_PIECES} items can be written.", "Write [a, b, c]."
        )
    return fn.listed(binder.several(node, list(node.expressions)))


def _split(binder: Binder, node: exp.Expr) -> Expression:
    return binder.call(node, "string_split", [node.this, node.expression])


def _has_all(binder: Binder, node: exp.Expr) -> Expression:
    of, items = _taking(binder, node, 2)
    return _several(binder, node, of, items, True)


# JSON ------------------------------------------------------------------------------------------------------


def _json(binder: Binder, node: exp.Expr) -> Expression:
    """A field of a JSON text: -> and ->> one after the other are one path."""
    if not isinstance(node, exp.JSONExtractScalar):
        raise binder.refuse(
            node, "A part of a JSON text is read as a text here.", "Write ->> in place of the last ->."
        )
    steps: list[str] = []
    inner: exp.Expr = node
    while isinstance(inner, exp.JSONExtract | exp.JSONExtractScalar):
        steps[:0] = _steps(binder, inner)
        inner = inner.this.unnest()
    path = Literal("$" + "".join(steps), Type.TEXT)
    return binder.apply(node, "json_text", [binder.bind(inner), path], [inner, node.expression])


def _steps(binder: Binder, node: exp.Expr) -> list[str]:
    path = node.expression
    parts = path.expressions if isinstance(path, exp.JSONPath) else []
    if _MISREAD.search(binder.text):
        fix = "Write '$.a.b' for a field in a field, and '$.\"a.b\"' for one name."
        raise binder.refuse(node, "This key has a sign in it that a path has, too.", fix)
    steps = []
    for part in parts[1:]:
        if isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
            steps.append(f'."{part.this}"')
        elif isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int) and part.this >= 0:
            steps.append(f"[{part.this}]")
        else:
            steps = []
            break
    if not steps or not isinstance(parts[0], exp.JSONPathRoot):
        raise binder.refuse(node, "This path cannot be read: it must be a literal of names and places.", JSON)
    return steps


FORMS: dict[type[exp.Expr], Form] = {
    exp.Dot: _field, exp.StructExtract: _field, exp.Bracket: _bracket, exp.Length: _length, exp.ArraySize: _size,
    exp.Array: _array, exp.ArrayContains: _contains, exp.EQ: _equal, exp.ArrayOverlaps: _any,
    exp.ArrayContainsAll: _all, exp.ArrayDistinct: _distinct, exp.Split: _split, exp.JSONExtract: _json,
    exp.JSONExtractScalar: _json,
}  # fmt: skip
FORMS_BY_NAME: dict[str, Form] = {
    "list_extract": _extract, "list_element": _extract, "array_extract": _extract, "list_slice": _sliced,
    "array_slice": _sliced, "list_has_all": _has_all, "array_has_all": _has_all,
}  # fmt: skip
