"""Parsed SQL over private rows -> typed expressions. What is not in the function table is refused."""

from __future__ import annotations

import datetime as dt
import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.query import functions as fn
from discreet.query.expression import Call, Expression, Literal, weight
from discreet.query.refusal import refuse

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP

DIRECT: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide", exp.IntDiv: "integer_divide",
    exp.Mod: "remainder", exp.Neg: "negate", exp.Abs: "abs", exp.Sign: "sign", exp.Sqrt: "sqrt", exp.Exp: "exp",
    exp.Ln: "ln", exp.Pow: "power", exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt",
    exp.GTE: "ge", exp.And: "and", exp.Or: "or", exp.Not: "not", exp.Nullif: "nullif", exp.Lower: "lower",
    exp.Upper: "upper", exp.Length: "length", exp.DPipe: "concat", exp.Year: "year", exp.Month: "month",
    exp.Day: "day", exp.DayOfMonth: "day", exp.Quarter: "quarter", exp.Week: "week", exp.WeekOfYear: "week",
    exp.DayOfWeek: "dayofweek", exp.DayOfWeekIso: "isodow", exp.DayOfYear: "dayofyear", exp.Hour: "hour",
    exp.Minute: "minute", exp.Second: "second",
}  # fmt: skip
BY_NAME = {
    "log2": "log2", "log10": "log10", "isodow": "isodow", "mod": "remainder", "weekday": "dayofweek",
    "weekofyear": "week",
}  # fmt: skip
PARTS = {
    "year",
    "month",
    "day",
    "quarter",
    "week",
    "dayofweek",
    "isodow",
    "dayofyear",
    "hour",
    "minute",
    "second",
}
PART_NAMES = {"dow": "dayofweek", "doy": "dayofyear", "years": "year", "months": "month", "days": "day"}
CASTS: dict[object, str] = {
    exp.DataType.Type.BIGINT: "to_integer", exp.DataType.Type.INT: "to_int32", exp.DataType.Type.DOUBLE: "to_float",
    exp.DataType.Type.FLOAT: "to_float", exp.DataType.Type.DATE: "to_date", exp.DataType.Type.TIMESTAMP: "to_timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "to_timestamp",
}  # fmt: skip
MOST_WEIGHT = 2000
"""A clamp within a clamp is written 25 times, so what few characters ask for could keep an engine busy for ever."""
TYPE_WORDS = {B: "a boolean", I: "an integer", F: "a number", T: "a text", D: "a date", S: "a time stamp"}


