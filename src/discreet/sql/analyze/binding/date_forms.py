"""The forms of SQL that deal in dates: units, intervals, parts, bins, formats and zones."""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.analyze.binding.multiplied_intervals import factors, shifted
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.dates import CLOCK_PARTS, DAY_PARTS

I, F, T, D, S = Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
_OTHER_NAMES = {
    "year": "years yr yrs y", "month": "months mon mons", "quarter": "quarters", "week": "weeks w weekofyear",
    "day": "days d dayofmonth", "hour": "hours hr hrs h", "minute": "minutes min mins m",
    "second": "seconds sec secs s", "millisecond": "milliseconds ms msec msecs",
    "microsecond": "microseconds us usec usecs", "decade": "decades dec decs", "century": "centuries cent c",
    "millennium": "millennia millenniums mil mils", "dayofweek": "dow weekday", "dayofyear": "doy",
}  # fmt: skip
UNIT_NAMES = {alias: name for name, others in _OTHER_NAMES.items() for alias in (name, *others.split())}
PARTS = (*DAY_PARTS, *CLOCK_PARTS, "epoch")
_SECONDS = "YYYY-MM-DD HH24:MI:SS"
WRITTEN = {"YYYY-MM-DD": "DATE", **dict.fromkeys((_SECONDS, f"{_SECONDS}.US", f"{_SECONDS}.MS"), "TIMESTAMP")}
"""The formats of PostgreSQL that texts are read by, and the type of each."""
_OF_FORMAT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?)?", re.ASCII)
"""PostgreSQL passes over a zone that no format names, and a literal is moved by it: neither is to be guessed."""


def _unit(binder: Binder, node: exp.Expr | None, whole: exp.Expr, allowed: tuple[str, ...]) -> str:
    """Read the name of a unit or part, which must be written out."""
    said = node.name.lower() if isinstance(node, exp.Var | exp.Literal) else ""
    if not said:
        raise binder.refuse(node or whole, "The unit must be a literal.", "Write date_trunc('month', x).")
    name = UNIT_NAMES.get(said, said) if len(said) > 1 else said  # one letter may as well be a column
    if name not in allowed:
        raise binder.refuse(whole, f"{said} is not supported here.", f"Use one of {', '.join(allowed)}.")
    return name


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    return _part(binder, node, node.this, node.expression)


def _date_part(binder: Binder, node: exp.Expr) -> Expression:
    part, operand = _exactly(binder, node, 2, "date_part('month', x)")
    return _part(binder, node, part, operand)


def _part(binder: Binder, node: exp.Expr, part: exp.Expr, operand: exp.Expr) -> Expression:
    return binder.call(node, _unit(binder, part, node, PARTS), [operand])


def _trunc(binder: Binder, node: exp.Expr) -> Expression:
    (operand,) = binder.arguments(node, "this", "unit")[:1]
    return binder.call(
        node, f"date_trunc_{_unit(binder, node.args.get('unit'), node, cal.DATE_PARTS)}", [operand]
    )


def _diff(binder: Binder, node: exp.Expr) -> Expression:
    if node.args.get("unit") is None:
        raise binder.refuse(node, "The unit is missing.", "Write date_diff('day', a, b).")
    unit = _unit(binder, node.args["unit"], node, cal.DATE_PARTS)
    return binder.call(node, f"date_diff_{unit}", [_plain(node.expression), _plain(node.this)])


def _complete(binder: Binder, node: exp.Expr) -> Expression:
    part, a, b = _exactly(binder, node, 3, "date_sub('year', a, b)")
    return binder.call(node, f"date_sub_{_unit(binder, part, node, cal.DATE_PARTS)}", [a, b])


def _exactly(binder: Binder, node: exp.Expr, count: int, usage: str) -> list[exp.Expr]:
    if len(node.expressions) != count:
        raise binder.refuse(node, f"{node.name.lower()} takes {count} arguments.", f"Write {usage}.")
    return list(node.expressions)


