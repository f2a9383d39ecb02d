"""Statements that nobody would write: those of analysts, changed in a few places."""

from __future__ import annotations

import random
import re

from tests.server.hidden import SECRET

SEEDS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT county, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY county ORDER BY n DESC LIMIT 2",
    "SELECT SUM(age) FILTER (WHERE age > 3) AS s FROM visits WHERE county IN ('A', 'B')",
    "SELECT county, MEDIAN(age) AS m, QUANTILE_CONT(age, 0.9) AS q FROM visits GROUP BY county",
    "WITH t AS (SELECT patient_id, COUNT(*) AS k FROM visits GROUP BY patient_id) SELECT AVG(LEAST(k, 3)) AS k FROM t",
    "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS g, COUNT(*) AS n FROM visits GROUP BY ALL",
    f"SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE note LIKE '{SECRET}1%'",
    "SELECT note, COUNT(*) AS n FROM visits GROUP BY note",
    "SELECT VAR_SAMP(age) / NULLIF(COUNT(*), 0) AS v FROM visits v JOIN (SELECT 1 AS one) o ON true",
    "SELECT n, n > 5 FROM (SELECT COUNT(*) AS n FROM visits) HAVING n > 0",
    "SELECT MAX(age) - MIN(age) AS r FROM visits WHERE CAST(note AS INTEGER) = 1 / 0",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT EXTRACT(YEAR FROM TIMESTAMP '2020-01-01') AS y, COUNT(*) FROM visits",
)
_WORDS = """
    NULL - ( ) , ' " '' -- /* */ ; %s {} $1 ? 1e400 9223372036854775808 0x 1/0 NaN 'infinity'::DOUBLE UNION EXCEPT
    DISTINCT EXISTS SELECT HAVING note age patient_id "note" error('x') pragma_table_info('visits') COPY INSTALL SET ::
    [1] LATERAL PIVOT QUALIFY repeat('(',10000) current_user getenv('HOME') x->x
"""
SPARE = (
    *_WORDS.split(), "\0", "\u202e", "é", "OVER ()", "UNION ALL", "FROM visits", "GROUP BY 1", "ORDER BY", "LIMIT -1",
    "CAST(note AS DATE)", "ATTACH '/tmp/x'", "{'a': 1}", "TABLESAMPLE 1%",
)  # fmt: skip
TOKEN = re.compile(r"\w+|\s+|'[^']*'|.", re.DOTALL)


def mutated(rng: random.Random) -> str:
    """A statement that was changed in up to four places."""
    tokens = TOKEN.findall(rng.choice(SEEDS))
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(tokens) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            del tokens[at : at + rng.randint(1, 3)]
        elif kind == 1:
            tokens[at:at] = [" ", rng.choice(SPARE), " "]
        elif kind == 2:
            tokens[at:at] = tokens[at : at + 4] * rng.randint(1, 3)
        elif kind == 3:
            tokens[at : at + 1] = [rng.choice(SPARE)]
        elif kind == 4:
            other = TOKEN.findall(rng.choice(SEEDS))
            tokens[at:] = other[rng.randrange(len(other)) :]
        elif tokens:
            word = tokens[at % len(tokens)]
            tokens[at % len(tokens)] = word[: len(word) // 2] + chr(rng.choice([7, 34, 39, 92, 233, 0x1F600]))
    return "".join(tokens)[:5000] or " "
