"""DuckDB keeps its pages in a process that serves: set before it is loaded, and understood by it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from discreet.server.running.kept_pages import VARIABLE, keep_pages

LOADED = """
import sys
import discreet.server.running.kept_pages as kept
kept.keep_pages = lambda: (print("duckdb" in sys.modules), sys.exit())
from discreet.cli import main
sys.argv = ["discreet", "serve", "--demo"]
main()
"""
FAULTS = """
import resource
import time
import duckdb
connection = duckdb.connect()
connection.execute("SET threads = 1")
most = []
for _ in range(16):
    time.sleep(0.05)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    connection.execute("SELECT a, count(*) FROM range(3000) AS t(a) GROUP BY a").fetchnumpy()
    most.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(sum(most[6:]))
"""


def run(code: str, **more: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **more}, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def test_a_setting_of_the_steward_stays() -> None:
    place = {VARIABLE: "dirty_decay_ms:0"}
    keep_pages(place)
    assert place == {VARIABLE: "dirty_decay_ms:0"}


def test_the_setting_comes_before_duckdb_is_loaded() -> None:
    assert run(LOADED) == "False"


@pytest.mark.skipif(sys.platform != "linux", reason="pages are counted as Linux does")
def test_duckdb_understands_it() -> None:
    """Without it, ten queries a twentieth of a second apart fault hundreds of pages in; with it, hardly any."""
    kept: dict[str, str] = {}
    keep_pages(kept)
    assert int(run(FAULTS, **kept)) * 4 < int(run(FAULTS, **{VARIABLE: "dirty_decay_ms:0,muzzy_decay_ms:0"}))