def _plain(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


# Intervals -------------------------------------------------------------------------------------------------


def interval(binder: Binder, node: exp.Expr) -> tuple[int, int]:
    """Read an interval as whole months and microseconds, which is all that a calendar knows.

    Raises:
        QueryRefused: it is no literal, or not a whole number of months and microseconds.
    """
    fix = "Write INTERVAL 3 MONTH, or INTERVAL '1 day 6 hours'."
    if not isinstance(node, exp.Interval):
        raise binder.refuse(node, "The width must be an interval.", fix)
    amount = binder.bind(node.this)
    if not isinstance(amount, Literal) or not isinstance(amount.value, int | str):
        raise binder.refuse(node, "An interval must be a literal.",
                            f"{fix} A number of days can be added to a date directly.")  # fmt: skip
    said = str(amount.value)
    if node.args.get("unit") is not None:
        said = f"{said} {node.args['unit'].name}"
    pieces = re.findall(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)", said)
    months, micros = Fraction(0), Fraction(0)
    if any(len(number) > 20 for number, _ in pieces):
        raise binder.refuse(node, "The interval is too long.", fix)
    for number, name in pieces:
        unit = UNIT_NAMES.get(name.lower(), "")
        if unit in cal.MONTHS:
            months += Fraction(number) * cal.MONTHS[unit]
        elif unit in cal.CLOCK or unit == "week":
            micros += Fraction(number) * (7 * cal.DAY if unit == "week" else cal.CLOCK[unit])
        else:
            raise binder.refuse(node, f"{name} is not a unit of time.", fix)
    left = re.sub(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)", "", said).strip()
    if not pieces or left or months.denominator > 1 or micros.denominator > 1:
        raise binder.refuse(node, "This interval cannot be read.", fix)
    return int(months), int(micros)


def _shifted(binder: Binder, node: exp.Expr, operand: exp.Expr, by: exp.Expr, sign: int) -> Expression:
    product = factors(by)
    months, micros = interval(binder, by if product is None else product[0])
    moment = binder.bind(operand)
    if isinstance(moment, Literal) and moment.type is Type.TEXT and not moment.missing:
        moment = binder.moment(operand, moment, S)
    if moment.type not in (D, S):
        raise binder.refuse(
            node, "An interval can only be added to a date or a time stamp.", "Convert it with CAST."
        )
    if product is not None:
        return shifted(binder, by, moment, months, sign * micros, product[1])
    for name, count in (("add_months", months), ("add_micros", micros)):
        if count or (name == "add_micros" and not months):
            moment = binder.apply(node, name, [moment, Literal(sign * count, I)], [operand, by])
    return moment


def _add(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression")
    for operand, by in (nodes, nodes[::-1]):
        if isinstance(by, exp.Interval) or factors(by) is not None:
            return _shifted(binder, node, operand, by, 1)
    bound = [binder.bind(n) for n in nodes]
    for day, count in ((0, 1), (1, 0)):
        if bound[day].type is D and bound[count].type is I:
            return binder.apply(node, "add_days", [bound[day], bound[count]], [nodes[day], nodes[count]])
    return binder.apply(node, "add", binder.aligned(bound, nodes), nodes)


def _subtract(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "expression")
    if isinstance(nodes[1], exp.Interval) or factors(nodes[1]) is not None:
        return _shifted(binder, node, nodes[0], nodes[1], -1)
    bound = [binder.bind(n) for n in nodes]
    if bound[0].type is D and bound[1].type is I:
        return binder.apply(node, "sub_days", bound, nodes)
    bound = binder.aligned(bound, nodes)
    kinds = {operand.type for operand in bound}
    if S in kinds and kinds <= {D, S}:
        raise binder.refuse(node, "The difference of time stamps is an interval, which has no single unit.",
                            "Write date_diff('day', b, a), or epoch(a) - epoch(b).")  # fmt: skip
    return binder.apply(node, "days_between" if kinds == {D} else "subtract", bound, nodes)


# Bins, formats, zones --------------------------------------------------------------------------------------


def _bucket(binder: Binder, node: exp.Expr) -> Expression:
    width, operand = binder.arguments(node, "this", "expression")
    months, micros = interval(binder, width)
    if bool(months) == bool(micros):
        raise binder.refuse(
            width, "A bin is some months wide or some time, not both.", "Write INTERVAL '15 minutes'."
        )
    moment = binder.bind(operand)
    name, count = ("bucket_of_months", months) if months else ("bucket_of_micros", micros)
    binned = binder.apply(node, name, [Literal(count, I), moment], [width, operand])
    if moment.type is D and (months or micros % cal.DAY == 0):
        return binder.apply(node, "to_date", [binned], [node])
    return binned


def _format(binder: Binder, node: exp.Expr) -> Expression:
    nodes = binder.arguments(node, "this", "format")
    return binder.apply(node, "strftime", [binder.bind(n) for n in nodes], nodes)


def _zone(binder: Binder, node: exp.Expr) -> Expression:
    inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if not isinstance(inner, exp.AtTimeZone):
        raise binder.refuse(node, "Both zones must be spelled out: the one in which it is written and the one to show.",
                            "Write x AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'.")  # fmt: skip
    nodes = [inner.this, inner.args["zone"], node.args["zone"]]
    bound = [binder.bind(n) for n in nodes]
    return binder.apply(node, "in_zone", bound, nodes)


def _written(binder: Binder, node: exp.Expr) -> Expression:
    """PostgreSQL's TO_DATE and TO_TIMESTAMP of a text that is written out, as dashboards filter by time."""
    given = node.expressions or [node.this, node.args.get("scale")]
    literals = [argument for argument in given if isinstance(argument, exp.Literal) and argument.is_string]
    kind = WRITTEN.get(literals[1].name.upper()) if len(literals) == len(given) == 2 else None
    if kind is None or not _OF_FORMAT.fullmatch(literals[0].name):
        raise binder.refuse(
            node,
            "A text is read by a format only where both are written out as ISO 8601 has it, without a zone.",
            "Write DATE '2025-01-31', or TO_DATE('2025-01-31', 'YYYY-MM-DD').",
        )
    text = literals[0].copy()
    if isinstance(node, exp.Anonymous):  # TO_DATE gives the day alone
        text, kind = exp.Literal.string(text.name[:10]), "DATE"
    return binder.bind(exp.cast(text, kind))


def _milliseconds(binder: Binder, node: exp.Expr) -> Expression:
    scale = node.args.get("scale")
    if isinstance(scale, exp.Literal) and scale.is_string:
        return _written(binder, node)
    operand = binder.bind(node.this)
    if node.args.get("scale") is not None and node.args["scale"].name == "3" and operand.type in (D, S):
        return binder.apply(node, "epoch_ms", [operand], [node.this])
    raise binder.refuse(node, "A number cannot be read as a moment here.",
                        "Write TIMESTAMP '1970-01-01' + INTERVAL …, or keep the number.")  # fmt: skip


def _added(binder: Binder, node: exp.Expr) -> Expression:
    """date_add(x, INTERVAL …)."""
    operand, by = binder.arguments(node, "this", "expression", "unit")[:2]
    if node.args.get("unit") is not None:
        by = exp.Interval(this=by, unit=node.args["unit"])
    return _add(binder, exp.Add(this=_plain(operand).copy(), expression=by.copy()))


def _constant(binder: Binder, node: exp.Expr) -> Expression:
    """A date or a moment that a public sub-query gave, which the parser's library writes in a form of its own."""
    return binder.bind(exp.cast(node.this, "DATE" if isinstance(node, exp.DateStrToDate) else "TIMESTAMP"))


FORMS: dict[type[exp.Expr], Form] = {
    exp.Extract: _extract, exp.TimestampTrunc: _trunc, exp.DateTrunc: _trunc, exp.DateDiff: _diff, exp.Add: _add,
    exp.Sub: _subtract, exp.DateAdd: _added, exp.DateBin: _bucket, exp.TimeToStr: _format, exp.AtTimeZone: _zone,
    exp.UnixToTime: _milliseconds, exp.DateStrToDate: _constant, exp.TimeStrToTime: _constant,
}  # fmt: skip
FORMS_BY_NAME: dict[str, Form] = {
    "to_date": _written, "date_part": _date_part, "datepart": _date_part, "date_sub": _complete, "datesub": _complete,
}  # fmt: skip