@dataclass(frozen=True, slots=True)
class Binder:
    """Reads the expressions of one scope.

    Attributes:
        text: the analyst's query, for pointing at places in it.
        column: what a column of the query stands for; raises QueryRefused when there is none.
    """

    text: str
    column: Callable[[exp.Column], Expression]

    def refuse(self, node: exp.Expr, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this query."""
        return refuse(node, self.text, cause, fix)

    def condition(self, node: exp.Expr) -> Expression:
        """Read an expression that must be a boolean."""
        bound = self.bind(node)
        if bound.type is not B:
            raise self.refuse(node, f"This condition is {TYPE_WORDS[bound.type]}, not a boolean.",
                              "Compare it with something, for instance <> 0.")  # fmt: skip
        return bound

    def bind(self, node: exp.Expr) -> Expression:
        """Read any expression over the rows."""
        bound = self._read(node)
        if weight(bound) > MOST_WEIGHT:
            raise self.refuse(node, "This expression is too large.", "Compute parts of it in a sub-query.")
        return bound

    def _read(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        if isinstance(node, exp.Column):
            return self.column(node)
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            return self._literal(node)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            value = self._literal(node.this)
            return Literal(-value.value, value.type)  # type: ignore[operator]
        if isinstance(node, exp.Anonymous) and node.name.lower() == "clamp":
            return self._clamp(node)
        special = _SPECIAL.get(type(node))
        if special is not None:
            return special(self, node)
        name = DIRECT.get(type(node))
        if name is None and isinstance(node, exp.Anonymous):
            name = BY_NAME.get(node.name.lower())
            args = list(node.expressions)
        elif name is not None:
            args = _arguments(node)
        if name is None:
            raise self._unknown(node)
        return self.call(node, name, args)

    def call(self, node: exp.Expr, name: str, args: list[exp.Expr]) -> Expression:
        """Apply a function of the table to unbound arguments."""
        return self.apply(node, name, [self.bind(arg) for arg in args], args)

    def apply(self, node: exp.Expr, name: str, args: list[Expression], nodes: list[exp.Expr]) -> Expression:
        """Apply a function of the table to arguments that were bound, each once: twice would double at every level."""
        bound = self._aligned(args, nodes)
        result = fn.call(name, *bound)
        if result is None:
            got = " and ".join(TYPE_WORDS[b.type] for b in bound)
            usage = " or ".join(dict.fromkeys(line.usage for line in fn.TABLE[name]))
            raise self.refuse(
                node, f"{usage} does not take {got}.", "Convert the arguments with CAST(… AS …)."
            )
        return result

    def _literal(self, node: exp.Expr) -> Literal:
        if isinstance(node, exp.Null):
            return Literal(None, I)
        if isinstance(node, exp.Boolean):
            return Literal(bool(node.this), B)
        if node.args.get("is_string"):
            if "\0" in node.this:
                raise self.refuse(
                    node, "A text with a NUL character is not allowed.", "Remove the character."
                )
            return Literal(node.this, T)
        try:
            value = Decimal(node.this.replace("_", ""))
        except InvalidOperation:
            raise self.refuse(node, "This is not a number.", "Write a decimal number.") from None
        if value == value.to_integral_value() and abs(value) <= fn.INT64 and "e" not in node.this.lower():
            if "." not in node.this:
                return Literal(int(value), I)
            return Literal(float(value), F)
        number = float(value)
        if abs(number) > 1.7e308:
            raise self.refuse(node, "This number is too large.", "Write a number below 1e308.")
        return Literal(number, F)

    def _aligned(self, bound: list[Expression], nodes: list[exp.Expr]) -> list[Expression]:
        """Read a text literal beside a date as a date, and an untyped NULL as whatever stands beside it."""
        temporal = next((b.type for b in bound if b.type in (D, S)), None)
        typed = next((b.type for b in bound if not (isinstance(b, Literal) and b.value is None)), None)
        out: list[Expression] = []
        for one, node in zip(bound, nodes, strict=True):
            if isinstance(one, Literal) and isinstance(one.value, str) and temporal is not None:
                out.append(self._moment(node, one.value, temporal))
            elif isinstance(one, Literal) and one.value is None and typed is not None:
                out.append(Literal(None, typed))
            else:
                out.append(one)
        return out

    def _moment(self, node: exp.Expr, text: str, wanted: Type) -> Literal:
        try:
            if wanted is D and len(text) <= 10:
                return Literal(dt.date.fromisoformat(text), D)
            moment = dt.datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise self.refuse(node, "This text is not a date.", "Write it like '2024-01-31'.") from None
        return Literal(moment, S)

    def _unknown(self, node: exp.Expr) -> QueryRefused:
        if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
            return self.refuse(node, "A sub-query inside an expression over private rows is not supported.",
                               "Compute it in a statement of its own and write its value here.")  # fmt: skip
        if isinstance(node, exp.Window):
            return self.refuse(node, "A window function over private rows is not supported.",
                               "Use it above the aggregation: in a sub-query around this one.")  # fmt: skip
        if isinstance(node, exp.AggFunc):
            return self.refuse(node, "An aggregate cannot stand here, where single rows are read.",
                               "Move it to the SELECT list or to HAVING.")  # fmt: skip
        name = node.name if isinstance(node, exp.Anonymous) else node.key
        known = [*fn.TABLE, *fn.VARIADIC]
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Use one of: {', '.join(sorted(_usages()))}."
        return self.refuse(
            node, f"{name} is not among the functions that may be computed on private rows.", hint
        )

    # The forms of SQL that are not plain calls -------------------------------------------------------------

    def _is(self, node: exp.Expr) -> Expression:
        other = node.expression
        if isinstance(other, exp.Null):
            return self.call(node, "is_null", [node.this])
        if isinstance(other, exp.Boolean):
            truth = fn.call("eq", self.condition(node.this), Literal(bool(other.this), B))
            assert truth is not None
            return fn.variadic("coalesce", [truth, Literal(False, B)])
        raise self._unknown(node)

    def _between(self, node: exp.Expr) -> Expression:
        if node.args.get("symmetric"):
            raise self.refuse(node, "BETWEEN SYMMETRIC is not supported.", "Write the smaller bound first.")
        what, (low, high) = self.bind(node.this), (node.args["low"], node.args["high"])
        above = self.apply(node, "ge", [what, self.bind(low)], [node.this, low])
        below = self.apply(node, "le", [what, self.bind(high)], [node.this, high])
        return _both(above, below)

    def _in(self, node: exp.Expr) -> Expression:
        if node.args.get("query") or node.args.get("unnest") or not node.expressions:
            raise self._unknown(node.args.get("query") or node)
        nodes = [node.this, *node.expressions]
        bound = self._aligned([self.bind(n) for n in nodes], nodes)
        for one, where in zip(bound[1:], nodes[1:], strict=True):
            if not isinstance(one, Literal):
                raise self.refuse(
                    where, "IN takes a list of literals.", "Write x = a OR x = b for expressions."
                )
        return fn.among(bound[0], self._unify(node, bound)[1:]) if len(bound) > 1 else bound[0]

    def _like(self, node: exp.Expr) -> Expression:
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
            raise self.refuse(
                node.expression, "The pattern of LIKE must be a literal.", "Write it out in quotes."
            )
        return self.call(node, name, [node.this, node.expression])

    def _case(self, node: exp.Expr) -> Expression:
        whens, results = [], []
        compared = None if node.this is None else self.bind(node.this)
        for branch in node.args["ifs"]:
            if compared is None:
                whens.append(self.condition(branch.this))
            else:
                pair = [compared, self.bind(branch.this)]
                whens.append(self.apply(branch.this, "eq", pair, [node.this, branch.this]))
            results.append(branch.args["true"])
        default = node.args.get("default") or exp.null()
        bound = self._unify(
            node, self._aligned([self.bind(r) for r in [*results, default]], [*results, default])
        )
        return fn.case(list(zip(whens, bound[:-1], strict=True)), bound[-1])

    def _if(self, node: exp.Expr) -> Expression:
        nodes = [node.args["true"], node.args.get("false") or exp.null()]
        then, other = self._unify(node, self._aligned([self.bind(n) for n in nodes], nodes))
        return fn.case([(self.condition(node.this), then)], other)

    def _many(self, node: exp.Expr) -> Expression:
        nodes = [node.this, *node.expressions] if node.this is not None else list(node.expressions)
        bound = self._unify(node, self._aligned([self.bind(n) for n in nodes], nodes))
        return fn.variadic(node.key, bound)

    def _unify(self, node: exp.Expr, bound: list[Expression]) -> list[Expression]:
        kinds = [b.type for b in bound if not (isinstance(b, Literal) and b.value is None)]
        kind = fn.common_type(kinds) if kinds else I
        if kind is None:
            words = " and ".join(dict.fromkeys(TYPE_WORDS[k] for k in kinds))
            raise self.refuse(node, f"This mixes {words}.", "Convert them to one type with CAST(… AS …).")
        widened = [fn.widen(b, kind) for b in bound]
        assert all(w is not None for w in widened)
        return [w for w in widened if w is not None]

    def _round(self, node: exp.Expr) -> Expression:
        what = self.bind(node.this)
        digits = node.args.get("decimals") or node.args.get("expression")
        if digits is None or isinstance(node, exp.Floor | exp.Ceil | exp.Trunc):
            return _whole(node.key, what) or self.apply(node, node.key, [what], [node.this])
        count = self.bind(digits)
        if not (isinstance(count, Literal) and isinstance(count.value, int) and -15 <= count.value <= 15):
            raise self.refuse(
                digits, "The number of digits must be a literal from -15 to 15.", "Write round(x, 2)."
            )
        return self.apply(node, "round_to", [what, count], [node.this, digits])

    def _extract(self, node: exp.Expr) -> Expression:
        part = node.name.lower()
        part = PART_NAMES.get(part, part)
        if part not in PARTS:
            raise self.refuse(node, f"{part} is not a part of a date that can be extracted.",
                              f"Use one of {', '.join(sorted(PARTS))}.")  # fmt: skip
        return self.call(node, part, [node.expression])

    def _log(self, node: exp.Expr) -> Expression:
        if node.expression is None:
            return self.call(node, "log10", [node.this])
        base = node.this
        if isinstance(base, exp.Literal) and base.name in ("2", "10"):
            return self.call(node, f"log{base.name}", [node.expression])
        raise self.refuse(node, "The base of a logarithm must be 2 or 10.", "Write ln(x) / ln(base).")

    def _trim(self, node: exp.Expr) -> Expression:
        if node.expression is not None or node.args.get("position"):
            raise self.refuse(node, "trim takes one text.", "Write trim(x).")
        return self.call(node, "trim", [node.this])

    def _cast(self, node: exp.Expr) -> Expression:
        to = node.args["to"]
        kind = to.this
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.is_string and kind in (
            exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ,
        ):  # fmt: skip
            return self._moment(inner, inner.name, D if kind is exp.DataType.Type.DATE else S)
        name = CASTS.get(kind)
        if name is None:
            raise self.refuse(node, f"CAST to {to.sql('duckdb')} is not supported.",
                              "Cast to BIGINT, INTEGER, DOUBLE, DATE or TIMESTAMP.")  # fmt: skip
        if name == "to_int32":
            whole = self.call(node, "to_integer", [inner])
            narrow = fn.call("to_int32", whole)
            assert narrow is not None
            return narrow
        return self.call(node, name, [inner])

    def _clamp(self, node: exp.Anonymous) -> Expression:
        if len(node.expressions) != 3:
            raise self.refuse(node, "clamp takes a number and two bounds.", "Write clamp(x, 0, 100).")
        what = self.bind(node.expressions[0])
        if what.type not in (I, F):
            raise self.refuse(
                node, f"clamp takes a number, not {TYPE_WORDS[what.type]}.", "Convert it with CAST."
            )
        ends = []
        for end in node.expressions[1:]:
            bound = self.bind(end)
            if not isinstance(bound, Literal) or isinstance(bound.value, bool) or not isinstance(
                    bound.value, int | float):  # fmt: skip
                raise self.refuse(end, "The bounds of clamp must be literals.", "Write clamp(x, 0, 100).")
            ends.append(Fraction(bound.value))
        if not ends[0] < ends[1] or (what.type is I and math.ceil(ends[0]) > math.floor(ends[1])):
            raise self.refuse(
                node, "The lower bound of clamp is not below the upper one.", "Write clamp(x, 0, 100)."
            )
        return fn.clamp(what, *ends)

    def _subtract(self, node: exp.Expr) -> Expression:
        nodes = [node.this, node.expression]
        bound = self._aligned([self.bind(n) for n in nodes], nodes)
        both_dates = bound[0].type is D and bound[1].type is D
        return self.apply(node, "days_between" if both_dates else "subtract", bound, nodes)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    first = node.this
    # date parts wrap their argument in a cast that only some dialects need
    if isinstance(first, exp.TsOrDsToDate):
        first = first.this
    return [first] if node.args.get("expression") is None else [first, node.expression]


def _whole(name: str, what: Expression) -> Expression | None:
    if what.type is F and what.span.within(-(2**52), 2**52):
        return fn.call(f"{name}_whole", what)
    return None


def _both(a: Expression, b: Expression) -> Expression:
    result = fn.call("and", a, b)
    assert result is not None
    return result


def _usages() -> set[str]:
    return {line.usage for lines in fn.TABLE.values() for line in lines if line.usage} | {
        v.usage for v in fn.VARIADIC.values()
    }


_SPECIAL: dict[type[exp.Expr], Callable[[Binder, exp.Expr], Expression]] = {
    exp.Is: Binder._is, exp.Between: Binder._between, exp.In: Binder._in, exp.Like: Binder._like,
    exp.ILike: Binder._like, exp.Case: Binder._case, exp.If: Binder._if, exp.Coalesce: Binder._many,
    exp.Least: Binder._many, exp.Greatest: Binder._many, exp.Round: Binder._round, exp.Floor: Binder._round,
    exp.Ceil: Binder._round, exp.Trunc: Binder._round, exp.Extract: Binder._extract, exp.Log: Binder._log,
    exp.Trim: Binder._trim, exp.Cast: Binder._cast, exp.TryCast: Binder._cast, exp.Sub: Binder._subtract,
}  # fmt: skip

__all__ = ["Binder", "Call"]
