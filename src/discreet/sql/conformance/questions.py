"""Questions in SQL over the tables of the corpus: filters, keys, joins, windows, measures, and rows kept of a unit."""

from __future__ import annotations

_MEASURES = [
    "COUNT(*)", "COUNT({x})", "SUM({x})", "AVG({x})", "VAR_SAMP({x})", "STDDEV_POP({x})", "MEDIAN({x})", "MIN({x})",
    "MAX({x})", "QUANTILE_CONT({x}, 0.9)", "COVAR_SAMP({x}, p)", "CORR({x}, a)", "REGR_SLOPE({x}, p)", "REGR_COUNT({x}, p)",
    "COUNT(DISTINCT {x})", "SUM({x}) FILTER (WHERE b)", "COUNT(*) - COUNT({x})", "SKEWNESS({x})", "KURTOSIS({x})",
]  # fmt: skip
_NUMBERS = [
    "a", "p", "a + p", "a * a", "clamp(f, -1, 1)", "clamp(f, 0, 1e12)", "clamp(f, -1e280, 1e280)", "clamp(i, -9, 9)",
    "clamp(i, -4e18, 4e18)", "clamp(f * g, -5, 5)", "clamp(f / g, 0, 1e-300)", "clamp(i * j, -50, 50)",
    "clamp(exp(g), 0, 5)", "clamp(f % g, -3, 3)", "b", "a > p", "extract(dow FROM n)", "clamp(length(c), 0, 9)",
    "clamp(CAST(c AS DOUBLE), -20, 20)", "clamp(epoch(y), -1e10, 1e10)", "date_diff('month', x, DATE '2020-01-01')",
    "width_bucket(f, -1, 1, 4)", "round(p, 1)", "CASE WHEN b THEN a ELSE p END",
]  # fmt: skip
_TESTS = [
    "f > g", "f = g", "f <> g", "c = d", "c < d", "c >= 'e'", "c LIKE '%x%'", "c ILIKE '%\u00c9%'", "NOT b",
    "b OR e", "b AND NOT e", "m < n", "x >= y", "m = '2020-02-29'", "i % j > 0", "i / j < 1", "f + g > 0", "f - g > 0",
    "regexp_matches(c, '^[a-z]+$')", "c IS NULL", "c IN ('x', 'Kent ', '')", "f BETWEEN g AND 3", "i BETWEEN j AND 9",
    "CAST(c AS DATE) > m", "CAST(c AS BIGINT) = 12", "CAST(c AS BOOLEAN)", "lower(c) = lower(d)",
    "upper(c) <> c", "trim(c) = 'Kent'", "split_part(c, '-', 2) = 'b'", "f IS DISTINCT FROM g",
    "x AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York' < y", "strftime(y, '%m') = '12'", "c || d = 'xx'",
]  # fmt: skip
_KEYS = [
    "h", "b", "a", "a // 4", "a % 3", "upper(h)", "month(n)", "a > 5", "floor(p)", "coalesce(h, 'none')", "year(m)",
    "date_trunc('month', m)", "strftime(m, '%Y-%m')", "dayname(n)", "substring(h, 1, 1)", "width_bucket(p, 0, 4, 4)",
    "round(p, 1)", "concat(h, '-', b)", "CAST(a AS VARCHAR)", "time_bucket(INTERVAL '1 week', m)", "last_day(m)",
    "date_trunc('day', x)", "CASE WHEN f > 1 THEN 'hi' ELSE 'lo' END", "p > 0, h", "b, e", "CASE WHEN b THEN 1 END",
    "grid(p, a, 2.5)", "grid(clamp(g, -3, 3), a, 0.7, 5)",
]  # fmt: skip
_SOURCES = [
    "t JOIN s ON t.u = s.u", "t LEFT JOIN s ON t.u = s.u AND s.q > 2", "t LEFT JOIN s ON t.u = s.u AND s.r < t.f",
    "s RIGHT JOIN t ON t.u = s.u", "t FULL JOIN s ON t.u = s.u AND s.q > 2",
    "(SELECT u, a, p, h, f FROM t WHERE b UNION SELECT u, a, p, h, f FROM t WHERE NOT b) AS t",
    "(SELECT u, a, p, h, f FROM t EXCEPT SELECT u, a, p, h, f FROM t WHERE b) AS t",
    "(SELECT * FROM t WHERE a <> ALL (SELECT q FROM s WHERE s.u = t.u AND s.r < t.f)) AS t",
    "(SELECT * FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND s.q > t.a)) AS t",
    "t SEMI JOIN s USING (u)", "t ANTI JOIN s ON s.u = t.u", "t JOIN pub ON t.h = pub.name",
    "t LEFT JOIN pub ON t.h = pub.name AND pub.weight > 1", "t, pub WHERE t.a > pub.weight",
    "(SELECT * FROM t WHERE u IN (SELECT u FROM s WHERE q > 1)) AS t",
    "(SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND q > 5)) AS t",
    "(SELECT * FROM t UNION ALL SELECT * FROM t WHERE b) AS t", "(SELECT DISTINCT u, a, p, h, f FROM t) AS t",
    "(SELECT u, MAX(a) AS a, AVG(p) AS p, MIN(h) AS h, BOOL_OR(b) AS b, SUM(i) AS i, SUM(a) AS f FROM t GROUP BY u) AS t",
    "(SELECT u, h, clamp(COUNT(f), 0, 3) AS a, clamp(SUM(p), -4, 4) AS p, BOOL_AND(b) AS b, MIN(f) AS f, MAX(c) AS c, "
    "MIN(b) AS e, MAX(b) AS g, COUNT(DISTINCT a) AS j FROM t GROUP BY u, h HAVING COUNT(*) > 1) AS t",
    "(SELECT u, length(c) % 3 AS a, clamp(SUM(p), -9, 9) AS p, MIN(h) AS h, MAX(f) AS f FROM t GROUP BY u, length(c) % 3) AS t",
    "(SELECT u, clamp(row_number() OVER (PARTITION BY u ORDER BY a, n DESC), 0, 4) AS a, "
    "clamp(SUM(p) OVER (PARTITION BY u), -3, 3) AS p, h, f, lag(n) OVER (PARTITION BY u ORDER BY a, n DESC) AS n FROM t) "
    "AS t",
    "(SELECT u, clamp(rank() OVER (PARTITION BY u ORDER BY h DESC), 0, 4) AS a, "
    "clamp(dense_rank() OVER (PARTITION BY u ORDER BY f NULLS FIRST), 0, 9) AS p, h, f FROM t) AS t",
    "(SELECT u, a, AVG(p) OVER (PARTITION BY u ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS p, h, f FROM t) AS t",
    "(SELECT u, lead(a, 2) OVER (PARTITION BY u ORDER BY c) AS a, first_value(p) OVER (PARTITION BY u ORDER BY c) AS p, "
    "last_value(h) OVER (PARTITION BY u ORDER BY c ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS h, f FROM t) AS t",
    "(SELECT u, clamp(COUNT(*) OVER (PARTITION BY u, h), 0, 5) AS a, clamp(MAX(f) OVER (PARTITION BY u), -2, 2) AS p, h, f "
    "FROM t) AS t",
    "(SELECT u, a, p, h, f, b FROM t QUALIFY row_number() OVER (PARTITION BY u ORDER BY n) <= 2) AS t",
]  # fmt: skip
_EXCLUSIVE = [
    ["c = 'x'", "c IN ('Kent ', '')", "c IS NULL", "c > 'x'"], ["f < 0", "f = 0", "f > 0", "f IS NULL"],
    ["b", "NOT b", "b IS NULL"], ["i <= 0", "i BETWEEN 1 AND 5", "i > 5"], ["m < '2020-02-29'", "m >= '2020-02-29'"],
]  # fmt: skip
"""Conditions that exclude each other, so that they are measured for one epsilon."""


