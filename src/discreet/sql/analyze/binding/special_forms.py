"""The forms of SQL that are not plain calls: IS, LIKE, CASE, CAST, rounding, joined texts, clamp."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.analyze.binding import several_values
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.analyze.binding.comparisons import by_type
from discreet.sql.analyze.binding.opaque_columns import about_opaque
from discreet.sql.analyze.binding.text_moments import clock_hour
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions.apply import must
from discreet.sql.functions.names import TYPE_WORDS
from discreet.sql.functions.patterns import portable, problem

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP


def _negate(binder: Binder, node: exp.Expr) -> Expression:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        value = binder.bind(node.this)
        assert isinstance(value, Literal)
        return Literal(-value.value, value.type)  # type: ignore[operator]
    return binder.call(node, "negate", [node.this])


# Conditions ------------------------------------------------------------------------------------------------


def _is(binder: Binder, node: exp.Expr) -> Expression:
    other = node.expression
    if isinstance(other, exp.Null):
        return must("is_null", binder.presence(node.this))
    if isinstance(other, exp.Boolean):
        truth = must("eq", binder.condition(node.this), Literal(bool(other.this), B))
        return fn.variadic("coalesce", [truth, Literal(False, B)])
    raise binder.unknown(node)


def _same(binder: Binder, node: exp.Expr) -> Expression:
    return must("not", binder.call(node, "distinct", binder.arguments(node, "this", "expression")))


def _pair(
    binder: Binder, operand: Expression, node: exp.Expr, other: exp.Expr
) -> tuple[list[Expression], list[exp.Expr]]:
    """A bound expression beside one to be bound, aligned."""
    nodes = [node, other]
    return binder.aligned(by_type([operand, binder.bind(other)]), nodes), nodes


def _like(binder: Binder, node: exp.Expr) -> Expression:
    name = "ilike" if isinstance(node, exp.ILike) else "like"
    found = binder.call(node, name, binder.arguments(node, "this", "expression", "negate")[:2])
    return must("not", found) if node.args.get("negate") else found


def _regexp(binder: Binder, node: exp.Expr) -> Expression:
    operand, pattern = binder.arguments(node, "this", "expression")
    fix = r"Write it out in quotes, like '^[A-Z]\d+'."
    text = str(binder.literal(pattern, str, "The pattern must be a literal.", fix).value)
    wrong = problem(text)
    if wrong:
        raise binder.refuse(pattern, f"This pattern cannot be used: {wrong}.",
                            "Write it with letters, . [ ] ( | ) * + ? { } ^ $ and \\d \\w \\s.")  # fmt: skip
    text = portable(text)
    if isinstance(node, exp.RegexpFullMatch | exp.SimilarTo):
        text = f"^(?:{text})$"
    return binder.apply(node, "regexp_matches", [binder.bind(operand), Literal(text, T)], [operand, pattern])


# Choices ---------------------------------------------------------------------------------------------------


def _case(binder: Binder, node: exp.Expr) -> Expression:
    whens, results = [], []
    compared = None if node.this is None else binder.bind(node.this)
    for branch in node.args["ifs"]:
        if compared is None:
            whens.append(binder.condition(branch.this))
        else:
            whens.append(binder.apply(branch.this, "eq", *_pair(binder, compared, node.this, branch.this)))
        results.append(branch.args["true"])
    bound = binder.several(node, [*results, node.args.get("default") or exp.null()])
    from discreet.sql.analyze.binding import branch_values

    known = [branch_values.where(when, result) for when, result in zip(whens, bound[:-1], strict=True)]
    return fn.case(list(zip(whens, known, strict=True)), bound[-1])


def _if(binder: Binder, node: exp.Expr) -> Expression:
    then, other = binder.several(node, [node.args["true"], node.args.get("false") or exp.null()])
    condition = binder.condition(node.this)
    from discreet.sql.analyze.binding import branch_values

    return fn.case([(condition, branch_values.where(condition, then))], other)


def _nvl2(binder: Binder, node: exp.Expr) -> Expression:
    then, other = binder.several(node, [node.args["true"], node.args.get("false") or exp.null()])
    return fn.case([(binder.call(node, "is_null", [node.this]), other)], then)


def _many(binder: Binder, node: exp.Expr) -> Expression:
    nodes = [node.this, *node.expressions] if node.this is not None else list(node.expressions)
    return fn.variadic(node.key, binder.several(node, nodes))


def _clamp(binder: Binder, node: exp.Expr) -> Expression:
    if len(node.expressions) != 3:
        raise binder.refuse(node, "clamp takes a number and two bounds.", "Write clamp(x, 0, 100).")
    operand = binder.bind(node.expressions[0])
    if operand.type in (D, S):
        from discreet.sql.analyze.binding.clamped_moments import clamped_moment

        return clamped_moment(binder, node, operand)
    if operand.type not in (I, F):
        raise binder.refuse(
            node, f"clamp takes a number, not {TYPE_WORDS[operand.type]}.", "Convert it with CAST."
        )
    ends = []
    for end in node.expressions[1:]:
        bound = binder.bind(end)
        if not isinstance(bound, Literal) or isinstance(bound.value, bool) or not isinstance(
                bound.value, int | float):  # fmt: skip
            raise binder.refuse(end, "The bounds of clamp must be literals.", "Write clamp(x, 0, 100).")
        ends.append(Fraction(bound.value))
    if not ends[0] < ends[1] or (operand.type is I and math.ceil(ends[0]) > math.floor(ends[1])):
        raise binder.refuse(
            node, "The lower bound of clamp is not below the upper one.", "Write clamp(x, 0, 100)."
        )
    return fn.clamp(operand, *ends)


# Numbers ---------------------------------------------------------------------------------------------------


def _round(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "decimals")
    if not nodes:
        raise binder.refuse(node, f"{node.key} has no argument.", f"Write {node.key}(x).")
    operand = binder.bind(nodes[0])
    if len(nodes) == 1:
        return _whole(node.key, operand) or binder.apply(node, node.key, [operand], nodes)
    if f"{node.key}_to" not in fn.TABLE:
        raise binder.refuse(nodes[1], f"{node.key} takes one number.", "Use round(x, 2) or trunc(x, 2).")
    digits = binder.bind(nodes[1])
    result = binder.apply(node, f"{node.key}_to", [operand, digits], nodes)
    if operand.type is not I:
        return result
    assert isinstance(digits, Literal)
    if isinstance(digits.value, int) and digits.value >= 0:
        return operand
    return _whole("round", result) or result


def _whole(name: str, operand: Expression) -> Expression | None:
    if operand.type is F and operand.span.within(-(2**52), 2**52):
        return fn.call(f"{name}_whole", operand)
    return None


def _integer_divide(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression")
    result = binder.call(node, "integer_divide", nodes)
    if result.type is F and result.span.within(-(2**52), 2**52):
        quotient = fn.call("divide", *(binder.bind(argument) for argument in nodes))
        return (None if quotient is None else fn.call("trunc_whole", quotient)) or result
    return result


def _log(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression")
    if len(nodes) == 1:
        return binder.call(node, "log10", nodes)
    if isinstance(nodes[0], exp.Literal) and nodes[0].name in ("2", "10"):
        return binder.call(node, f"log{nodes[0].name}", nodes[1:])
    return binder.call(node, "log", nodes)


def _pi(binder: Binder, node: exp.Expr) -> Expression:
    return Literal(math.pi, F)


def _bins(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "min_value", "max_value", "num_buckets")
    result = binder.call(node, "width_bucket", nodes)
    assert not isinstance(result, Literal)
    if result.span.domain == ():
        raise binder.refuse(
            nodes[1], "The first bin must begin below the last.", "Write width_bucket(x, 0, 100, 10)."
        )
    return result


# Texts -----------------------------------------------------------------------------------------------------


def _trim(binder: Binder, node: exp.Expr) -> Expression:
    side = str(node.args.get("position") or "BOTH").upper()
    name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    return binder.call(node, name, binder.arguments(node, "this", "expression", "position")[:2]
                       if node.expression is not None else [node.this])  # fmt: skip


def _pad(binder: Binder, node: exp.Expr) -> Expression:
    if not node.args.get("is_left"):
        raise binder.refuse(node, "rpad is not supported.", "Use lpad, or left.")
    args = [node.this, node.expression, node.args.get("fill_pattern") or exp.Literal.string(" ")]
    return binder.call(node, "lpad", args)


def _as_text(binder: Binder, node: exp.Expr) -> Expression:
    bound = binder.bind(node)
    return bound if bound.type is T else binder.apply(node, "to_text", [bound], [node])


def _beside(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression")
    return binder.apply(node, "concat", [_as_text(binder, argument) for argument in nodes], nodes)


def _concat(binder: Binder, node: exp.Expr) -> Expression:
    pieces = list(node.expressions)
    separator = None
    if isinstance(node, exp.ConcatWs):
        fix = "Write concat_ws('-', a, b)."
        separator = binder.literal(pieces[0], str, "The separator must be a literal.", fix)
        if len(str(separator.value)) > 16:
            raise binder.refuse(pieces[0], "The separator has more than 16 characters.", fix)
        pieces = pieces[1:]
    if not 0 < len(pieces) <= fn.MOST_PIECES:
        raise binder.refuse(
            node, f"It takes 1 to {fn.MOST_PIECES} texts.", "Join parts of them in a sub-query."
        )
    return fn.join([_as_text(binder, piece) for piece in pieces], separator)


# Casts -----------------------------------------------------------------------------------------------------
_TYPE = exp.DataType.Type
_NARROW: dict[object, str] = {
    _TYPE.TINYINT: "to_int8", _TYPE.SMALLINT: "to_int16", _TYPE.INT: "to_int32", _TYPE.UTINYINT: "to_uint8",
    _TYPE.USMALLINT: "to_uint16", _TYPE.UINT: "to_uint32", _TYPE.UBIGINT: "to_uint64",
}  # fmt: skip
CASTS: dict[object, str] = {
    _TYPE.BIGINT: "to_integer", _TYPE.INT128: "to_integer", _TYPE.DOUBLE: "to_float", _TYPE.FLOAT: "to_float",
    _TYPE.DATE: "to_date", _TYPE.TIMESTAMP: "to_timestamp", _TYPE.TIMESTAMPNTZ: "to_timestamp",
    _TYPE.BOOLEAN: "to_boolean", _TYPE.TEXT: "to_text", _TYPE.VARCHAR: "to_text", **_NARROW,
}  # fmt: skip


def _cast(binder: Binder, node: exp.Expr) -> Expression:
    to = node.args["to"]
    kind = to.this
    inner = node.this
    if kind in (_TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ) and any(p.name != "6" for p in to.expressions):
        raise binder.refuse(node, "A time stamp here has microseconds.",
                            "Write TIMESTAMP, and date_trunc('second', x) around it.")  # fmt: skip
    if isinstance(inner, exp.Literal) and inner.is_string and kind in (
        _TYPE.DATE, _TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ,
    ):  # fmt: skip
        return binder.moment(inner, Literal(inner.name, T), D if kind is _TYPE.DATE else S)
    if kind is _TYPE.DECIMAL:
        return _decimal(binder, node)
    name = CASTS.get(kind)
    if name is None and kind is _TYPE.TIME:
        raise binder.refuse(node, "A time of day has no type here.",
                            f"Write extract(hour FROM CAST({inner.sql('duckdb')} AS TIMESTAMP)) of a time stamp, or "
                            f"{clock_hour(inner.sql('duckdb'))} of a text like 9:27AM.")  # fmt: skip
    if name is None:
        raise binder.refuse(
            node,
            f"CAST to {to.sql('duckdb')} is not supported.",
            "Cast to BIGINT or another integer, DOUBLE, DECIMAL, BOOLEAN, VARCHAR, DATE or TIMESTAMP.",
        )
    bound = binder.bind(inner)
    if name == "to_text" and bound.type in (F, S):
        raise binder.refuse(node, f"Engines write {TYPE_WORDS[bound.type]} as text in different ways.",
                            "Round it to an integer first." if bound.type is F else
                            "Write strftime(x, '%Y-%m-%d %H:%M').")  # fmt: skip
    if kind in _NARROW:
        return must(name, binder.apply(node, "to_integer", [bound], [inner]))
    return binder.apply(node, name, [bound], [inner])


def _decimal(binder: Binder, node: exp.Expr) -> Expression:
    """DECIMAL(p, s): rounded to s places, half away from zero; NULL where it has more than p digits."""
    digits = [int(parameter.this.name) for parameter in node.args["to"].expressions] or [18, 3]
    width, scale = digits if len(digits) == 2 else (digits[0], 0)
    if not (0 <= scale <= 15 and scale <= width <= 38):
        raise binder.refuse(node, "A DECIMAL here has at most 15 decimal places.", "Write DECIMAL(18, 3).")
    number = binder.apply(node, "to_float", [binder.bind(node.this)], [node.this])
    rounded = must("round_to", number, Literal(scale, I))
    return must("below", rounded, Literal(10.0 ** (width - scale), F))


# Forms whose modules load with the first question that has one --------------------------------------------


def _of_dates(binder: Binder, node: exp.Expr) -> Expression:
    from discreet.sql.analyze.binding import date_forms

    named = isinstance(node, exp.Anonymous)
    form = date_forms.FORMS_BY_NAME[node.name.lower()] if named else date_forms.FORMS[type(node)]
    return form(binder, node)


def _of_lists(binder: Binder, node: exp.Expr) -> Expression:
    from discreet.sql.analyze.binding import list_forms

    named = isinstance(node, exp.Anonymous)
    form = list_forms.FORMS_BY_NAME[node.name.lower()] if named else list_forms.FORMS[type(node)]
    return form(binder, node)


def _of_patterns(binder: Binder, node: exp.Expr) -> Expression:
    from discreet.sql.analyze.binding import pattern_forms

    return pattern_forms.FORMS[type(node)](binder, node)


def _of_places(binder: Binder, node: exp.Expr) -> Expression:
    from discreet.sql.analyze.binding import place_forms

    return place_forms.FORMS_BY_NAME[node.name.lower()](binder, node)


LATER: dict[type[exp.Expr], Form] = {
    exp.Extract: _of_dates, exp.TimestampTrunc: _of_dates, exp.DateTrunc: _of_dates, exp.DateDiff: _of_dates,
    exp.Add: _of_dates, exp.Sub: _of_dates, exp.DateAdd: _of_dates, exp.DateBin: _of_dates, exp.TimeToStr: _of_dates,
    exp.AtTimeZone: _of_dates, exp.UnixToTime: _of_dates, exp.DateStrToDate: _of_dates, exp.TimeStrToTime: _of_dates,
    exp.Dot: _of_lists, exp.StructExtract: _of_lists, exp.Bracket: _of_lists, exp.Length: _of_lists,
    exp.ArraySize: _of_lists, exp.Array: _of_lists, exp.ArrayContains: _of_lists, exp.ArrayOverlaps: _of_lists,
    exp.ArrayContainsAll: _of_lists, exp.ArrayDistinct: _of_lists, exp.Split: _of_lists, exp.JSONExtract: _of_lists,
    exp.JSONExtractScalar: _of_lists, exp.RegexpExtract: _of_patterns, exp.RegexpReplace: _of_patterns,
}  # fmt: skip
"""By the class that the parser gives them."""
LATER_BY_NAME: dict[str, Form] = {
    **dict.fromkeys(("date_part", "datepart", "date_sub", "datesub", "to_date"), _of_dates),
    **dict.fromkeys(("list_extract", "list_element", "array_extract", "list_slice"), _of_lists),
    **dict.fromkeys(("array_slice", "list_has_all", "array_has_all"), _of_lists),
    **dict.fromkeys(("grid", "h3_cell", "h3_latlng_to_cell_string"), _of_places),
}
"""By name, where the parser has no class."""

FORMS: dict[type[exp.Expr], Form] = {
    exp.Neg: _negate, exp.Is: _is, exp.NullSafeEQ: _same, exp.Like: _like,
    exp.ILike: _like, exp.RegexpLike: _regexp, exp.RegexpFullMatch: _regexp, exp.SimilarTo: _regexp,
    exp.Case: _case, exp.If: _if,
    exp.Nvl2: _nvl2, exp.Coalesce: _many, exp.Least: _many, exp.Greatest: _many, exp.Round: _round,
    exp.Floor: _round, exp.Ceil: _round, exp.Trunc: _round, exp.Log: _log, exp.Pi: _pi, exp.WidthBucket: _bins,
    exp.IntDiv: _integer_divide, exp.Trim: _trim, exp.Pad: _pad, exp.DPipe: _beside, exp.Concat: _concat,
    exp.ConcatWs: _concat, exp.Cast: _cast, exp.TryCast: _cast, **LATER, **several_values.FORMS,
}  # fmt: skip
"""By the class that the parser gives them."""
FORMS_BY_NAME: dict[str, Form] = {"clamp": _clamp, **LATER_BY_NAME}
"""By name, where the parser has no class."""


def expression_binder(
    text: str,
    column: Callable[[exp.Column], Expression],
    opaque: Callable[[Expression, str], tuple[str, str]] = about_opaque,
) -> Binder:
    """A binder that reads these forms beside plain calls; its arguments are those of `Binder`."""
    return Binder(text, column, opaque, FORMS, FORMS_BY_NAME)
