"""Work at a desk: its slots, its caps, and the time after which a caller is told."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from discreet.engines import sandbox
from discreet.errors import Busy
from discreet.server.desk import Caps, Desk, TooLong, slot_after


class Recorded(list[float]):
    """Stands for `asyncio.sleep`, and notes how long."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    noted = Recorded()
    monkeypatch.setattr("discreet.server.desk.asyncio.sleep", noted)
    return noted


def test_success_and_failure_wait_for_the_same_slot(slept: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.desk.monotonic", lambda: 7.0)  # neither takes any time
    desk = Desk(Caps(slot=1000.0), "test")

    def fails() -> int:
        raise ValueError("a value")

    assert asyncio.run(desk.do("ana", lambda: 7)) == 7
    with pytest.raises(ValueError, match="a value"):
        asyncio.run(desk.do("ana", fails))
    assert slept == [1000.0, 1000.0]
    desk.close()


def test_slots_are_powers_of_two_of_the_base() -> None:
    seen = {slot_after(at / 100, 0.25) for at in range(1, 6400)}
    assert seen == {0.25 * 2**k for k in range(9)}


def test_without_a_base_nothing_waits(slept: Recorded) -> None:
    desk = Desk(Caps(slot=0), "test")
    assert asyncio.run(desk.do("ana", lambda: 7)) == 7
    assert slept == []
    desk.close()


def test_a_sandbox_knows_for_whom_it_evaluates() -> None:
    """Else all callers would be one, and one who asks much would keep the others waiting."""
    desk = Desk(Caps(slot=0), "test")
    assert [asyncio.run(desk.do(name, sandbox.caller)) for name in ("ana", "ben")] == ["ana", "ben"]
    assert sandbox.caller() == ""
    desk.close()


def test_work_that_is_done_is_garbage_to_nobody() -> None:
    """Each answer stayed until Python looked for rings of objects: its work and the future of its thread kept it."""
    desk = Desk(Caps(slot=0), "test")
    gone: list[weakref.ref[object]] = []

    class Answer:
        pass

    async def main() -> None:
        for _ in range(20):
            answer = await desk.do("ana", Answer)
            gone.append(weakref.ref(answer))
            del answer
        await asyncio.sleep(0)

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
        desk.close()
        assert sum(one() is None for one in gone) >= 18
    finally:
        gc.enable()


def test_a_caller_has_so_many_at_once_and_gets_them_back() -> None:
    desk = Desk(Caps(workers=8, each=2, slot=0), "test")
    go = threading.Event()

    async def main() -> None:
        first = [asyncio.create_task(desk.do("ana", go.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="2 requests"):
            await desk.do("ana", go.wait)
        other = asyncio.create_task(desk.do("ben", go.wait))
        await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(*first, other) == [True] * 3
        assert await desk.do("ana", go.wait)

    asyncio.run(main())
    desk.close()


def test_all_callers_together_have_so_many() -> None:
    desk = Desk(Caps(workers=1, waiting=1, each=9, slot=0), "test")
    go = threading.Event()

    async def main() -> None:
        first = [asyncio.create_task(desk.do(name, go.wait)) for name in ("ana", "ben")]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="too much"):
            await desk.do("cyd", go.wait)
        go.set()
        await asyncio.gather(*first)

    asyncio.run(main())
    desk.close()


def test_work_that_takes_too_long_goes_on_and_still_counts() -> None:
    desk = Desk(Caps(timeout=0.01, each=1, slot=0), "test")
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    async def main() -> None:
        with pytest.raises(TooLong):
            await desk.do("ana", work)
        with pytest.raises(Busy):
            await desk.do("ana", work)

    asyncio.run(main())
    assert not done.is_set()
    go.set()
    desk.close()
    assert done.is_set()


def test_the_log_says_nothing_of_work_whose_caller_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    desk, go_on = Desk(Caps(slot=0.0), "test"), threading.Event()

    def fails() -> int:
        go_on.wait(60)
        raise ValueError("a question of somebody who left")

    async def leave() -> None:
        asked = asyncio.ensure_future(desk.do("ana", fails))
        await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        go_on.set()
        while desk.at_work():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        gc.collect()  # a future that nobody looked at tells the log as it goes

    asyncio.run(leave())
    desk.close()
    assert caplog.text == ""


def test_work_counts_until_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("discreet.server.desk.monotonic", lambda: now)
    desk = Desk(Caps(timeout=0.001, each=1, slot=8.0), "test")
    done, go = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(20)
        done.set()

    async def main() -> None:
        nonlocal now
        with pytest.raises(TooLong):
            await desk.do("ana", work, "a question")
        now += 9
        go.set()
        done.wait(20)
        desk.close()  # its work is done, and its slot is at 16 seconds
        assert desk.at_work() == ["a question"]
        with pytest.raises(Busy, match="1 request"):
            await desk.do("ana", lambda: 7)
        now += 7
        assert desk.at_work() == []

    asyncio.run(main())


def test_a_time_that_cannot_be_told_keeps_nobody_waiting(
    slept: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.server.desk.monotonic", lambda: 7.0)
    desk = Desk(Caps(slot=0.25), "test")

    def broken() -> float:
        raise KeyError

    assert asyncio.run(desk.do("ana", lambda: 7, took=broken)) == 7
    assert slept == [0.25]
    desk.close()


@pytest.mark.parametrize(("took", "ended", "slot"), [
    (None, 0.24, 0.25), (None, 0.26, 0.5), (0.1, 0.11, 0.25), (0.2, 0.24, 0.5), (0.4, 0.49, 0.5), (0.4, 0.51, 1.0),
    (3600.0, 0.1, 0.25),
])  # fmt: skip
def test_an_answer_that_was_kept_has_the_slot_of_that_moment(
    slept: Recorded, monkeypatch: pytest.MonkeyPatch, took: float | None, ended: float, slot: float
) -> None:
    """Other processes give it from then on, with the same room to write it; a clock that was set counts for nothing."""
    now = 0.0
    monkeypatch.setattr("discreet.server.desk.monotonic", lambda: now)
    desk = Desk(Caps(slot=0.25), "test")

    def work() -> None:
        nonlocal now
        now = ended

    asyncio.run(desk.do("ana", work, took=lambda: took))
    (waited,) = slept
    assert waited == pytest.approx(slot - ended)
    desk.close()


def test_work_that_no_thread_has_begun_in_time_is_taken_back() -> None:
    """Its caller is told that nothing was charged, and it must not be charged later."""
    desk = Desk(Caps(workers=1, each=9, timeout=0.05, slot=0), "test")
    go, done = threading.Event(), list[int]()

    async def main() -> None:
        first = asyncio.create_task(desk.do("ana", go.wait))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="not begun"):
            await desk.do("ben", lambda: done.append(1))
        with pytest.raises(TooLong):
            await first
        go.set()

    asyncio.run(main())
    desk.close()
    assert not done
