"""`make bench`: run every benchmark, print one table, save it; exit 1 when a target is missed.

`python -m benchmarks coverage --only top --workers 2` measures some lines, two at a time; others that were saved stay.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
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
    "uniformity",
    "selection",
    "quantiles",
    "workloads",
    "synthetic",
    "maps",
    "graphs",
    "streams",
    "learning",
    "gaussian",
    "memory",
    "accounting",
    "load",
    "service",
)
RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> int:
    """Run the modules named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--only", action="append", help="measure lines with this in their names; of coverage")
    parser.add_argument("--workers", type=int, help="how many processes measure lines; of coverage")
    asked = vars(parser.parse_args(arguments))
    console = Console()
    found: list[Line] = []
    for name in asked.pop("modules"):
        measure = importlib.import_module(f"benchmarks.{name}").lines
        options = {option: value for option, value in asked.items() if value is not None}
        unknown = options.keys() - inspect.signature(measure).parameters
        if unknown:
            parser.error(f"{name} has no --{min(unknown)}")
        lines: Iterable[Line] = measure(**options)
        with console.status("") as status:
            for line in lines:
                found.append(line)
                status.update(f"{name}: {len(found)} lines, last: {line.name}")
    console.print(table(found))
    save(found, whole=not arguments)
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


def save(lines: Iterable[Line], whole: bool) -> None:
    """Write the lines and what they were measured on to results/latest.json, where other lines stay unless whole."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "latest.json"
    measured_on = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
    before = [] if whole or not path.exists() else json.loads(path.read_text())["lines"]
    known = {line["name"]: line for line in before}
    known.update({line.name: {**asdict(line), **measured_on} for line in lines})
    path.write_text(json.dumps({**measured_on, "lines": [*known.values()]}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
