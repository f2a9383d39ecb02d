"""The table of aggregates: everything that may be asked of the private rows of a group, one line each.

A line says how an analyst writes the aggregate, whose bounds it needs, which integers are summed for it, how it is
estimated from them, and how large the noise of the estimate is. Reading, planning, the shares of epsilon, refusals and
the reference page take it from here; the integers and the estimates themselves are code in `sql/measures`.

The error of a line is that of the noise alone, asked for by itself at one row for each unit, of n rows whose values are
spread evenly over their bounds: the standard deviation of the first order in 1/n. It is the square root of twice the
`relative` variance, as a Laplace variable of scale one has a variance of two, times the size of the quantity, divided
by epsilon, and by n where the quantity does not grow with the rows.
"""

from __future__ import annotations

import math
from enum import Enum
from fractions import Fraction
from typing import Literal, TypeAlias

from sqlglot import exp

from discreet.records import dataclass

MeasureFamily: TypeAlias = Literal["rows", "units", "distinct", "distinct_sum", "sizes", "pairs", "tree"]
"""Which integers: moments of the rows, counts of units, counts or sums of distinct values, counts of values with so
many rows, moments of a pair, a tree of counts."""


class Magnitude(Enum):
    """The magnitude of a quantity, to which the error of its noise is relative.

    The value is a factor, the term that it multiplies, and whether it is divided by the number of rows. In letters, w
    and v are the widths of the bounds of x and y, m is the larger absolute value of the bounds of x, and r the
    correlation.
    """

    COUNT = (1.0, "", False)
    SUM = (0.5, "m", False)
    HALF_OF_X = (0.5, "w", True)
    HALF_OF_Y = (0.5, "v", True)
    SPREAD = (math.sqrt(1 / 12), "w", True)
    VARIANCE = (1 / 12, "w²", True)
    COVARIANCE = (1 / 12, "w v", True)
    CORRELATION = (1.0, "", True)
    DETERMINATION = (2.0, "|r|", True)
    SLOPE = (1.0, "v/w", True)


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One line of the table.

    Attributes:
        quantity: how the plan names it.
        usages: how an analyst writes it, of the columns x and y, the condition c and the unit `patient_id`.
        nodes: the parser's classes for these; empty where the node alone does not tell.
        bounded: the arguments that must have bounds, in words; empty for none.
        family: which integers are summed.
        degrees: the least degrees of the moments that it is estimated from, in x and in y.
        estimated: how it is estimated from the noisy integers.
        relative: the variance of the noise for one row, at a sensitivity over epsilon of one, relative to the square
            of the size; of a quantile, of its rank where it is asked for alone, twice that.
        size: of the quantity.
        whole: whether it is an integer for every argument.
        mirrored: the name of this quantity of (x, y) as one of (y, x), for a pair.
    """

    quantity: str
    usages: tuple[str, ...]
    nodes: tuple[type[exp.Expr], ...]
    bounded: str
    family: MeasureFamily
    degrees: tuple[int, int]
    estimated: str
    relative: float
    size: Magnitude
    whole: bool = False
    mirrored: str = ""

    def deviation(self, rows: int, epsilon: float, w: float = 1.0, v: float = 1.0, m: float = 1.0,
                  r: float = 0.5) -> float:  # fmt: skip
        """The standard deviation of the noise that the line states; of a quantile, the most that it is.

        Args:
            rows: how many rows the group has.
            epsilon: of the question.
            w: the width of the bounds of x.
            v: that of y.
            m: the larger absolute value of the bounds of x.
            r: the correlation.

        Example:
            >>> {line.quantity: line for line in TABLE}["avg"].deviation(1000, 0.5, w=100)
            0.2
        """
        factor, letters, shrinks = self.size.value
        extent = {"": 1.0, "m": m, "w": w, "v": v, "w²": w * w, "w v": w * v, "|r|": abs(r), "v/w": v / w}[
            letters
        ]
        return math.sqrt(2 * self.relative) * factor * extent / epsilon / (rows if shrinks else 1)

    @property
    def measured(self) -> str:
        """The integers that are summed in each group, in words."""
        x, y = (degree + 1 for degree in self.degrees)
        if self.quantity == "sum":
            return "the sum; beside a mean, count and sum"
        return {
            "rows": ("a count", "count and sum", "count, sum and squares", "four moments", "five moments")[
                self.degrees[0]
            ],
            "units": "a count, each unit once",
            "distinct": "a count, each value once",
            "distinct_sum": "a sum, each value once",
            "pairs": f"{x * y} moments of the pair",
            "tree": "none: leaves chosen by rank; of many quantiles, counts on a tree",
        }[self.family]

    def beside(self, other: AggregateFunction) -> bool:
        """Whether another aggregate of the same arguments is answered by the same integers."""
        return (
            other is not self
            and other.family == self.family
            and all(needed <= had for needed, had in zip(other.degrees, self.degrees, strict=True))
        )

    @property
    def error(self) -> str:
        """The same as a formula."""
        factor, letters, shrinks = self.size.value
        number = f"{math.sqrt(2 * self.relative) * factor:.3g}"
        top = letters if number == "1" and letters else f"{number} {letters}".strip()
        bound = "at most " if self.family == "tree" else ""
        return f"{bound}{top} / (n ε)" if shrinks else f"{top} / ε"


def _moment(quantity: str, usages: str, node: type[exp.Expr], degree: int, estimated: str, relative: float,
            size: Magnitude, *other_nodes: type[exp.Expr]) -> AggregateFunction:  # fmt: skip
    """A line of the moments of one argument."""
    written = tuple(usages.split("; "))
    return AggregateFunction(
        quantity, written, (node, *other_nodes), "x", "rows", (degree, 0), estimated, relative, size
    )


def _pair(quantity: str, name: str, node: type[exp.Expr], degrees: tuple[int, int], estimated: str, relative: float,
          size: Magnitude, mirrored: str = "", whole: bool = False) -> AggregateFunction:  # fmt: skip
    """A line of the moments of two arguments, y before x."""
    return AggregateFunction(
        quantity, (f"{name}(y, x)",), (node,), "x and y", "pairs", degrees, estimated, relative, size, whole,
        mirrored or quantity,
    )  # fmt: skip


_QUANTILES = (
    "QUANTILE_CONT(x, 0.9)", "QUANTILE_DISC(x, 0.9)", "QUANTILE(x, 0.9)", "APPROX_QUANTILE(x, 0.9)",
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x)",
)  # fmt: skip
_QUANTILE_NODES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_COVARIANCE = "mean of the products less the product of the means"

TABLE: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        "rows", ("COUNT(*)", "COUNT_STAR()"), (), "", "rows", (0, 0), "the noisy count", 1.0, Magnitude.COUNT, True,
    ),
    AggregateFunction(
        "count", ("COUNT(x)", "COUNT_IF(c)", "COUNTIF(c)"), (exp.Count, exp.CountIf), "", "rows", (0, 0),
        "the noisy count", 1.0, Magnitude.COUNT, True,
    ),
    AggregateFunction(
        "units", ("COUNT(DISTINCT patient_id)",), (), "", "units", (0, 0), "the noisy count of units", 1.0,
        Magnitude.COUNT, True,
    ),
    AggregateFunction(
        "distinct", ("COUNT(DISTINCT x)", "APPROX_COUNT_DISTINCT(x)"), (), "", "distinct", (0, 0),
        "the noisy count of values", 1.0, Magnitude.COUNT, True,
    ),
    AggregateFunction(
        "distinct_sum", ("SUM(DISTINCT x)",), (), "x", "distinct_sum", (0, 0), "the noisy sum of values", 4.0,
        Magnitude.SUM,
    ),
    _moment("sum", "SUM(x); FSUM(x); KAHAN_SUM(x); SUMKAHAN(x); SUM_NO_OVERFLOW(x)", exp.Sum, 1, "the noisy sum", 4.0,
            Magnitude.SUM),
    _moment("avg", "AVG(x); MEAN(x); FAVG(x)", exp.Avg, 1, "sum over count, within the bounds", 2.0,
            Magnitude.HALF_OF_X),
    _moment("var_samp", "VARIANCE(x); VAR_SAMP(x)", exp.Variance, 2, "mean square less squared mean, times n/(n - 1)",
            24.0, Magnitude.VARIANCE),
    _moment("var_pop", "VAR_POP(x)", exp.VariancePop, 2, "mean square less squared mean", 24.0, Magnitude.VARIANCE),
    _moment("stddev_samp", "STDDEV(x); STDDEV_SAMP(x)", exp.Stddev, 2, "square root of `VARIANCE`", 6.0,
            Magnitude.SPREAD, exp.StddevSamp),
    _moment("stddev_pop", "STDDEV_POP(x)", exp.StddevPop, 2, "square root of `VAR_POP`", 6.0, Magnitude.SPREAD),
    _moment("skewness", "SKEWNESS(x)", exp.Skewness, 3, "third central moment over the cube of `STDDEV`", 96.0,
            Magnitude.CORRELATION),
    _moment("kurtosis", "KURTOSIS(x)", exp.Kurtosis, 4, "fourth central moment over the squared variance, less 3, and "
            "adjusted as DuckDB does", 311.04, Magnitude.CORRELATION),
    AggregateFunction(
        "kurtosis_pop", ("KURTOSIS_POP(x)",), (), "x", "rows", (4, 0),
        "fourth central moment over the squared variance, less 3", 311.04, Magnitude.CORRELATION,
    ),
    _pair("covar_samp", "COVAR_SAMP", exp.CovarSamp, (1, 1), f"{_COVARIANCE}, times n/(n - 1)", 36.0,
          Magnitude.COVARIANCE),
    _pair("covar_pop", "COVAR_POP", exp.CovarPop, (1, 1), _COVARIANCE, 36.0, Magnitude.COVARIANCE),
    _pair("corr", "CORR", exp.Corr, (2, 2), "covariance over both standard deviations", 36.0, Magnitude.CORRELATION),
    _pair("r2", "REGR_R2", exp.RegrR2, (2, 2), "square of `CORR`", 36.0, Magnitude.DETERMINATION),
    _pair("slope", "REGR_SLOPE", exp.RegrSlope, (2, 1), "covariance over the variance of x", 36.0, Magnitude.SLOPE,
          "slope_of_x"),
    _pair("intercept", "REGR_INTERCEPT", exp.RegrIntercept, (2, 1), "mean of y less slope times mean of x", 42.0,
          Magnitude.HALF_OF_Y, "intercept_of_x"),
    _pair("avgx", "REGR_AVGX", exp.RegrAvgx, (1, 1), "mean of x where y is there, within the bounds", 4.0,
          Magnitude.HALF_OF_X, "avgy"),
    _pair("avgy", "REGR_AVGY", exp.RegrAvgy, (1, 1), "mean of y where x is there, within the bounds", 4.0,
          Magnitude.HALF_OF_Y, "avgx"),
    _pair("pairs", "REGR_COUNT", exp.RegrCount, (1, 1), "the noisy count of pairs", 4.0, Magnitude.COUNT, whole=True),
    AggregateFunction(
        "quantile 1/2", ("MEDIAN(x)",), (exp.Median,), "x", "tree", (0, 0),
        "the value chosen by rank, or where noisy counts cross half of the rows", 11.52, Magnitude.HALF_OF_X,
    ),
    AggregateFunction(
        "quantile 9/10", _QUANTILES, _QUANTILE_NODES, "x", "tree", (0, 0),
        "the value chosen by rank, or where noisy counts cross that share of the rows", 37.325, Magnitude.HALF_OF_X,
    ),
    AggregateFunction(
        "min", ("MIN(x)",), (exp.Min,), "x", "tree", (0, 0),
        "the 1 % quantile, as a single row decides the true one", 45.163, Magnitude.HALF_OF_X,
    ),
    AggregateFunction(
        "max", ("MAX(x)",), (exp.Max,), "x", "tree", (0, 0),
        "the 99 % quantile, as a single row decides the true one", 45.163, Magnitude.HALF_OF_X,
    ),
)  # fmt: skip
"""Every aggregate, in the order of the reference page."""

EXPANDED = ("MODE(x)", "HISTOGRAM(x)", "HISTOGRAM(x, [10, 20, 30])", "HISTOGRAM_EXACT(x, ['a', 'b'])",
            "REGR_SXX(y, x)", "REGR_SYY(y, x)", "REGR_SXY(y, x)")  # fmt: skip
"""Aggregates that are written as several of the table."""
BY_QUANTITY = {line.quantity: line for line in TABLE}
BY_NODE = {node: line for line in TABLE for node in line.nodes}
QUANTILE_NODES = _QUANTILE_NODES
"""The functions of x and of a share that name a quantile."""
EXTREME = {"min": Fraction(1, 100), "max": Fraction(99, 100)}
"""Which quantile stands for MIN and MAX."""


def is_quantile(quantity: str) -> bool:
    """Whether a quantity is read off a tree of counts."""
    return quantity in EXTREME or quantity.startswith("quantile ")


def family_of(quantity: str) -> MeasureFamily:
    """Which integers a quantity is estimated from."""
    if is_quantile(quantity):
        return "tree"
    if sizes_of(quantity) is not None:
        return "sizes"
    line = BY_QUANTITY.get(quantity)
    return "pairs" if line is None else line.family


def is_of_values(quantity: str) -> bool:
    """Whether bounded values of its arguments decide a quantity, not only how many there are."""
    line = BY_QUANTITY.get(quantity)
    return is_quantile(quantity) or (
        bool(line.bounded) if line is not None else family_of(quantity) == "pairs"
    )


def of_sizes(least: int, most: int | None) -> str:
    """The quantity that counts the values with so many rows; no upper limit where `most` is None.

    Example:
        >>> of_sizes(1, 1), sizes_of(of_sizes(5, None)), sizes_of("distinct")
        ('sizes 1 1', (5, None), None)
    """
    return f"sizes {least} {most or ''}".strip()


def sizes_in_words(least: int, most: int | None) -> str:
    """The same for people.

    Example:
        >>> sizes_in_words(1, 1), sizes_in_words(1, 4), sizes_in_words(5, None)
        ('1 row', '1 to 4 rows', '5 rows or more')
    """
    if most is None:
        return f"{least} rows or more" if least > 1 else "any number of rows"
    rows = "row" if most == 1 else "rows"
    return f"{least} {rows}" if least == most else f"{least} to {most} {rows}"


def sizes_of(quantity: str) -> tuple[int, int | None] | None:
    """The least and the greatest number of rows of a value that is counted; None for every other quantity."""
    if not quantity.startswith("sizes "):
        return None
    least, *most = map(int, quantity.split()[1:])
    return least, most[0] if most else None


def read_off(quantity: str) -> str:
    """The quantity of a plain measure that is read off the integers of this one in the same way."""
    if sizes_of(quantity) is not None:
        return "rows"
    return {"units": "rows", "distinct": "rows", "distinct_sum": "sum"}.get(quantity, quantity)


def whole(quantity: str) -> bool:
    """Whether a quantity is an integer for every argument."""
    line = BY_QUANTITY.get(quantity)
    return sizes_of(quantity) is not None or (line is not None and line.whole)


PAIR_DEGREES: dict[str, tuple[int, int]] = {
    **{line.mirrored: (line.degrees[1], line.degrees[0]) for line in TABLE if line.family == "pairs"},
    **{line.quantity: line.degrees for line in TABLE if line.family == "pairs"},
}
"""The degrees in x and y that a quantity of a pair needs; `slope` is of y on x, `slope_of_x` of x on y."""
MIRRORED = {line.quantity: line.mirrored for line in TABLE if line.mirrored not in ("", line.quantity)}
"""A quantity of (x, y) as one of (y, x), where it has another name there."""
RELATIVE: dict[str, float] = {
    name: line.relative for line in TABLE for name in (line.mirrored or line.quantity, line.quantity)
}  # fmt: skip
"""The variance of the noise for one row relative to the square of the size, as `AggregateFunction` says."""


def names() -> tuple[str, ...]:
    """The name of every aggregate as an analyst writes it, each once."""
    found = (
        usage.partition("(")[0] for usages in (*(line.usages for line in TABLE), EXPANDED) for usage in usages
    )
    return tuple(dict.fromkeys(found))


def not_supported() -> tuple[str, str]:
    """Cause and fix of an aggregate that has no line and nothing better to be said of."""
    first = list(dict.fromkeys(line.usages[0].partition("(")[0] for line in TABLE))
    return "This aggregate is not supported.", f"Use {', '.join(first[:-1])} or {first[-1]}."
