"""Requests that nobody would write: made from the description of the addresses, and statements that were mutated.

Whatever comes, no answer is a failure of the service, and no body and no line of its log holds a value of the data or
a path. A deep run sends 100,000 statements.
"""

from __future__ import annotations

import io
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.depth import examples
from tests.server.conftest import Running
from tests.server.hidden import SECRET, all_logged, see_nothing_private, serving_hidden
from tests.server.mutation import SEEDS, mutated

STATEMENTS = examples(300, 100_000)
ANALYSTS = ("ana", "ben", "cyd", "dan")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serving_hidden(tmp_path_factory.mktemp("service"), ANALYSTS)


@pytest.fixture(scope="module")
def log() -> Iterator[io.StringIO]:
    with all_logged() as said:
        yield said


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
