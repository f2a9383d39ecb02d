"""Random statements: a release, and what stands above it, each beside what plain DuckDB is asked instead."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.sql.fuzz.grammar import Condition, Grammar, Key


@dataclass(frozen=True)
class Pair:
    """A question, what plain DuckDB is asked, and by which columns the answer is ordered."""

    asked: str
    truth: str
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """A SELECT that releases: its keys k0, k1 and so on, a count n, sums and others v0, v1 and so on."""

    asked: str
    truth: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]


NOTHING = Condition("TRUE", "TRUE", "FALSE")


def _source(grammar: Grammar) -> tuple[str, str, str, list[str]]:
    """FROM as it is asked and in plain DuckDB, which of the rows there count, and public columns that it adds."""
    rng = grammar.rng
    match rng.randrange(13):
        case 11:
            source = "t LEFT JOIN UNNEST(tags) AS u(tag) ON TRUE"
            grammar.texts += ["tag", "tag"]
            return source, source, "", []
        case 0:
            test = grammar.public_test()
            source = f"(SELECT * FROM t WHERE {test}) AS t"
            return source, source, "", []
        case 1:
            source = f"(SELECT *, {grammar.integer(2)} AS e FROM t) AS t"
            grammar.whole.append("e")
            return source, source, "", []
        case 2:
            return "t JOIN towns USING (city)", "t JOIN towns USING (city)", "", ["state", "size"]
        case 3:
            source = "t JOIN (SELECT city AS place, shop FROM shops) AS h ON t.city = h.place"
            return source, source, "", ["shop"]
        case 4:
            right = "(SELECT id AS sid, p, q FROM s) AS s"
            grammar.whole.append("p")
            return (
                f"t JOIN {right} ON t.id = s.sid",
                f"t LEFT JOIN {right} ON t.id = s.sid",
                "sid IS NOT NULL",
                [],
            )
        case 5:
            right = "(SELECT id AS sid, p, q FROM s) AS s"
            grammar.whole.append("p")
            source = f"t LEFT JOIN {right} ON t.id = s.sid AND p > 3"
            return source, source, "", []
        case 6:
            test = grammar.public_test()
            source = f"(SELECT * FROM t UNION ALL SELECT * FROM t WHERE {test}) AS t"
            return source, source, "", []
        case 7:
            test = grammar.private_test()
            return f"(SELECT * FROM t WHERE {test}) AS t", "t", test, []
        case 8:
            source = "(SELECT t.*, row_number() OVER (PARTITION BY id ORDER BY educ, sex, city, d, flag, ts) AS e FROM t) AS t"
            grammar.whole.append("e")
            return source, source, "", []
        case 9:
            source = "(SELECT *, SUM(y) OVER (PARTITION BY id, sex) AS e, COUNT(y) OVER (PARTITION BY id) AS f FROM t) AS t"
            grammar.whole += ["e", "f"]
            return source, source, "", []
        case _:
            return "t", "t", "", []


def release(grammar: Grammar, most_keys: int = 2) -> Release:
    """A random release."""
    rng = grammar.rng
    source, truth, counts, added = _source(grammar)
    keys = grammar.keys(most_keys)
    if added and rng.random() < 0.7:
        keys = [Key(rng.choice(added)), *keys[:1]]
    condition = grammar.condition(rng.randint(0, 2)) if rng.random() < 0.7 else NOTHING
    test = " AND ".join(
        f"({one})" for one in (counts, "" if condition is NOTHING else condition.asked) if one
    )
    asked, plain = ["COUNT(*) AS n"], [f"COUNT(*){_filter(test)} AS n"]
    sums = []
    for at in range(rng.randint(0, 3)):
        sql, own, is_sum = grammar.aggregate(bool(keys))
        asked.append(f"{sql}{_filter(own)} AS v{at}")
        both = f"{sql}{_filter(' AND '.join(f'({one})' for one in (own, test) if one))}"
        plain.append(f"{f'coalesce({both}, 0)' if is_sum else both} AS v{at}")
        sums += [f"v{at}"] if sql.startswith(("COUNT", "SUM(CASE")) else []
    named = [f"{key.sql} AS k{at}" for at, key in enumerate(keys)]
    group = f" GROUP BY {', '.join(str(at + 1) for at in range(len(keys)))}" if keys else ""
    where = "" if condition is NOTHING else f" WHERE {condition.asked}"
    public = " AND ".join([condition.public, *(f"({key.sql}) IS NOT NULL" for key in keys if not key.null)])
    public = f" WHERE {public}" if keys else ""
    return Release(
        f"SELECT {', '.join([*named, *asked])} FROM {source}{where}{group}",
        f"SELECT {', '.join([*named, *plain])} FROM {truth}{public}{group}",
        tuple(f"k{at}" for at in range(len(keys))),
        tuple(sums),
    )


def _filter(test: str) -> str:
    return f" FILTER (WHERE {test})" if test else ""


def statement(seed: int) -> Pair:
    """A random statement: a release by itself, or one with something above it."""
    rng = random.Random(seed)
    first = release(Grammar(rng))
    if rng.random() < 0.45:
        if not first.keys:
            return Pair(first.asked, first.truth)
        order = f" ORDER BY {', '.join(first.keys)}"
        return Pair(first.asked + order, first.truth + order, first.keys)
    second = release(Grammar(rng), 1)
    above, order_by = _above(rng, first, second)
    both = rng.random() < 0.5
    asked, truth = (
        _stated(above, one, two, both)
        for one, two in ((first.asked, second.asked), (first.truth, second.truth))
    )
    return Pair(asked, truth, order_by)


def _stated(above: str, one: str, two: str, ctes: bool) -> str:
    if ctes:
        second = f", r2 AS ({two})" if "{r2}" in above else ""
        return f"WITH r AS ({one}){second} {above.format(r='r', r2='r2')}"
    return above.format(r=f"({one}) AS r", r2=f"({two}) AS r2")


def _above(rng: random.Random, one: Release, two: Release) -> tuple[str, tuple[str, ...]]:
    """A statement over the releases {r} and {r2}; what decides in it are counts, which are the same to the last digit."""
    keys, first = ", ".join(one.keys), (one.keys or ("n",))[0]
    every = ", ".join(dict.fromkeys([first, *one.keys, "n"]))
    total = rng.choice([*one.sums, "n"])
    some = rng.randint(0, 60)
    listed: list[tuple[str, tuple[str, ...]]] = [
        (f"SELECT * FROM {{r}} WHERE n > {some} ORDER BY {every}", ()),
        (f"SELECT {first} AS k, SUM(n) AS n, COUNT(*) AS c FROM {{r}} GROUP BY k ORDER BY k", ("k",)),
        ("SELECT SUM(n) AS s, MAX(n) AS a, MIN(n) AS i, COUNT(*) AS c, AVG(n) AS m FROM {r}", ()),
        (f"SELECT *, n // 7 AS a, n * 1.5 AS b, n % 3 AS c, {total} + n AS e FROM {{r}} ORDER BY {every}", ()),
        (f"SELECT {every}, rank() OVER (ORDER BY n DESC) AS place, SUM(n) OVER (PARTITION BY {first}) AS s FROM {{r}} ORDER BY ALL", ()),
        (f"SELECT CASE WHEN n > {some} THEN 'many' ELSE 'few' END AS w, COUNT(*) AS c, SUM({total}) AS s FROM {{r}} GROUP BY w ORDER BY w",
         ("w",)),
        (f"SELECT {every}, n - lag(n) OVER (ORDER BY {every}) AS c FROM {{r}} ORDER BY {every}", ()),
        (f"SELECT DISTINCT n > {some} AS b, {first} AS k FROM {{r}} ORDER BY ALL", ("b", "k")),
        (f"SELECT *, n > (SELECT AVG(n) FROM {{r2}}) AS above FROM {{r}} ORDER BY {every}", ()),
        (f"SELECT {every}, n / NULLIF((SELECT SUM(n) FROM {{r2}}), 0) AS share FROM {{r}} ORDER BY {every}", ()),
        ("SELECT n, 1 AS w FROM {r} UNION ALL SELECT n, 2 FROM {r2} ORDER BY ALL", ("n", "w")),
        ("SELECT r.n AS a, r2.n AS b, r.n - r2.n AS c FROM {r} CROSS JOIN {r2} ORDER BY ALL", ()),
        (f"SELECT {first} AS k, median(n) AS m, list_sort(list(n)) AS l FROM {{r}} GROUP BY 1 ORDER BY 1", ("k",)),
        (f"SELECT {every}, dense_rank() OVER (ORDER BY n) AS place FROM {{r}} QUALIFY place <= 3 ORDER BY ALL", ()),
        (f"SELECT COUNT(DISTINCT n) AS c, COUNT(*) FILTER (WHERE n > {some}) AS f FROM {{r}}", ()),
        (f"SELECT {first} AS k, SUM(n) AS s FROM {{r}} GROUP BY ROLLUP (k) ORDER BY ALL", ()),
        ("SELECT n FROM {r} EXCEPT SELECT n FROM {r2} ORDER BY n", ("n",)),
        ("SELECT n FROM {r} INTERSECT SELECT n FROM {r2} ORDER BY n", ("n",)),
        (f"SELECT {every}, greatest(n, {some}) AS g, abs(n - {some}) AS a, round(n / 7, 2) AS q FROM {{r}} ORDER BY {every}", ()),
        ("SELECT n, COUNT(*) AS c FROM {r} GROUP BY n HAVING COUNT(*) >= 1 ORDER BY n DESC", ("n",)),
        ("SELECT s.city, s.size, r.n FROM {r} CROSS JOIN towns AS s ORDER BY ALL", ()),
    ]  # fmt: skip
    if one.keys:
        listed += [
            (f"SELECT * FROM {{r}} ORDER BY n DESC, {keys} LIMIT {rng.randint(1, 4)}", ("n", *one.keys)),
            (f"SELECT {keys}, n FROM {{r}} QUALIFY row_number() OVER (PARTITION BY {first} ORDER BY n DESC, {keys}) = 1 ORDER BY ALL", ()),
            (f"SELECT a.n AS a, b.n AS b FROM {{r}} AS a JOIN {{r}} AS b USING ({keys}) ORDER BY ALL".replace("{r} AS a", "(FROM {r}) AS a")
             .replace("{r} AS b", "(FROM {r}) AS b"), ()),
        ]  # fmt: skip
    return rng.choice(listed)


def per_unit(seed: int) -> Pair:
    """A random question over one row for each unit."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    test = grammar.private_test() if rng.random() < 0.3 else grammar.test(1) if rng.random() < 0.5 else ""
    own = f" FILTER (WHERE {grammar.test(1)})" if rng.random() < 0.4 else ""
    listed = {
        "c": "COUNT(*)", "i": f"SUM(clamp({grammar.integer(1)}, -9, 9)){own}", "f": f"SUM(x){own}", "m": "MAX(y)", "l": "MIN(x)",
        "a": f"AVG(x){own}", "o": f"COUNT(y){own}", "u": "COUNT(DISTINCT city)", "b": f"bool_or({grammar.test(1)})",
        "e": f"SUM(educ){own}", "w": f"COUNT_IF({grammar.test(1)})",
    }  # fmt: skip
    chosen = rng.sample(sorted(listed), rng.randint(1, 4))
    items = ", ".join(f"{listed[name]} AS {name}" for name in chosen)
    extra = rng.choice(["", "", "sex", "city"])
    where = f" WHERE {test}" if test else ""
    having = f" HAVING COUNT(*) > {rng.randint(1, 4)}" if rng.random() < 0.3 else ""
    inner = f"SELECT id{', ' + extra if extra else ''}, {items} FROM t{where} GROUP BY id{', ' + extra if extra else ''}{having}"
    outer = ["COUNT(*) AS n"]
    for name in chosen:
        if name == "b":
            outer += ["COUNT(*) FILTER (WHERE b) AS vb", "COUNT(b) AS kb"]
        else:
            outer += [f"AVG(clamp({name}, -200, 300)) AS v{name}", f"COUNT({name}) AS k{name}",
                      f"COUNT(*) FILTER (WHERE {name} > {rng.randint(-2, 6)}) AS g{name}"]  # fmt: skip
    sql = f"SELECT {', '.join(outer)} FROM ({inner}) AS p"
    return Pair(sql, sql)
