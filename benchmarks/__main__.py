"""`make bench`: run every benchmark, print one table, save it; exit 1 when a target is missed."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.line import Line

MODULES = (
    "noise",
    "query",
    "keys",
    "planning",
    "cells",
    "coverage",
    "selection",
    "quantiles",
    "workloads",
    "memory",
    "accounting",
    "load",
    "service",
)
RESULTS = Path(__file__).parent / "results"


def main(chosen: list[str]) -> int:
    """Run the modules named, or all of them."""
    console = Console()
    found: list[Line] = []
    for name in chosen or MODULES:
        lines: Iterable[Line] = importlib.import_module(f"benchmarks.{name}").lines()
        with console.status("") as status:
            for line in lines:
                found.append(line)
                status.update(f"{name}: {len(found)} lines, last: {line.name}")
    console.print(table(found))
    save(found)
    missed = [line for line in found if not line.ok]
    console.print(f"{len(missed)} targets missed." if missed else "Every target met.")
    return 1 if missed else 0


def table(lines: Iterable[Line]) -> Table:
    """The lines as people read them."""
    shown = Table(title="discreet benchmarks")
    for heading in ("what", "ours", "reference", "theirs", "ratio", "target", ""):
        shown.add_column(heading, justify="right" if heading in ("ours", "theirs", "ratio") else "left")
    for line in lines:
        compared = line.reference > 0
        shown.add_row(
            line.name,
            said(line.ours, line.unit),
            line.reference_name if compared else "",
            said(line.reference, line.unit) if compared else "",
            f"{line.ratio:.3g}" if compared else "",
            line.target,
            "" if not line.target else "ok" if line.ok else "MISSED",
        )
    return shown


def said(value: float, unit: str) -> str:
    """A measurement with its unit."""
    return seconds(value) if unit == "s" else f"{value:.3g} {unit}"


def seconds(value: float) -> str:
    """Seconds in the unit that reads best."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"


def save(lines: Iterable[Line]) -> None:
    """Write the lines and what they were measured on to results/latest.json."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "lines": [asdict(line) for line in lines],
    }
    (RESULTS / "latest.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
