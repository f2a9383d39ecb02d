"""What a case of the fuzzer shows to be wrong; nothing where nothing is."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.corpus.judge import difference, silence
from tests import inside
from tests.sql.fuzz.bench import EPSILON, answered, bench, plain, same_rows
from tests.sql.fuzz.grammar import KEYS, Grammar, Key
from tests.sql.fuzz.statements import Pair, per_unit, release, statement

from discreet.errors import QueryRefused
from discreet.sql.finish import many_groups
from discreet.sql.finish.postprocess import finish
from discreet.sql.inspect.misleading import misled
from discreet.sql.lower.run import NoisyIntegers, exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

NO_GROUP = "can have rows here"
REFUSALS: Counter[str] = Counter()
"""How often which refusal was met in this process."""


def compared(pair: Pair, intervals: bool) -> str:
    """How the answer to a question differs from that of plain DuckDB; empty where it does not."""
    try:
        truth = plain(pair.truth)
    except duckdb.Error as error:
        return "" if _overflows(error) else f"DuckDB: {error}\n{pair.truth}"
    try:
        ours = answered(pair.asked)
    except QueryRefused as refusal:
        REFUSALS[refusal.cause[:90]] += 1
        if NO_GROUP in refusal.cause and peopled(truth) and not above(pair):
            return f"refused, but there are {len(truth)} groups: {refusal.cause}\n{pair.asked}\n{pair.truth}"
        return ""
    why = difference(ours.values, truth, pair.order)
    if not why and intervals:
        why = crossed(
            ours.values, {name: (ours.ends(0)[name], ours.ends(1)[name]) for name in ours.intervals}
        )
    return f"{why}\n{pair.asked}\n{pair.truth}" if why else ""


def peopled(truth: pa.Table) -> bool:
    """Whether some group has rows: no row meets `z > 5 AND z < 3`, and the text alone says that."""
    return len(truth) > 0 and ("n" not in truth.column_names or any(truth.column("n").to_pylist()))


def above(pair: Pair) -> bool:
    """Whether something stands above the release, so that an answer without groups may have rows."""
    return not pair.order or not set(pair.order) <= {"k0", "k1", "k2"}


def _overflows(error: duckdb.Error) -> bool:
    """Whether plain DuckDB fails on a row, where discreet has a value."""
    return isinstance(
        error, duckdb.OutOfRangeException | duckdb.ConversionException | duckdb.InvalidInputException
    )


def crossed(values: pa.Table, ends: dict[str, tuple[pa.Array, pa.Array]]) -> str:
    """An interval that does not hold the value beside it."""
    for name, (low, high) in ends.items():
        for bottom, value, top in zip(
            low.to_pylist(), values.column(name).to_pylist(), high.to_pylist(), strict=True
        ):
            chain = [float(one) for one in (bottom, value, top) if one is not None]
            if any(a > b for a, b in pairwise(chain)):
                return f"{name}: [{bottom}, {top}] does not hold {value}"
    return ""


def differs(one: str, other: str, strict: bool = False) -> str:
    """How two questions are answered differently, which should be answered alike; empty where they are not.

    Args:
        one: a question.
        other: the same in another spelling.
        strict: whether the second may not be refused where the first is answered.
    """
    a, b = _values(one), _values(other)
    if isinstance(a, str) or isinstance(b, str):
        kept = isinstance(a, str) or not strict
        return "" if kept else f"refused in another spelling: {b}\n{one}\n{other}"
    why = difference(a, b, ())
    return f"{why}\n{one}\n{other}" if why else ""


def _values(sql: str) -> pa.Table | str:
    """An answer, or why it is refused."""
    try:
        return answered(sql).values
    except QueryRefused as refusal:
        REFUSALS[refusal.cause[:90]] += 1
        return refusal.cause


def partition(seed: int) -> str:
    """WHERE p, NOT p and p IS NULL divide the rows in three."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    test = grammar.test(2)
    items = "COUNT(*) AS n, COUNT(note) AS m, SUM(x) AS s, SUM(clamp(y, -9, 9)) AS c"
    key = rng.choice(["", "sex", "z IS NULL"])
    shown, group = (f"{key} AS k, ", " GROUP BY k") if key else ("", "")
    whole = f"SELECT {shown}{items} FROM t{group}"
    parts = [
        f"SELECT {shown}{items} FROM t WHERE {one}{group}"
        for one in (test, f"NOT ({test})", f"({test}) IS NULL")
    ]
    again = f"SELECT {shown}SUM(n) AS n, SUM(m) AS m, SUM(s) AS s, SUM(c) AS c FROM ({' UNION ALL '.join(parts)}) AS p{group}"
    return differs(whole, again.replace(f"SELECT {shown}SUM", f"SELECT {'k, ' if key else ''}SUM"))


