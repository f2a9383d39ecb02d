"""The ends of an aggregate over rows that are there surely or possibly, and over numbers that lie in bands."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.expressions import ANYWHERE, Ends, Role
from discreet.sql.intervals.bands.relations import BandScope, NoBandsError

_MIDDLE = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile)


@dataclass(frozen=True)
class AggregatedRows:
    """Which rows an aggregate is over.

    Attributes:
        sure: SQL that says whether a row counts surely.
        possibly: the same for possibly.
        certain: whether no noise decides it.
        argument: the aggregated expression, of these rows.
    """

    sure: str
    possibly: str
    certain: bool
    argument: exp.Expr | None

    @property
    def possible_rows(self) -> str:
        """The rows that possibly count."""
        return f" FILTER (WHERE {self.possibly})"

    @property
    def sure_rows(self) -> str:
        """The rows that surely count."""
        return f" FILTER (WHERE {self.sure})"


def aggregate_ends(scope: BandScope, node: exp.Expr) -> Ends:
    """The ends of an aggregate, perhaps with FILTER."""
    rows = _aggregated_rows(scope, node)
    if isinstance(node, exp.Filter):
        node = node.this
    if isinstance(node, exp.Count):
        return _count(scope, rows)
    argument = rows.argument
    # An aggregate that the parser has no node for has its name there, and one of no column has nothing.
    if not isinstance(argument, exp.Expr) or isinstance(argument, exp.Star):
        raise NoBandsError
    inner = scope.plainly(lambda: scope.arithmetic.ends(argument))
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        return _of_extreme(scope, node, inner, rows)
    if rows.certain and not scope.arithmetic.moves(argument) and not inner.noisy:
        others = [child for key, child in node.args.items() if key != "this" and isinstance(child, exp.Expr)]
        if not scope.plainly(lambda: any(scope.arithmetic.moves(other) for other in others)):
            text = f"{node.sql('duckdb')}{rows.possible_rows if rows.possibly != 'TRUE' else ''}"
            return Ends(text, text)
        return Ends(*ANYWHERE, True, True)
    if isinstance(node, exp.Sum | exp.Avg) and squares(scope, argument):
        inner = replace(inner, bent=True)  # the squares of the noise of all rows add up
    ends = replace(_of_noisy(node, inner, rows), of=inner.of)
    if rows.certain and isinstance(node, exp.Median) and inner.only and inner.curve == curvature.LINE:
        return replace(ends, role=Role(inner.of, middle=True))
    if rows.certain:
        return replace(ends, curve=curvature.of_rows(node, inner.curve if inner.noisy else curvature.LINE))
    return replace(ends, curve=_of_first_rows(scope, node, argument, inner.curve))


def squares(scope: BandScope, argument: exp.Expr) -> bool:
    """Whether a noisy number is multiplied by itself within an expression."""

    def ends(part: exp.Expr) -> Ends:
        return scope.plainly(lambda: scope.arithmetic.ends(part))

    for product in argument.find_all(exp.Mul, exp.Pow):
        left, right = ends(product.this), ends(product.expression)
        if isinstance(product, exp.Pow) and left.noisy:
            return True
        if left.noisy and right.noisy and (left.of & right.of or not (left.of and right.of)):
            return True
    return False


def _of_first_rows(scope: BandScope, node: exp.Expr, argument: exp.Expr, curve: str) -> str:
    """How the sum or the mean of the greatest or the least of some numbers bends."""
    if (
        len(scope.sources) != 1
        or scope.node.args.get("where") is not None
        or not isinstance(argument, exp.Column)
    ):
        return curvature.UNKNOWN
    ((_, relation),) = scope.sources.items()
    if relation.first_by is None or relation.first_by[0] != argument.name.lower():
        return curvature.UNKNOWN
    return curvature.of_first_rows(node, curve, descending=relation.first_by[1])


def _aggregated_rows(scope: BandScope, node: exp.Expr) -> AggregatedRows:
    """The rows that FILTER, and a CASE of one branch under SUM or COUNT, leave."""
    sure, possibly, certain = scope.sure, "TRUE", scope.certain
    if isinstance(node, exp.Filter):
        truth = scope.plainly(lambda: scope.arithmetic.truth(node.expression.this))
        sure, possibly = f"{sure} AND {truth.surely}", truth.possibly
        certain = certain and not truth.noisy
        node = node.this
    argument = node.this
    if isinstance(node, exp.Sum | exp.Count) and isinstance(argument, exp.Case) and argument.this is None:
        ifs = argument.args["ifs"]
        default = argument.args.get("default")
        zero = isinstance(default, exp.Literal) and default.name == "0" and isinstance(node, exp.Sum)
        if len(ifs) == 1 and (default is None or isinstance(default, exp.Null) or zero):
            truth = scope.plainly(lambda: scope.arithmetic.truth(ifs[0].this))
            sure, possibly = f"{sure} AND {truth.surely}", f"{possibly} AND {truth.possibly}"
            certain = certain and not truth.noisy
            argument = ifs[0].args["true"]
    return AggregatedRows(sure, possibly, certain, argument)


def _of_noisy(node: exp.Expr, ends: Ends, rows: AggregatedRows) -> Ends:
    """The ends of an aggregate of a noisy number, or of rows that noise decides."""
    kept, surely = rows.possible_rows, rows.sure_rows
    bent = ends.bent or not rows.certain
    if isinstance(node, exp.Sum):
        if rows.certain:
            return Ends(f"SUM({ends.low}){kept}", f"SUM({ends.high}){kept}", True, bent)
        low = f"SUM(CASE WHEN {rows.sure} THEN {ends.low} ELSE LEAST({ends.low}, 0) END){kept}"
        high = f"SUM(CASE WHEN {rows.sure} THEN {ends.high} ELSE GREATEST({ends.high}, 0) END){kept}"
        return Ends(low, high, True, True)
    if isinstance(node, exp.Max):
        low = f"COALESCE(MAX({ends.low}){surely}, MIN({ends.low}){kept})"
        return Ends(low, f"MAX({ends.high}){kept}", True, True)
    if isinstance(node, exp.Min):
        high = f"COALESCE(MIN({ends.high}){surely}, MAX({ends.high}){kept})"
        return Ends(f"MIN({ends.low}){kept}", high, True, True)
    if isinstance(node, (exp.Avg, *_MIDDLE)):
        bent = bent or not isinstance(node, exp.Avg)
        if rows.certain:
            copies = [with_argument(node, end) + kept for end in (ends.low, ends.high)]
            return Ends(copies[0], copies[1], True, bent)
        return Ends(f"MIN({ends.low}){kept}", f"MAX({ends.high}){kept}", True, True)
    # Noise spreads numbers further apart, so that noise drawn again around them lies beyond the truth.
    return Ends(*ANYWHERE, True, True)


def _of_extreme(scope: BandScope, node: exp.ArgMax | exp.ArgMin, ends: Ends, rows: AggregatedRows) -> Ends:
    """The ends of a number of the row with the greatest, or the least, of another.

    That row is one of those whose other number may be as great as the greatest low end; its number lies between the
    ends of theirs.
    """
    if node.args.get("count") is not None or not isinstance(node.expression, exp.Expr):
        return Ends(*ANYWHERE, True, True)
    by = scope.plainly(lambda: scope.arithmetic.ends(node.expression))
    most = isinstance(node, exp.ArgMax)
    near, far = (by.low, by.high) if most else (by.high, by.low)
    reached = f"{'MAX' if most else 'MIN'}({near}){rows.sure_rows}"
    listed = f"list({{'l': {ends.low}, 'h': {ends.high}, 'b': {far}}}){rows.possible_rows}"
    meets = f"({reached}) IS NULL OR c.b {'>=' if most else '<='} ({reached})"
    low, high = (
        f"list_{end}([c.{field} for c in {listed} if c.b IS NOT NULL AND ({meets})])"
        for end, field in (("min", "l"), ("max", "h"))
    )
    # Which row it is, the others tell; its own number needs an interval of its own only.
    apart = rows.certain and ends.only and ends.of and by.of and not ends.of & by.of
    return Ends(low, high, True, True, of=ends.of | by.of, role=Role(by.of, ends.of) if apart else None)


def _count(scope: BandScope, rows: AggregatedRows) -> Ends:
    argument, kept, surely = rows.argument, rows.possible_rows, rows.sure_rows
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1:
            raise NoBandsError
        told = scope.plainly(lambda: scope.arithmetic.ends(argument.expressions[0]))
        if not told.noisy and rows.certain:
            text = f"COUNT(DISTINCT {told.low}){kept}"
            return Ends(text, text)
        if not told.noisy:
            low, high = (f"COUNT(DISTINCT {told.low}){over}" for over in (surely, kept))
            return Ends(low, high, True, True)
        # Not more than there are rows, and at least one where there is any; points are told apart.
        low = f"LEAST(1, COUNT({told.low}){surely})"
        return Ends(low, f"COUNT({told.low}){kept}", True, True)
    text = "*"
    if argument is not None and not isinstance(argument, exp.Star):
        text = scope.plainly(lambda: scope.arithmetic.ends(argument)).low
    if rows.certain:
        return Ends(f"COUNT({text}){kept}", f"COUNT({text}){kept}")
    return Ends(f"COUNT({text}){surely}", f"COUNT({text}){kept}", True, True)


def with_argument(node: exp.Expr, argument: str) -> str:
    """A call in SQL with another argument; of a window, of its function."""
    copy = node.copy()
    function = copy.this if isinstance(copy, exp.Window) else copy
    function.set("this", exp.Column(this=exp.to_identifier("__argument")))
    return copy.sql("duckdb").replace("__argument", argument)
