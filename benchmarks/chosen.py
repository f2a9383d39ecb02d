"""Questions in which noise selects or folds, for the coverage benchmark.

Each is asked of the data that are the hardest for it. For most these are equal groups: noise alone decides which is the
greatest, the first or above a threshold. Where groups differ by more than their noise nothing is selected by it, and
an interval that allows for selection holds more often. Five are harder where some days lead, with four times as many
rows, and the others are equal: behind one day, the second is the greatest of 99, while the second of 100 equal ones
would have to miss twice at once; the median of 49 leaders and 50 others is the greatest of these (of an even number it
is the mean of two, which errs less); and the average of the day with the most rows has one day to be of, not a hundred
to lie between.
"""

from __future__ import annotations

from typing import NamedTuple

DAYS = "(SELECT day, COUNT(*) AS n FROM data GROUP BY day) AS d"
MEANS = "(SELECT day, AVG(x) AS m FROM data GROUP BY day) AS d"
CELLS = "(SELECT h, a, COUNT(*) AS n FROM data GROUP BY h, a) AS d"
BOTH = (
    "(SELECT day, COUNT(*) FILTER (WHERE x > 50) AS p, COUNT(*) FILTER (WHERE x <= 50) AS q "
    "FROM data GROUP BY day) AS d"
)


class Question(NamedTuple):
    """A question whose answer noise selects or folds.

    Attributes:
        sql: with the number as column v.
        all: the same without the selection of rows, if rows are selected.
        by: the columns that name a row.
        leaders: the days that lead.
        days: how many days there are.
    """

    sql: str
    all: str = ""
    by: tuple[str, ...] = ()
    leaders: tuple[int, ...] = ()
    days: int = 100


def _of(rows: str, choice: str, *by: str, leaders: tuple[int, ...] = ()) -> Question:
    return Question(f"{rows} {choice}", rows, by, leaders)


COUNTED = "SELECT day, COUNT(*) AS v FROM data GROUP BY day"
AVERAGED = "SELECT day, AVG(x) AS v FROM data GROUP BY day"
LISTED = "WITH r AS (SELECT h, a, COUNT(*) AS n FROM data GROUP BY h, a)"

PAIRS = "(SELECT day, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY day) AS d"
OF_EACH = "(SELECT h, a, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY h, a) AS d"

ONE, BUT_ONE, HALF = (0,), tuple(range(1, 100)), tuple(range(49))
OF_EACH_ONE = tuple(range(0, 100, 5))


def _ratio(items: str) -> Question:
    return Question(f"SELECT day, {items} AS v FROM data GROUP BY day", by=("day",))