def filtered(seed: int) -> str:
    """WHERE and FILTER keep the same rows."""
    grammar = Grammar(random.Random(seed))
    test = grammar.private_test() if seed % 2 else grammar.test(2)
    pairs = [grammar.aggregate(False) for _ in range(3)]
    kept = [
        sql for sql, own, _ in pairs if not own and not sql.startswith(("COUNT_IF", "VAR", "STD", "COVAR"))
    ] or ["COUNT(*)"]
    where = ", ".join(f"{sql} AS v{at}" for at, sql in enumerate(kept))
    inside = ", ".join(f"{sql} FILTER (WHERE {test}) AS v{at}" for at, sql in enumerate(kept))
    return differs(f"SELECT {where} FROM t WHERE {test}", f"SELECT {inside} FROM t")


def averaged(seed: int) -> str:
    """AVG is SUM divided by COUNT."""
    grammar = Grammar(random.Random(seed))
    inner, test = f"clamp({grammar.number(2)}, -20, 35)", grammar.private_test()
    keys = grammar.keys(1)
    key = f"{keys[0].sql} AS k, " if keys else ""
    group = " GROUP BY k" if keys else ""
    one = f"SELECT {key}AVG({inner}) AS a FROM t WHERE {test}{group}"
    other = f"SELECT {key}CASE WHEN COUNT({inner}) > 0 THEN SUM({inner}) / COUNT({inner}) END AS a FROM t WHERE {test}{group}"
    return differs(one, other)


