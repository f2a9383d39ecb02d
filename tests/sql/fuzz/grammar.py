"""Random expressions over rows, conditions, groups and statements above releases, each a function of a seed.

A condition is made in two spellings. As it is asked, and as what it says of public values alone: there a test of
private columns is TRUE. A group is left by the first where it is left by plain DuckDB under the second, as every
combination of public values has rows; which rows count is a FILTER in plain DuckDB.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
NOTES = ("apple", "Bean", "corn", "x1", "12", "")


class Key(NamedTuple):
    """An expression whose groups are public.

    Attributes:
        sql: in SQL.
        null: whether NULL is one of its groups, as it decides something of every row; else rows without are dropped.
    """

    sql: str
    null: bool = False


KEYS = [
    *map(Key, (
        "educ", "sex", "city", "d", "month(d)", "educ % 2", "educ + 1", "upper(city)", "sex || city", "date_trunc('day', ts)",
        "CAST(educ AS VARCHAR)", "date_trunc('month', d)", "dayname(d)", "CAST(ts AS DATE)", "lower(sex)", "educ * 10 - 3",
        "CASE WHEN city IN ('A', 'B') THEN city ELSE 'other' END", "strftime(d, '%Y-%m')", "d + INTERVAL 1 DAY",
        "CASE WHEN z > 0 THEN 'up' ELSE 'down' END", "isodow(d)", "coalesce(sex, 'none')",
        "if(note = 'corn', note, 'rest')", "regexp_replace(city, '[AB]', 'x')",
    )),
    *(Key(sql, True) for sql in (
        "CASE WHEN educ < 2 THEN 'low' ELSE sex END", "educ > 1", "flag", "CASE WHEN sex = 'M' THEN 1 END", "NULLIF(city, 'A')",
        "sex = 'M'", "CASE WHEN flag THEN educ END",
    )),
]  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition, and what it says of public values; both where it holds and where its opposite does."""

    asked: str
    public: str
    not_public: str