def _questions() -> list[str]:
    out = [f"SELECT {m.format(x=x)} AS v FROM t" for index, x in enumerate(_NUMBERS) for m in
           (_MEASURES[index % len(_MEASURES)], _MEASURES[(index * 5 + 3) % len(_MEASURES)])]  # fmt: skip
    out += [f"SELECT h, {m.format(x='p')} AS v FROM t GROUP BY h" for m in _MEASURES]
    out += [f"SELECT COUNT(*) AS v, SUM(a) AS w FROM t WHERE {test}" for test in _TESTS]
    out += [f"SELECT {key}, COUNT(*) AS v, AVG(p) AS w FROM t GROUP BY {key}" for key in _KEYS]
    for source in _SOURCES:
        out.append(f"SELECT COUNT(*) AS v, AVG(a) AS w, SUM(clamp(f, -9, 9)) AS x FROM {source}")
        out.append(f"SELECT h, COUNT(DISTINCT t.u) AS v, MEDIAN(p) AS w FROM {source} GROUP BY h")
    for several in _EXCLUSIVE:
        for form in ("COUNT(*) FILTER (WHERE {p})", "AVG(a) FILTER (WHERE {p})", "SUM(CASE WHEN {p} THEN p ELSE 0 END)",
                     "CORR(a, p) FILTER (WHERE {p})"):  # fmt: skip
            items = ", ".join(f"{form.format(p=p)} AS v{index}" for index, p in enumerate(several))
            out.append(f"SELECT h, {items} FROM t GROUP BY h")
    out.append(
        "SELECT CORR(a, p) AS v, REGR_SLOPE(p, a) AS w, REGR_SLOPE(a, p) AS x, REGR_AVGX(p, a) AS y FROM t"
    )
    out.append("SELECT h, COUNT(*) AS v FROM t WHERE upper(c) = 'x' GROUP BY h")
    out.append("SELECT h, b, COUNT(*) AS v FROM t GROUP BY ROLLUP (h, b)")
    out.append("SELECT h, SUM(DISTINCT a) AS v, COUNT(DISTINCT (a, h, b)) AS w FROM t GROUP BY h")
    out.append(
        "SELECT h, MEDIAN(m) AS v, MAX(x) AS w, AVG(clamp(y, DATE '1900-01-01', DATE '2100-01-01')) AS z FROM t GROUP BY h"
    )
    out.append("SELECT histogram(h) AS v, histogram(p, [0, 1, 2.5]) AS w, mode(b) AS z FROM t")
    out.append("SELECT SUM(a) AS v FROM t WHERE f > 1e308 AND f < -1e308")
    return list(dict.fromkeys(out))


QUESTIONS = _questions()
"""All of them; those that need a unit are asked under a policy with one."""