def renamed(seed: int) -> str:
    """Names change nothing, nor does a sub-query or a CTE instead of the expression itself."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    inner, test, key = grammar.integer(2), grammar.test(1), rng.choice(KEYS).sql
    body = "COUNT(*) AS n, SUM(clamp({e}, -30, 30)) AS s, COUNT({e}) AS c"
    plain_sql = f"SELECT {key} AS k, {body.format(e=inner)} FROM t WHERE {test} GROUP BY 1 ORDER BY 1"
    rows = f"SELECT {key} AS kk, {inner} AS ee, {test} AS pp, t.id AS who FROM t AS t"
    shape = rng.randrange(3)
    if shape == 0:
        return differs(
            plain_sql,
            f"SELECT kk AS k, {body.format(e='ee')} FROM ({rows}) AS q WHERE pp GROUP BY kk ORDER BY 1",
            strict=True,
        )
    if shape == 1:
        return differs(
            plain_sql,
            f"WITH q AS ({rows}) SELECT kk AS k, {body.format(e='q.ee')} FROM q WHERE q.pp GROUP BY 1 ORDER BY 1",
            strict=True,
        )
    deeper = f"WITH a AS (SELECT * FROM t WHERE {test}), q AS (SELECT * FROM a) SELECT {key} AS k, {body.format(e=inner)} FROM q GROUP BY ALL"
    return differs(plain_sql, deeper, strict=True)


def spelled(seed: int) -> str:
    """A CTE is a sub-query, above a release too."""
    rng = random.Random(seed)
    one = release(Grammar(rng))
    every = ", ".join([*one.keys, "n"])
    above = f"SELECT {every}, n + 1 AS m FROM {{r}} WHERE n >= 0 ORDER BY ALL"
    return differs(
        f"WITH r AS ({one.asked}) {above.format(r='r')}", above.format(r=f"({one.asked}) AS r"), strict=True
    )


def hidden(seed: int) -> str:
    """An interval is that of its row, whether the keys of the row are shown or not, and made of that row's draws."""
    rng = random.Random(seed)
    a, b = rng.sample(["educ", "city", "sex", "d"], 2)
    count = f"COUNT(*) FILTER (WHERE y < {rng.randint(4, 9)} * coalesce(educ, 0) + 5 * coalesce(ascii(city) - 65, 0) - 15)"
    r = f"WITH r AS (SELECT {a} AS h, {b} AS a, {count} AS n FROM t GROUP BY 1, 2)"
    order = rng.choice(["n DESC", "n"])
    tail = rng.choice([
        f"ORDER BY {order}, h, a LIMIT {rng.randint(1, 3)}", "ORDER BY h, a", "WHERE n > 30 ORDER BY h, a",
        f"QUALIFY row_number() OVER (ORDER BY {order}, h, a) <= 2 ORDER BY h, a",
    ])  # fmt: skip
    drawn = rng.random() < 0.5
    tail = "ORDER BY h, a" if drawn and rng.random() < 0.5 else tail
    questions = [f"{r} SELECT {shown} FROM r {tail}" for shown in (
        ("h, a, n AS m", "h, a, n % 1000 + n // 2 AS m", "h, n % 1000 + n // 2 AS m") if drawn else ("h, a, n AS m", "h, a, n + 1 AS m", "h, n + 1 AS m")
    )]  # fmt: skip
    ends = []
    for question in questions:
        ours = answered(question, epsilon=Fraction(5))
        if "m" not in ours.intervals:
            return f"no interval\n{question}"
        ends.append(
            np.nan_to_num(
                np.stack([np.asarray(one, float) for one in ours.intervals["m"]]), posinf=1e6, neginf=-1e6
            )
        )
    plain_ends, full, less = ends
    expected = plain_ends + np.floor(plain_ends / 2) if drawn else plain_ends + 1
    for one in (full, less):
        away = np.abs(one - expected)
        if not (away <= (5 if drawn else 0)).all() and not (drawn and tail != "ORDER BY h, a"):
            return f"the interval is another row's: {one.tolist()}, expected {expected.tolist()}\n{questions}"
    if tail == "ORDER BY h, a" or not drawn:
        return (
            ""
            if (np.abs(full - less) <= (5 if drawn else 0)).all()
            else f"{full.tolist()} and {less.tolist()}\n{questions}"
        )
    return ""


def whole(seed: int) -> str:
    """Ends of the interval of a whole number that draws gave are whole, and a tie stays one."""
    rng = random.Random(seed)
    key = rng.choice(["educ", "city", "d", "sex"])
    shown = rng.choice(
        [f"COUNT(*) // {rng.randint(2, 9)}", f"COUNT(*) % {rng.randint(2, 5)} + COUNT(*) // 2"]
    )
    sql = f"SELECT {key} AS k, {shown} AS v FROM t GROUP BY k ORDER BY k"
    ours = answered(sql, epsilon=Fraction(1))
    ends = (
        np.concatenate([np.asarray(end, float) for end in ours.intervals["v"]])
        if "v" in ours.intervals
        else np.zeros(0)
    )
    finite = ends[np.isfinite(ends)]
    return (
        ""
        if len(finite) and (finite == np.rint(finite)).all()
        else f"ends that are not whole: {finite}\n{sql}"
    )


