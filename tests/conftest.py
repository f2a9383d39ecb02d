"""Which tests share a process, those that need Spark all, those of one file mostly; and which begin first."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import linecache
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from hypothesis.internal.constants_ast import constants_from_module

from tests import warm
from tests.depth import DEEP, examples
from tests.scripts_of_pages import make_once

if TYPE_CHECKING:
    from xdist.scheduler.protocol import Scheduling

# A busy machine is no fault. A deep run has five times as many examples of each property that does not say how many.
settings.register_profile("untimed", max_examples=examples(20, 100), deadline=None)
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell began the run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = frozenset({
    "tests/sql/test_sensitivity.py", "tests/sql/test_matrix.py", "tests/sql/test_equal_pairs.py",
    "tests/sql/test_totality.py", "tests/sql/measures/test_quantile_tree.py", "tests/session/test_session.py",
    "tests/test_docs.py", "tests/sql/physical/test_physical_types.py", "tests/sql/conformance/test_conformance.py",
    "tests/sql/lower/test_contribution_bounding.py", "tests/cli/test_streams.py",
})  # fmt: skip
"""Files whose tests are dealt out one by one, as all of one together would keep one process busy to the end."""

SLOW = (
    "spark", "tests/test_docs.py", "tests/test_readme.py", "tests/ledger/test_crash.py",
    "tests/cli/terminal/test_standard_streams.py", "tests/benchmarks/test_corpus.py", "tests/server/test_shared.py",
    "tests/server/test_memory.py", "tests/server/test_fuzz.py", "tests/streams/test_kills.py",
    "tests/pgwire/test_conversation.py", "tests/ledger/test_race.py", "tests/cli/test_process.py",
)  # fmt: skip
"""Groups and files of few tests that take long: they begin first, so that none is alone at the end."""


def order(name: str, tests: int) -> tuple[bool, int]:
    """The place of a group: the slow ones first, the single tests of long files next, then the largest."""
    file = name.partition("::")[0]
    return file not in SLOW, -1_000_000 if file in LONG else -tests


def group(name: str) -> str:
    """The group of a test, which runs in one process.

    A Java takes seconds to start and warms up for a minute, so there is one: a test that needs Spark says so in its
    name, as `servers.spark` sees. Tests of a file share fixtures and tables that are made once for a process.
    """
    if "spark" in name.lower():
        return "spark"
    file, _, test = name.partition("::")
    return f"{file}::{test}" if file in LONG else file


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without collecting garbage: all that is made stays, and would be walked over again and again."""
    gc.disable()
    try:
        _load_modules(session)
        return (yield)
    finally:
        gc.enable()


def _load_modules(session: pytest.Session) -> None:
    """Load the modules of the tests, each process from another one on.

    In a new checkout each is compiled by the first that loads it. Processes that begin at the same one compile all
    of them at the same time; so each compiles a part and finds the rest compiled.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return  # a few tests, or one process
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:]:
        name = file.relative_to(Path(__file__).parents[1]).with_suffix("").parts
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collection tells of them
            importlib.import_module(".".join(name))


class _Examples:
    """Looks for examples in the docstrings of modules that have some; tests have none."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        tests = Path(__file__).parent
        return [
            one
            for one in (yield)
            if not isinstance(one, DoctestModule)
            or (tests not in one.path.parents and b">>>" in one.path.read_bytes())
        ]


def pytest_configure(config: pytest.Config) -> None:
    """Look for examples by a plugin, as a hook of this file itself sees the files beside it only.

    Where processes share a run of all tests, they share one warm process, too, which this one begins for them.
    """
    config.pluginmanager.register(_Examples())
    if getattr(config.option, "numprocesses", None) and config.args == config.getini("testpaths"):
        warm.share()


def _look_for_constants(config: pytest.Config) -> None:
    """Look for the constants of our modules, from which Hypothesis draws, each process from another module on.

    In a new checkout that reads the sources of all of them, and is kept in a file for each.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    ours = sorted(name for name in sys.modules if name.startswith("discreet."))
    first = len(ours) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in ours[first:]:
        constants_from_module(sys.modules[name])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker tell less of tests that pass: that each began, was set up and is done, which nobody reads.

    A message takes as long as the shortest tests: the pickling, and two processes that wake up.
    """
    option = session.config.option
    if option.verbose > 0 or option.durations or option.xmlpath:
        return  # whose readers want all
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = partial(_send, plugin.sendevent)


def _send(send: Callable[..., None], name: str, **said: Any) -> None:
    about = said.get("data", {})
    beside = name == "testreport" and about["when"] != "call" and about["outcome"] == "passed"
    if name not in ("logstart", "logfinish") and not (beside and not about["sections"]):
        send(name, **said)


_STATE = tempfile.TemporaryDirectory(prefix="discreet-state-", ignore_cleanup_errors=True)
_TURNS = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Give each test a folder for the ledgers of databases: tests share a server, and no test another's losses."""
    os.environ["XDG_STATE_HOME"] = str(Path(_STATE.name) / str(next(_TURNS)))


def pytest_sessionfinish() -> None:
    """Remove these folders here, as a worker ends without tidying up."""
    _STATE.cleanup()


@pytest.fixture(scope="session", autouse=True)
def _scripts_of_pages(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One folder for all processes of the run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "scripts"
    folder.mkdir(exist_ok=True)
    make_once(folder)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are marked as deep, unless the run is."""
    _look_for_constants(config)
    if DEEP:
        return
    left = [item for item in items if item.get_closest_marker("deep")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


def pytest_collection_finish() -> None:
    """Let the garbage collector walk no more over what stays to the end: thousands of tests and all modules.

    Walks over the garbage of the tests are few: they took a twentieth of the time, and most of what they looked at was
    no garbage. What collection itself left stays, too: to look for it took most of a second of each process. The
    lines of all modules, which the search for examples has read, are forgotten: each example looked first whether one
    of these files had changed.
    """
    linecache.clearcache()
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 100)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Deal out groups, the slow and the largest first, unless the command line asks for another way."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            if not self.assigned_work.get(node):  # the first of a worker, before which all groups are known
                ordered = sorted(self.workqueue.items(), key=lambda one: order(one[0], len(one[1])))
                self.workqueue.clear()
                self.workqueue.update(ordered)
            super()._assign_work_unit(node)

    return Groups(config, log)
