"""Whether pictures are checked is one switch for all threads, which is as before once all of them have drawn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from altair.utils import schemapi

from discreet.plots.library import unchecked


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemapi, "DEBUG_MODE", True)  # whatever a thread of another test left


def _checked(within: Callable[[], AbstractContextManager[None]]) -> tuple[bool, bool]:
    """Whether pictures are checked in the second of two threads after the first is done, and after both are."""
    first_began, second_began, first_is_done = (threading.Event() for _ in range(3))
    seen: list[bool] = []

    def first() -> None:
        with within():
            first_began.set()
            assert second_began.wait(60)
        first_is_done.set()

    def second() -> None:
        assert first_began.wait(60)
        with within():
            second_began.set()
            assert first_is_done.wait(60)
            seen.append(schemapi.DEBUG_MODE)

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen[0], schemapi.DEBUG_MODE


def test_it_is_checked_again_after_threads_that_drew_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _checked(unchecked) == (False, True)
    monkeypatch.setattr(
        schemapi, "DEBUG_MODE", True
    )  # restored to what it is, whatever the planted fault leaves
    # Planted fault: each thread restores the switch that it found, so the second leaves it off for good.
    assert _checked(lambda: schemapi.debug_mode(False)) == (True, False)


def checked() -> bool:
    return schemapi.DEBUG_MODE


def test_it_is_as_before_where_one_is_within_another_and_where_drawing_fails() -> None:
    with pytest.raises(ZeroDivisionError), unchecked():  # noqa: PT012
        with unchecked():
            pass
        assert not checked()
        raise ZeroDivisionError
    assert checked()
    with schemapi.debug_mode(False):
        with unchecked():
            pass
        assert not checked()
    assert checked()


def test_a_moment_for_which_altair_turned_it_off_in_another_thread_is_not_kept() -> None:
    copying, drawing = schemapi.debug_mode(False), unchecked()
    copying.__enter__()
    drawing.__enter__()
    copying.__exit__(None, None, None)
    drawing.__exit__(None, None, None)
    assert checked()