def chosen(seed: int) -> str:
    """The interval of a row that noise chose is wider than that of the same row unchosen, and so is that of a maximum."""
    rng = random.Random(seed)
    key = rng.choice(["coalesce(city, '') || coalesce(sex, '')", "d", "educ", "city"])
    base = f"SELECT {key} AS k, {rng.choice(['COUNT(*)', 'SUM(x)', 'SUM(educ)'])} AS v FROM t GROUP BY k"
    direction = rng.choice(["DESC", ""])
    tail = rng.choice(
        [f"ORDER BY v {direction}, k LIMIT 1", f"QUALIFY row_number() OVER (ORDER BY v {direction}, k) = 1"]
    )
    every, one = answered(base, epsilon=Fraction(1)), answered(f"{base} {tail}", epsilon=Fraction(1))
    folded = answered(
        f"SELECT {'MAX' if direction else 'MIN'}(v) AS v FROM ({base}) AS r", epsilon=Fraction(1)
    )
    wide, widest, reach = (
        float(x.intervals["v"][1][0] - x.intervals["v"][0][0]) for x in (every, one, folded)
    )
    if not widest > wide:
        return f"chosen {widest}, unchosen {wide}\n{base} {tail}"
    return "" if reach > wide else f"folded {reach}, unchosen {wide}\n{base}"


def fair(seed: int) -> str:
    """Of rows that all units have, each is kept as often as the others.

    2,000 units have the same 20 rows. How often one is kept is binomial; it lies beyond 6.5 standard deviations with a
    probability below 1e-10, so that a false alarm in all cases of a deep run has one below 1e-6, and in those of one run
    below 1e-9. Combined hashes that only the last column moves keep a row always or never: 40 standard deviations away.
    """
    rng = random.Random(seed)
    most = rng.choice([1, 2, 3, 5, 7])
    items = rng.choice(["v", "v, w", "v, w, u", "u, v"])
    session, units, values = same_rows()
    sums = {
        "v": "SUM(v) AS s",
        "v, w": "SUM(v) AS s, SUM(w) AS t",
        "v, w, u": "AVG(w) AS s, SUM(u) AS t",
        "u, v": "SUM(u) AS s",
    }[items]
    planned = plan(
        f"SELECT v, COUNT(*) AS n, {sums} FROM data GROUP BY v ORDER BY v",
        inside.catalog_of(session),
        EPSILON,
        Limits(most, None),
    )
    noisy = [
        NoisyIntegers(one, exact_integers(one, inside.engine_of(session), rng.randrange(2**63)))
        for one in planned.releases
    ]
    counts = np.asarray(finish(planned, noisy, {}, 0.95).values.column("n").to_pylist(), float)
    share = most / values
    away = np.abs(counts - units * share) / np.sqrt(units * share * (1 - share))
    if counts.sum() != units * most:
        return f"{counts.sum()} rows are kept, not {units * most}"
    return (
        ""
        if away.max() < 6.5
        else f"kept {counts.tolist()} times, fair is {units * share}, by max_rows = {most} and {items}"
    )


def emptied(seed: int) -> str:
    """A sum over the groups of a release says how many groups it adds up, where they are many."""
    rng = random.Random(seed)
    keys = rng.choice(
        ["educ, city, sex, d", "sex, city, d, flag, CAST(ts AS DATE)", "educ, city, d, flag, sex"]
    )
    first = keys.split(",")[0]
    sql = f"SELECT k, {rng.choice(['SUM', 'AVG'])}(n) AS s FROM (SELECT {first} AS k, COUNT(*) AS n FROM t GROUP BY {keys}) AS r GROUP BY k"
    session = bench().session
    planned = plan(sql, inside.catalog_of(session), EPSILON)
    values = answered(sql).values
    cells = f"{sum(release.cells for release in planned.releases):,}"
    said = misled(planned, values, 0.95, whole=True)
    return "" if any(cells in one for one in said) else f"nothing is said of {cells} groups: {said}\n{sql}"


