"""Heavy modules, loaded on first use, and how many cores they take."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def loading() -> Iterator[None]:
    """Import without looking for garbage.

    Modules make hundreds of thousands of objects that live on. To look for garbage among them again and again takes
    an eighth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy compute on one core: threads with little to do wait for each other, for seconds on a busy machine."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def load(name: str) -> ModuleType:
    """Import a module by its name, as `loading` does."""
    with loading():
        return importlib.import_module(name)