class Grammar:
    """Draws from a generator of its own.

    Attributes:
        rng: the generator.
        numbers: private columns and others that are numbers.
        texts: those that are texts.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.whole = ["y", "educ"]
        self.numbers = ["x", "z", "y", "educ"]
        self.texts = ["note", "sex", "city"]

    def one(self, *items: str) -> str:
        """One of some items."""
        return self.rng.choice(items)

    def integer(self, depth: int) -> str:
        """A whole number."""
        if depth <= 0 or self.rng.random() < 0.25:
            return self.rng.choice([*self.whole, *self.whole, str(self.rng.randint(-3, 9))])
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        match self.rng.randrange(15):
            case 0 | 1:
                return f"({a} {self.one('+', '-', '*')} {b})"
            case 13:
                return self.one("len(tags)", "home.at.n", "(home).at.n", "CAST((doc ->> '$.n') AS BIGINT)", "len(tags[2:3])",
                                "len(string_split(note, 'p'))", "len(list_distinct(tags))")  # fmt: skip
            case 2:
                return f"({a} // NULLIF({b}, 0))"
            case 3:
                return f"({a} % NULLIF({b}, 0))"
            case 4:
                return f"{self.one('abs', 'sign')}({a})"
            case 5:
                return f"{self.one('least', 'greatest')}({a}, {b})"
            case 6:
                return f"coalesce({a}, {b})"
            case 7:
                return f"CASE WHEN {self.test(depth - 1)} THEN {a} ELSE {b} END"
            case 8:
                return f"length({self.text(depth - 1)})"
            case 9:
                return (
                    f"CAST({self.one('floor', 'ceil', 'round', 'trunc')}({self.number(depth - 1)}) AS BIGINT)"
                )
            case 10:
                return self.one("month(d)", "day(d)", "isodow(d)", "date_diff('day', DATE '2024-02-01', d)", "hour(ts)",
                                "dayofyear(d)", "quarter(d)", "(d - DATE '2024-02-20')", "date_diff('month', DATE '2023-12-31', d)")  # fmt: skip
            case 11:
                return f"NULLIF({a}, {b})"
            case 12:
                return f"CASE WHEN {self.test(depth - 1)} THEN {a} END"
            case _:
                return f"clamp({a}, -4, 11)"

    def number(self, depth: int) -> str:
        """A number."""
        if depth <= 0 or self.rng.random() < 0.25:
            return self.rng.choice(
                [*self.numbers, str(self.rng.randint(-3, 9)), f"{self.rng.randint(-9, 9)}.5"]
            )
        a, b = self.number(depth - 1), self.number(depth - 1)
        match self.rng.randrange(10):
            case 0 | 1:
                return f"({a} {self.one('+', '-', '*')} {b})"
            case 2:
                return f"({a} / NULLIF({b}, 0))"
            case 3:
                return f"abs({a})"
            case 4:
                return f"{self.one('least', 'greatest')}({a}, {b})"
            case 5:
                return f"coalesce({a}, {b})"
            case 6:
                return f"CASE WHEN {self.test(depth - 1)} THEN {a} ELSE {b} END"
            case 7:
                return f"sqrt(abs({a}))"
            case 8:
                return self.integer(depth - 1)
            case _:
                return f"clamp({a}, -8, 30)"

    def text(self, depth: int) -> str:
        """A text."""
        if depth <= 0 or self.rng.random() < 0.4:
            return self.rng.choice([*self.texts, f"'{self.one(*NOTES)}'"])
        a, b = self.text(depth - 1), self.text(depth - 1)
        match self.rng.randrange(10):
            case 8:
                return self.one(
                    "tags[1]", "home.town", "home['town']", "(doc ->> '$.w[0]')", "(doc ->> 'n')", "tags[2]"
                )
            case 0:
                return f"{self.one('upper', 'lower', 'reverse', 'trim')}({a})"
            case 1:
                return f"({a} || {b})"
            case 2:
                return f"left({a}, {self.rng.randint(0, 3)})"
            case 3:
                return f"substring({a}, {self.rng.randint(1, 3)}, {self.rng.randint(0, 3)})"
            case 4:
                return f"replace({a}, '{self.one('p', 'a', 'x')}', 'o')"
            case 5:
                return f"coalesce({a}, 'none')"
            case 6:
                return f"CASE WHEN {self.test(depth - 1)} THEN {a} ELSE {b} END"
            case 7:
                return f"CAST({self.integer(depth - 1)} AS VARCHAR)"
            case _:
                return f"concat({a}, '-', {b})"

    def test(self, depth: int) -> str:
        """A condition in one spelling: for CASE, FILTER and the like."""
        match self.rng.randrange(14):
            case 13:
                return self.one("list_contains(tags, note)", "note = ANY(tags)", "list_has_any(tags, ['x1', 'zz'])",
                                "list_has_all(tags, ['apple'])", "home.at.n IS NULL", "(doc ->> '$.w[1]') IS NULL",
                                "tags IS NULL", "list_contains([educ, y], 2)")  # fmt: skip
            case 0 | 1:
                return f"{self.number(depth)} {self.one(*OPERATORS)} {self.number(depth - 1)}"
            case 2:
                return f"{self.integer(depth)} {self.one(*OPERATORS)} {self.rng.randint(-4, 9)}"
            case 3:
                return f"{self.text(depth)} {self.one(*OPERATORS)} '{self.one(*NOTES, 'M', 'B')}'"
            case 4:
                return f"{self.integer(depth)} {self.one('', 'NOT ')}IN ({self.rng.randint(-2, 3)}, 2, {self.rng.randint(1, 9)})"
            case 5:
                return f"{self.number(depth)} {self.one('', 'NOT ')}BETWEEN {self.rng.randint(-9, 3)} AND {self.rng.randint(0, 30)}"
            case 6:
                return f"{self.text(depth)} {self.one('LIKE', 'NOT LIKE', 'ILIKE')} '{self.one('a%', '%n', '_e%', '%', 'X1')}'"
            case 7:
                return (
                    f"{self.one(self.number(depth), self.text(depth), 'flag')} IS {self.one('', 'NOT ')}NULL"
                )
            case 8:
                return self.one(
                    "flag", "NOT flag", "flag IS TRUE", "flag IS DISTINCT FROM TRUE", "flag IS NOT FALSE"
                )
            case 9:
                return f"{self.one('starts_with', 'ends_with', 'contains')}({self.text(depth)}, '{self.one('a', 'n', '')}')"
            case 10:
                return f"regexp_matches({self.text(depth)}, '{self.one('^a', 'n$', '[0-9]+', 'e|r')}')"
            case 11:
                return f"{self.text(depth)} IS {self.one('', 'NOT ')}DISTINCT FROM '{self.one(*NOTES)}'"
            case _ if depth > 0:
                a, b = self.test(depth - 1), self.test(depth - 1)
                return self.one(f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})")
            case _:
                return "note IS NOT NULL"

    def public_test(self) -> str:
        """A condition on public columns alone."""
        c, i = self.one(*OPERATORS), self.rng.randint(0, 4)
        return self.one(
            f"educ {c} {i}", f"educ IN ({i}, 2)", f"{i} {c} educ", f"sex {self.one('=', '<>')} '{self.one('M', 'F')}'",
            f"city {c} '{self.one('A', 'B', 'C')}'", f"city LIKE '{self.one('A', 'B', '_', 'x')}%'",
            f"d {c} DATE '2024-0{self.one('2-28', '2-29', '3-01')}'", f"month(d) {c} {self.one('2', '3')}",
            f"educ % 2 {c} 1", f"ts {self.one('<', '>=')} TIMESTAMP '2024-02-29 00:00:00'", f"educ BETWEEN {i} AND 2",
            f"date_trunc('day', ts) {c} TIMESTAMP '2024-02-29 00:00:00'", f"length(city) {c} {i}",
            f"CASE WHEN sex = 'M' THEN educ ELSE 0 END {c} {i}", f"(sex || city) {c} 'FB'", f"isodow(d) {c} 4",
            "city IN (SELECT city FROM towns WHERE size > 1)", "educ > (SELECT MIN(size) FROM towns)", "flag IS NULL",
            f"flag = {self.one('TRUE', 'FALSE')}",
        )  # fmt: skip

    def private_test(self) -> str:
        """A condition whose outcome no public value decides, and that lists no value of a private column.

        What lists the values of one makes them public, and other conditions on it may then rule out all of them.
        """
        c, i = self.one(*OPERATORS), self.rng.randint(-9, 9)
        return self.one(
            f"y {self.one('<', '>=', '<>')} {i}", f"z {self.one('<', '>=')} {i}", f"note {self.one('<>', '>')} '{self.one(*NOTES)}'", f"y + educ {c} {i}",
            f"note LIKE '{self.one('a', 'B', '_')}%'", f"z * 2 {c} y", f"y % 7 IN ({i}, 1, 2)", f"y % 2 {c} 0", "y IS NOT NULL",
            f"length(note) {c} 3", f"CASE WHEN sex = 'M' THEN y ELSE 1 END {c} {i}", f"note || sex {c} 'cornM'", f"abs(z) {c} 20",
            "id IN (SELECT id FROM s WHERE p > 4)", "id NOT IN (SELECT id FROM s WHERE p > 4)", f"z BETWEEN {i} AND 40",
            f"y {c} (SELECT AVG(x) + 0.37 FROM t AS o)", "(y < 3 OR id IN (SELECT id FROM s WHERE p > 4))",
            f"y {c} (SELECT SUM(o.p) FROM s AS o WHERE o.id = t.id)",
            "(y > 0) = EXISTS (SELECT 1 FROM s AS o WHERE o.id = t.id AND o.p = t.educ)",
        )  # fmt: skip

    def condition(self, depth: int) -> Condition:
        """A condition of both kinds of columns."""
        if depth == 0 or self.rng.random() < 0.3:
            if self.rng.random() < 0.5:
                test = self.public_test()
                return Condition(test, f"({test})", f"(NOT ({test}))")
            return Condition(self.private_test(), "TRUE", "TRUE")
        if self.rng.random() < 0.2:
            inner = self.condition(depth - 1)
            return Condition(f"NOT ({inner.asked})", inner.not_public, inner.public)
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        if self.rng.random() < 0.6:
            return Condition(
                f"({a.asked} AND {b.asked})",
                f"({a.public} AND {b.public})",
                f"({a.not_public} OR {b.not_public})",
            )
        return Condition(
            f"({a.asked} OR {b.asked})", f"({a.public} OR {b.public})", f"({a.not_public} AND {b.not_public})"
        )

    def keys(self, most: int) -> list[Key]:
        """Expressions whose groups are public."""
        return self.rng.sample(KEYS, self.rng.randint(0, most))

    def aggregate(self, grouped: bool) -> tuple[str, str, bool]:
        """An aggregate function, its FILTER, and whether it is a sum, which is 0 of nothing."""
        condition = self.test(1) if self.rng.random() < 0.25 else ""
        pick = self.rng.randrange(13)
        if pick == 0:
            return f"COUNT({self.one(self.number(1), self.text(1), 'note', 'y')})", condition, False
        if pick == 1:
            return f"COUNT_IF({self.test(2)})", "", True  # of nothing it is 0, as a sum is
        if pick in (2, 3):
            return f"SUM(clamp({self.integer(2)}, -30, 40))", condition, True
        if pick == 4:
            return f"SUM(clamp({self.number(2)}, -30, 40))", condition, True
        if pick == 5:
            return f"AVG(clamp({self.number(2)}, -30, 40))", condition, False
        if pick == 6:
            return f"SUM({self.one('x', 'educ', 'x * educ', 'x + 1')})", condition, True
        if pick == 7:
            return f"AVG({self.one('x', 'educ', '2 * x')})", condition, False
        if pick == 8:
            return (
                f"COUNT(DISTINCT {self.one('note', 'city', 'y', 'id', 'educ', 'sex || city')})",
                condition,
                False,
            )
        if pick == 9:
            return f"SUM(CASE WHEN {self.test(1)} THEN 1 ELSE 0 END)", "", True
        if pick == 10:
            return f"AVG(CASE WHEN {self.test(1)} THEN 1.0 ELSE 0.0 END)", condition, False
        if pick == 11 and not grouped:
            return self.one("VAR_POP(x)", "STDDEV_POP(x)", "COVAR_POP(x, educ)", "VAR_SAMP(x)"), "", False
        return "COUNT(*)", condition, False