def weeks(seed: int) -> str:
    """date_diff counts how often a week begins, in rows as above releases, and a key of it survives a sub-query."""
    rng = random.Random(seed)
    start = f"DATE '2024-02-{rng.randint(1, 28):02}'"
    mondays = f"date_diff('day', date_trunc('week', {start}), date_trunc('week', d)) // 7"
    one = f"SELECT date_diff('week', {start}, d) AS k, COUNT(*) AS n FROM t GROUP BY k"
    inside = (
        f"SELECT k, COUNT(*) AS n FROM (SELECT date_diff('week', {start}, d) AS k FROM t) AS q GROUP BY k"
    )
    later = f"SELECT date_diff('week', {start}, k) AS k, SUM(n) AS n FROM (SELECT d AS k, COUNT(*) AS n FROM t GROUP BY d) AS r GROUP BY 1"
    other = (
        f"SELECT {mondays} AS k, SUM(n) AS n FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d) AS r GROUP BY 1"
    )
    return (
        differs(one, other, strict=True)
        or differs(other, inside, strict=True)
        or differs(other, later, strict=True)
    )


def traced(seed: int) -> str:
    """Keys of expressions, those of moments too, are what they are behind a sub-query, a CTE or two of them."""
    rng = random.Random(seed)
    key = rng.choice(
        [
            *KEYS,
            Key("date_trunc('month', ts)"),
            Key("hour(ts)"),
            Key("year(ts)"),
            Key("date_trunc('day', ts)"),
        ]
    ).sql
    plain_sql = f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY 1"
    q = f"SELECT {key} AS k FROM t"
    listed = [
        f"SELECT k, COUNT(*) AS n FROM ({q}) AS q GROUP BY k", f"WITH q AS ({q}) SELECT k, COUNT(*) AS n FROM q GROUP BY k",
        f"WITH q AS ({q}), w AS (SELECT k AS j FROM q) SELECT j AS k, COUNT(*) AS n FROM w GROUP BY j",
        f"SELECT k, COUNT(*) AS n FROM (SELECT {key} AS k, row_number() OVER (PARTITION BY id ORDER BY y) AS o FROM t) AS q GROUP BY k",
        f"SELECT k, SUM(n) AS n FROM (SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY k) AS r GROUP BY k",
    ]  # fmt: skip
    return differs(plain_sql, rng.choice(listed), strict=True)


def written(seed: int) -> str:
    """What is written into a file is the answer that is held in memory, block by block too."""
    pair = statement(seed)
    session = bench().session
    with (
        silence(),
        TemporaryDirectory() as folder,
        mock.patch.object(many_groups, "IN_MEMORY", 3 if seed % 2 else many_groups.IN_MEMORY),
    ):
        into = Path(folder) / "answer.parquet"
        try:
            session.write(pair.asked, 100, into)
        except QueryRefused:
            return ""
        kept = pq.read_table(into)
        held = session.sql(pair.asked, 100)
    own = kept.select([name for name in kept.column_names if name in held.columns])
    why = difference(own, held.values, pair.order)
    return f"{why}\n{pair.asked}" if why else ""


KINDS: dict[str, Any] = {
    "statement": lambda seed: compared(statement(seed), intervals=seed % 5 == 0),
    "per unit": lambda seed: compared(per_unit(seed), intervals=False),
    "partition": partition,
    "filtered": filtered,
    "averaged": averaged,
    "renamed": renamed,
    "spelled": spelled,
    "hidden": hidden,
    "whole": whole,
    "chosen": chosen,
    "fair": fair,
    "emptied": emptied,
    "weeks": weeks,
    "traced": traced,
    "written": written,
}
"""The kinds of cases; each takes a seed and says what is wrong."""
SHARES = [
    *["statement"] * 15, *["per unit"] * 3, *["partition", "filtered", "averaged", "renamed", "spelled", "traced"] * 2,
    "hidden", "whole", "chosen", "fair", "emptied", "weeks", "written",
]  # fmt: skip
"""How often each kind is asked."""


def problem(number: int) -> str:
    """What the case of a number shows to be wrong."""
    kind = SHARES[number % len(SHARES)]
    found: str = KINDS[kind](number)
    return f"{kind} {number}: {found}" if found else ""