QUESTIONS = {
    "greatest count": Question(f"SELECT MAX(n) AS v FROM {DAYS}"),
    "least count": Question(f"SELECT MIN(n) AS v FROM {DAYS}"),
    "greatest average": Question(f"SELECT MAX(m) AS v FROM {MEANS}"),
    "greatest count of each": Question(f"SELECT h, MAX(n) AS v FROM {CELLS} GROUP BY h ORDER BY h", by=("h",)),
    "least count of each": Question(f"SELECT h, MIN(n) AS v FROM {CELLS} GROUP BY h ORDER BY h", by=("h",)),
    "greatest of a CTE": Question(f"WITH d AS (SELECT * FROM {DAYS}) SELECT 2 * MAX(n) + 1 AS v FROM d"),
    "days above": Question(f"SELECT COUNT(*) AS v FROM {DAYS} WHERE n > 200"),
    "days below": Question(f"SELECT COUNT(*) AS v FROM {DAYS} WHERE n < 200"),
    "days above, filtered": Question(f"SELECT COUNT(*) FILTER (WHERE n > 200) AS v FROM {DAYS}"),
    "days above, summed": Question(f"SELECT SUM(CASE WHEN n > 200 THEN 1 ELSE 0 END) AS v FROM {DAYS}"),
    "averages above": Question(f"SELECT COUNT(*) AS v FROM {MEANS} WHERE m > 50"),
    "above, of each": Question(f"SELECT h, COUNT(*) FILTER (WHERE n > 200) AS v FROM {CELLS} GROUP BY h", by=("h",)),
    "top day": _of(COUNTED, "ORDER BY v DESC LIMIT 1", "day"),
    "last day": _of(COUNTED, "ORDER BY v LIMIT 1", "day"),
    "top 3 days": _of(COUNTED, "ORDER BY v DESC LIMIT 3", "day"),
    "top 10 days": _of(COUNTED, "ORDER BY v DESC LIMIT 10", "day"),
    "second day": _of(COUNTED, "ORDER BY v DESC LIMIT 1 OFFSET 1", "day", leaders=ONE),
    "top average": _of(AVERAGED, "ORDER BY v DESC LIMIT 1", "day"),
    "last averages": _of(AVERAGED, "ORDER BY v LIMIT 5", "day"),
    "top sum": _of("SELECT day, SUM(x) AS v FROM data GROUP BY day", "ORDER BY v DESC LIMIT 1", "day"),
    "top variance": _of("SELECT day, VAR_SAMP(x) AS v FROM data GROUP BY day", "ORDER BY v DESC LIMIT 5", "day"),
    "top share": _of("SELECT day, COUNT(*) / SUM(COUNT(*)) OVER () AS v FROM data GROUP BY day",
                     "ORDER BY v DESC LIMIT 5", "day"),
    "top difference": _of("SELECT day, AVG(x) - AVG(y) AS v FROM data GROUP BY day", "ORDER BY v DESC LIMIT 5", "day"),
    "top thousand": _of("SELECT day, COUNT(*) / 1000 AS v FROM data GROUP BY day", "ORDER BY v DESC LIMIT 1", "day"),
    "top whole": _of("SELECT day, COUNT(*) // 3 AS v FROM data GROUP BY day", "ORDER BY v DESC LIMIT 1", "day"),
    "having a count": _of(COUNTED, "HAVING COUNT(*) > 203", "day"),
    "having an average": _of(AVERAGED, "HAVING AVG(x) > 50", "day"),
    "having both": _of(COUNTED, "HAVING COUNT(*) > 203 AND AVG(x) > 50", "day"),
    "first by window": _of(f"SELECT day, n AS v FROM {DAYS}", "QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) = 1", "day"),
    "first of each": _of(f"SELECT h, a, n AS v FROM {CELLS}",
                         "QUALIFY ROW_NUMBER() OVER (PARTITION BY h ORDER BY n DESC) = 1", "h", "a"),
    "above the average": _of(f"SELECT day, n AS v FROM {DAYS}", f"WHERE n > (SELECT AVG(n) FROM {DAYS})", "day"),
    "a row that is not named": _of(f"{LISTED} SELECT h, n AS v FROM r", "ORDER BY n DESC LIMIT 1", "h"),
    "a distance": Question("SELECT day, ABS(COUNT(*) - 200) AS v FROM data GROUP BY day", by=("day",)),
    "a distance of averages": Question("SELECT day, ABS(AVG(x) - 50) AS v FROM data GROUP BY day", by=("day",)),
    "a distance of two": Question(f"SELECT day, ABS(p - q) AS v FROM {BOTH}", by=("day",)),
    "the greater of two": Question(f"SELECT day, GREATEST(p, q) AS v FROM {BOTH}", by=("day",)),
    "the less of two": Question(f"SELECT day, LEAST(p, q) AS v FROM {BOTH}", by=("day",)),
    "a sum of distances": Question(f"SELECT h, SUM(ABS(n - 200)) AS v FROM {CELLS} GROUP BY h", by=("h",)),
    "all distances": Question(f"SELECT SUM(ABS(n - 200)) AS v FROM {DAYS}"),
    "all distances of two": Question(f"SELECT SUM(ABS(p - q)) AS v FROM {BOTH}"),
    "range": Question(f"SELECT MAX(n) - MIN(n) AS v FROM {DAYS}"),
    "behind the greatest": Question(f"SELECT day, n - (SELECT MAX(n) FROM {DAYS}) AS v FROM {DAYS}", by=("day",)),
    "rank": Question(f"SELECT day, RANK() OVER (ORDER BY n DESC) AS v FROM {DAYS}", by=("day",)),
    "median of counts": Question(f"SELECT MEDIAN(n) AS v FROM {DAYS}", leaders=HALF, days=99),
    "sum of the top 10": Question(f"SELECT SUM(n) AS v FROM (SELECT n FROM {DAYS} ORDER BY n DESC LIMIT 10) AS e"),
    "average of the greatest": Question(f"SELECT arg_max(m, n) AS v FROM {PAIRS}", leaders=ONE),
    "average of the least": Question(f"SELECT arg_min(m, n) AS v FROM {PAIRS}", leaders=BUT_ONE),
    "average of the greatest of each": Question(f"SELECT h, max_by(m, n) AS v FROM {OF_EACH} GROUP BY h", by=("h",),
                                                leaders=OF_EACH_ONE),
    "a ratio": _ratio("SUM(x) / SUM(y)"),
    "a ratio of counts": _ratio("COUNT(*) FILTER (WHERE x > 60) / COUNT(*) FILTER (WHERE y <= 60)"),
    "a ratio near zero": _ratio("SUM(x) / SUM(y - 45)"),
    "a ratio nearer to zero": _ratio("SUM(x) / SUM(y - 49)"),
    "a ratio of two near zero": _ratio("SUM(x - 49.5) / SUM(y - 49.5)"),
    "a weighted mean near zero": _ratio("SUM(x * (y - 49)) / NULLIF(SUM(y - 49), 0)"),
    "greatest change": Question(
        f"SELECT MAX(ABS(c)) AS v FROM (SELECT n - LAG(n) OVER (ORDER BY day) AS c FROM {DAYS}) AS e"
    ),
}  # fmt: skip
