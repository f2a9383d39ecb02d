"""Heavy modules, loaded on first use, and how many cores they take."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def loading() -> Iterator[None]:
    """Import without looking for garbage.

    Modules make hundreds of thousands of objects that live on. To look for garbage among them again and again takes
    an eighth of the time, and to look once for each generation when the collector is back another twelfth. So they
    go to the oldest generation at once; but only if some were loaded, for garbage that went there with every session
    that is opened would not be looked for again.
    """
    collecting, known = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            loaded = len(sys.modules) > known
            if loaded and not gc.get_freeze_count():  # objects that somebody froze stay frozen
                gc.freeze()
                gc.unfreeze()
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


def lazy_names(
    package: str, names: Mapping[str, str], shown: Iterable[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package whose names load their modules on first use.

    Args:
        package: its name.
        names: for each module of it, the names that it has, with blanks between them.
        shown: the names that `dir` shows, whether they are loaded or not.
    """
    module_of = {name: module for module, own in names.items() for name in own.split()}

    def found(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(load(f"{package}.{module_of[name]}"), name)

    def listed() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *shown})

    return found, listed
