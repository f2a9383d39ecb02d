"""The service, whose statements are evaluated elsewhere: huge ones, and an analyst who is answered meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from discreet.engines.isolated.workers import isolated
from tests.engines.isolated.memory import peak_of
from tests.server.conftest import COUNT, Answer, Running, run

HOSPITAL = "/api/v1/datasets/hospital"
FREE = "SELECT list_sum(range(300000000)) AS x"
BOUND = 250 << 20


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with isolated(memory=384, count=6, seconds=20):
        yield from run(tmp_path_factory.mktemp("service"))


def test_a_free_statement_cannot_take_the_memory_of_the_service(running: Running) -> None:
    running.call("POST", f"{HOSPITAL}/query", "ben", {"query": COUNT, "epsilon": "0.01"})
    found: list[Answer] = []

    def excess() -> None:
        found.extend(
            running.call("POST", f"{HOSPITAL}/{where}", "ana", {"query": FREE, "epsilon": "1"})
            for where in ("query", "preview", "explain")
        )

    def other() -> None:
        for _ in range(2):
            said = running.call("POST", f"{HOSPITAL}/preview", "ben", {"query": COUNT, "epsilon": "0.01"})
            assert said.status == 200

    asking = threading.Thread(target=other)
    asking.start()
    assert peak_of(excess, 2) < BOUND
    asking.join()
    assert len(found) == 6
    assert {one.status for one in found} == {422}
    assert all("Out of Memory" in one.json["cause"] and one.json["charged"] is None for one in found)
    assert running.call("GET", f"{HOSPITAL}/budget", "ana").json["spent"] == "0"


def test_what_was_paid_is_kept_where_its_evaluation_takes_too_much(running: Running) -> None:
    # Few enough for the invented counts, of 1 and of 1,000 rows, on which it is tried before the charge.
    many = "CASE WHEN n < 2 OR n BETWEEN 900 AND 1100 THEN 1 ELSE 300000000 END"
    huge = f"SELECT list_sum(range({many})) AS x FROM ({COUNT})"
    answer = running.call("POST", f"{HOSPITAL}/query", "ana", {"query": huge, "epsilon": "0.5"})
    assert (answer.status, answer.json["charged"]["epsilon"]) == (502, "0.5")
    again = running.call("POST", f"{HOSPITAL}/query", "ana", {"query": COUNT, "epsilon": "0.5"})
    assert (again.status, again.json["replayed"]) == (200, True)
    assert running.call("GET", f"{HOSPITAL}/budget", "ana").json["spent"] == "0.5"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM visits WHERE age IN (SELECT i FROM range(4000000) r(i))",
        "SELECT COUNT(*) AS n FROM visits WHERE list_contains((SELECT range(4000000)), age)",
        "SELECT g.i, COUNT(v.age) AS n FROM range(4000000) g(i) LEFT JOIN visits v ON v.age = g.i GROUP BY 1",
        "SELECT histogram(age, range(4000000)) AS h FROM visits",
    ],
)
def test_a_public_part_makes_few_values_only(running: Running, sql: str) -> None:
    said = running.call("POST", f"{HOSPITAL}/preview", "ana", {"query": sql, "epsilon": "0.1"})
    assert said.status == 422
    assert "values" in said.json["cause"]


@pytest.mark.parametrize(
    "sql", ["SELECT range(1000001) AS x", "SELECT " + ", ".join(f"i + {k} AS c{k}" for k in range(16)) +
            " FROM range(65000) r(i)"]
)  # fmt: skip
def test_an_answer_of_very_many_values_is_not_written(running: Running, sql: str) -> None:
    answer = running.call("POST", f"{HOSPITAL}/query", "ana", {"query": sql})
    assert (answer.status, answer.json["error"]) == (502, "PostProcessingError")
