"""Requests that nobody would write: made from the description of the addresses, and statements that were mutated.

Whatever comes, no answer is a failure of the service, and no body and no line of its log holds a value of the data or
a path. A deep run sends 100,000 statements.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from pyarrow import parquet

from tests.depth import examples
from tests.server import conftest
from tests.server.conftest import Running, make_hospital, run

STATEMENTS = examples(300, 100_000)
SECRET = "zqsecret"
ANALYSTS = ("ana", "ben", "cyd", "dan")
SEEDS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT county, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY county ORDER BY n DESC LIMIT 2",
    "SELECT SUM(age) FILTER (WHERE age > 3) AS s FROM visits WHERE county IN ('A', 'B')",
    "SELECT county, MEDIAN(age) AS m, QUANTILE_CONT(age, 0.9) AS q FROM visits GROUP BY county",
    "WITH t AS (SELECT patient_id, COUNT(*) AS k FROM visits GROUP BY patient_id) SELECT AVG(LEAST(k, 3)) AS k FROM t",
    "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS g, COUNT(*) AS n FROM visits GROUP BY ALL",
    "SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE note LIKE 'zqsecret1%'",
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


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service over visits with a text in each that nobody may ever see."""
    folder = tmp_path_factory.mktemp("service")

    def with_notes(place: Path) -> Path:
        policy = make_hospital(place)
        table = parquet.read_table(place / "visits.parquet")
        notes = pa.array([f"{SECRET}{at}" for at in range(len(table))])
        parquet.write_table(table.append_column("note", notes), place / "visits.parquet")
        policy.write_text(policy.read_text().replace("epsilon = 50", "epsilon = 1000000"))
        return policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conftest, "make_hospital", with_notes)
        for one in run(folder):
            for name in ANALYSTS[2:]:
                one.person(name)
            for name in ANALYSTS:
                one.service.people.grant("test", name, "hospital", 100_000)
            yield one


@pytest.fixture(scope="module")
def log() -> Iterator[io.StringIO]:
    """Everything that any logger says."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    yield said
    logging.getLogger().removeHandler(handler)


def see_nothing_private(running: Running, text: str, *sent: str) -> None:
    """See that a text holds no path, and no value of the data that was not sent."""
    folder = str(Path(running.service.datasets["hospital"].session.ledger.where).parent.parent)
    assert folder not in text
    told = set(re.findall(rf"{SECRET}\d*", text)) - set(re.findall(rf"{SECRET}\d*", " ".join(sent)))
    assert not told
    assert "Traceback" not in text


# From the description -----------------------------------------------------------------------------------


def test_no_request_makes_the_service_fail(running: Running, log: io.StringIO) -> None:
    schema = schemathesis.openapi.from_url(f"{running.url}/api/v1/openapi.json")
    statuses = Counter[int]()
    operation: Any
    for operation in schema.get_all_operations():

        @given(case=operation.ok().as_strategy())
        @settings(max_examples=examples(2, 500), deadline=None, suppress_health_check=list(HealthCheck))
        def see(case: Any) -> None:
            for who in ("ana", "stella"):
                answer = case.call(headers={"Authorization": f"Bearer {running.tokens[who]}"})
                statuses[answer.status_code] += 1
                assert answer.status_code < 500, answer.text
                see_nothing_private(running, answer.text)
                if answer.status_code >= 400:
                    assert set(answer.json()) >= {"error", "cause", "fix", "charged"}

        see()
    see_nothing_private(running, log.getvalue())
    assert min(statuses[status] for status in (200, 403, 404, 422)) > 0, "requests reach every kind of answer"


# Mutated statements ---------------------------------------------------------------------------------------


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


def test_no_statement_makes_the_service_fail(
    running: Running, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    numbers, statuses = itertools.count(), Counter[int]()

    def ask(who: str) -> None:
        while (number := next(numbers)) < STATEMENTS:
            rng = random.Random(f"{seed} {number}")
            query, kind = mutated(rng), rng.choice(["query", "preview", "query", "explain"])
            if number < len(SEEDS):  # each is asked once unchanged
                query, kind = SEEDS[number], "query"
            answer = running.call(
                "POST", f"/api/v1/datasets/hospital/{kind}", who, {"query": query, "epsilon": "0.01"}
            )
            statuses[answer.status] += 1
            assert answer.status < 500, (seed, number, kind, query, answer.data)
            see_nothing_private(running, json.dumps(json.loads(answer.data)), query)

    with ThreadPoolExecutor(len(ANALYSTS)) as pool:
        list(pool.map(ask, ANALYSTS))
    see_nothing_private(running, log.getvalue())
    running.service.datasets["hospital"].session.ledger.verify()
    with capsys.disabled():
        print(f"\n{STATEMENTS} statements: {dict(statuses)}")
    assert min(statuses[200], statuses[422]) > STATEMENTS // 20, "the mutations are too wild or too tame"


def test_a_value_in_an_answer_is_found(running: Running) -> None:
    """The planted fault."""
    for wrong in (
        f"the value {SECRET}7",
        str(Path(running.service.datasets["hospital"].session.ledger.where)),
    ):
        with pytest.raises(AssertionError):
            see_nothing_private(running, wrong, f"{SECRET}71")
