"""Workers: the same answers as in this process, and every excess ends a worker and nothing else."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from tests.depth import DEEP, examples
from tests.engines.isolated.memory import peak_of

from discreet.engines import sandbox
from discreet.engines.isolated import workers as module
from discreet.engines.isolated.workers import Workers, isolated
from discreet.engines.sandbox import Bounds, Sandbox, for_strangers, uncharged
from discreet.errors import PostProcessingError, QueryRefused, Unavailable
from discreet.server.desk import Caps, Desk

NOISY = {"noisy": pa.table({"n": [3, 4], "c": ["a", None], "x": [0.5, float("nan")]})}
HUGE = "SELECT list_sum(range(60000000)) AS x"


@pytest.fixture(scope="module")
def pool() -> Iterator[Workers]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "KEPT", 2)  # each takes a start of Python
        with isolated(memory=384, count=4, seconds=20) as found:
            yield found


def run(sql: str, timeout: float = 60.0) -> pa.Table:
    with Sandbox(NOISY) as box:
        return box.run(sql, timeout)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM noisy ORDER BY n DESC",
        "SELECT n / 0 AS a, n // 0 AS b, DATE '2024-02-29' AS c, TIMESTAMPTZ '2024-02-29 12:00+02' AS d FROM noisy",
        "SELECT [1, 2] AS a, {'x': 1} AS b, MAP {'k': 2} AS c, 1.5::DECIMAL(9, 2) AS d, 'ab'::BLOB AS e",
        "SELECT n FROM noisy WHERE n > 9",
    ],
)
def test_the_answer_is_the_same_elsewhere(pool: Workers, sql: str) -> None:
    there = run(sql)
    assert for_strangers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.engines.sandbox._evaluators", [])
        here = run(sql)
    assert there.schema.equals(here.schema)
    assert str(there.to_pylist()) == str(here.to_pylist())


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (HUGE, "Out of Memory"),
        ("SELECT i FROM range(20000000) r(i)", "larger than 64 MiB"),
        ("SELECT count(*) AS n FROM range(10000000000) a, range(100) b", r"more than 0\.3 seconds"),
        ("SELECT nothing FROM noisy", "nothing"),
    ],
)
def test_an_excess_is_an_error_and_the_next_statement_is_answered(pool: Workers, sql: str, said: str) -> None:
    with pytest.raises(PostProcessingError, match=said):
        run(sql, 0.3 if "10000000000" in sql else 10)
    assert run("SELECT n FROM noisy").num_rows == 2


def test_a_call_that_cannot_be_interrupted_is_killed(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.2)
    with pytest.raises(PostProcessingError, match=r"more than 0\.1 seconds"):
        run("SELECT length(lpad('x', 2000000000, 'y')) AS x", 0.1)
    assert run("SELECT n FROM noisy").num_rows == 2


def test_a_worker_that_was_killed_is_replaced(pool: Workers) -> None:
    for one in list(pool._free):
        one._process.kill()
        one._process.wait()
    assert run("SELECT n FROM noisy").num_rows == 2


def test_a_machine_that_gives_no_process_is_an_error_of_its_own(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*args: object, **more: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as full:
        full.setattr("subprocess.Popen", none)
        with pytest.raises(PostProcessingError, match="larger than 64 MiB"):  # its worker is not replaced
            run("SELECT i FROM range(20000000) r(i)", 10)
        for one in list(pool._free):
            one._process.kill()
            one._process.wait()
        with pytest.raises(Unavailable, match="no process"):
            run("SELECT n FROM noisy")
    assert run("SELECT n FROM noisy").num_rows == 2


def test_a_worker_that_dies_over_a_statement_is_an_error(pool: Workers) -> None:
    def kill() -> None:
        time.sleep(0.3)
        for child in _children():
            os.kill(child, 9)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(PostProcessingError, match="384 MiB"):
        run("SELECT count(*) AS n FROM range(10000000000) a, range(100) b", 10)
    thread.join()
    assert run("SELECT n FROM noisy").num_rows == 2


def test_a_worker_has_no_file_no_socket_and_no_secret(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "a secret")
    fresh = module._WorkerProcess(384)
    try:
        fresh.ask(NOISY, "SELECT 1 AS n", Bounds(20, 20), 384)
        place = Path(f"/proc/{fresh._process.pid}")
        limits = place.joinpath("limits").read_text()
        assert b"a secret" not in place.joinpath("environ").read_bytes()
        assert _limit(limits, "Max open files") == "0"
        assert _limit(limits, "Max file size") == "0"
        assert _limit(limits, "Max data size") == str(384 << 20)
    finally:
        fresh.end()


def test_more_than_there_are_workers_wait(pool: Workers) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(run("SELECT n FROM noisy").num_rows)) for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [2] * 8
    assert len(pool._free) <= 4


def test_a_burst_begins_no_process_that_an_earlier_one_had_begun(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were ended beyond those that are kept: under load, each second statement waited for the start of Python."""

    def burst() -> None:
        slow = "SELECT count(*) AS n FROM range(1000000) a, range(40) b WHERE a.range + b.range < 0"
        threads = [threading.Thread(target=run, args=(slow,)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    burst()
    kept = {one._process.pid for one in pool._free}
    begun: list[int] = []
    monkeypatch.setattr(module, "_begun", begun.append)
    for _ in range(examples(1, 3)):  # the second one began the processes that the first had lost
        burst()
    assert (len(kept), begun) == (4, [])
    assert {one._process.pid for one in pool._free} == kept


def test_whose_statement_it_is_decides_who_is_next(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    permits = pool._permits

    class Watched:
        def taken(self, caller: str, waiting: float) -> AbstractContextManager[bool]:
            seen.append(caller)
            return permits.taken(caller, waiting)

    monkeypatch.setattr(pool, "_permits", Watched())
    desk = Desk(Caps(slot=0), "tests")
    try:
        for name in ("ada", "ben"):
            asyncio.run(desk.do(name, lambda: run("SELECT n FROM noisy")))
    finally:
        desk.close()
    run("SELECT n FROM noisy")
    assert seen == ["ada", "ben", ""]


def test_nothing_is_left_when_the_pool_is_closed() -> None:
    before = _children()
    with isolated(memory=384, count=1):
        assert run("SELECT n FROM noisy").num_rows == 2
        assert _children() - before
    assert not _children() - before


def _limit(limits: str, name: str) -> str:
    (line,) = (line for line in limits.splitlines() if line.startswith(name))
    return line[len("Max open files           ") :].split()[0]


def _children() -> set[int]:
    return {int(one) for one in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


# The bound of this process.


def test_this_process_keeps_its_memory_and_the_check_sees_where_it_would_not(pool: Workers) -> None:
    """Planted: a much smaller statement in this process itself passes the bound."""

    def excess() -> None:
        with pytest.raises(PostProcessingError):
            run(HUGE)

    run("SELECT 1 AS n")
    assert peak_of(excess, 2 if DEEP else 1) < 150 << 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.engines.sandbox._evaluators", [])
        smaller = "SELECT list_sum(range(5000000)) AS x"  # a twelfth; it takes twice the bound
        assert peak_of(lambda: run(smaller), 1) > 150 << 20


@pytest.mark.parametrize("sql", [
    "WITH a AS (SELECT replace('xxxxxxxxxx', 'x', 'xxxxxxxxxx') AS s), b AS (SELECT replace(s, 'x', s) AS s FROM a), "
    "c AS (SELECT replace(s, 'x', s) AS s FROM b) SELECT length(s) AS n FROM c",
    "WITH a AS (SELECT string_agg(i, '') AS s FROM range(2000000) AS r(i)), b AS (SELECT s || i AS s FROM a, "
    "range(2000) AS r(i)) SELECT MAX(length(s)) AS n FROM b",
])  # fmt: skip
def test_long_texts_are_bounded_before_a_charge(pool: Workers, sql: str) -> None:
    """DuckDB's limit of memory counts neither of them; that of the process does."""
    with uncharged(), pytest.raises(PostProcessingError):
        run(sql)
    assert run("SELECT n FROM noisy").num_rows == 2


def test_only_the_evaluation_takes_of_the_time_before_a_charge(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others keep all processes busy for a minute, and each new one takes a minute to begin."""
    now, waits, begin, permits = [0.0], list[float](), module._WorkerProcess._begin, pool._permits

    class Busy:
        def taken(self, caller: str, waiting: float) -> AbstractContextManager[bool]:
            waits.append(waiting)
            now[0] += 60
            return permits.taken(caller, waiting)

    def slowly(worker: module._WorkerProcess) -> None:
        begin(worker)
        now[0] += 60

    monkeypatch.setattr(pool, "_permits", Busy())
    monkeypatch.setattr(module._WorkerProcess, "_begin", slowly)
    monkeypatch.setattr(sandbox, "monotonic", lambda: now[0])
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 8.0)
    with uncharged():
        for _ in range(3):
            assert run("SELECT n FROM noisy").num_rows == 2
    assert waits == [20.0] * 3, "and each waits as long as any other statement"


def test_each_evaluation_takes_of_it(pool: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "monotonic", count(step=4).__next__)
    with uncharged():
        for _ in range(3):
            assert run("SELECT n FROM noisy").num_rows == 2
        with pytest.raises(QueryRefused, match="before its charge"):
            run("SELECT n FROM noisy")


def test_a_process_that_does_not_begin_is_an_error_of_its_own(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        for one in list(pool._free):
            one._process.kill()
            one._process.wait()
        slow.setattr(module, "BEGINNING", 0.0)
        with pytest.raises(Unavailable, match="no process"):
            run("SELECT n FROM noisy")
    assert run("SELECT n FROM noisy").num_rows == 2


def test_so_many_rows_before_a_charge_are_bounded_there(
    pool: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth values take an eighth of a byte, so that the bytes of a result alone would let very many of them out."""
    many = "SELECT i > 3 AS b FROM range(300000) r(i)"
    monkeypatch.setattr(sandbox, "UNCHARGED_ROWS", 200_000)
    with uncharged(), pytest.raises(PostProcessingError, match="more than 200,000 rows"):
        run(many)
    assert run(many).num_rows == 300_000


def test_a_permit_is_that_of_who_asks() -> None:
    workers, callers = Workers(count=0), list[str]()

    @contextmanager
    def taken(caller: str, waiting: float) -> Iterator[bool]:
        callers.append(caller)
        yield False

    workers._permits.taken = taken  # type: ignore[method-assign]
    for name in ("ana", "ben"):
        with sandbox.asked_by(name), pytest.raises(PostProcessingError, match="too much to evaluate"):
            workers.run({}, "SELECT 1", Bounds(1, 1), nullcontext)
    assert callers == ["ana", "ben"]
    workers.close()
