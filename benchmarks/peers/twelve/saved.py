"""What was measured, kept in a file for each library and case."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.peers.twelve.measure import ASKED, Asked, Kept
from benchmarks.peers.twelve.table import CASES, Results

RESULTS = Path(__file__).parents[2] / "results" / "twelve"


def save(case: str, asked: Asked, kept: Kept) -> None:
    """Write what was told; questions that were not asked now keep what was saved before."""
    before = saved(case, asked)
    for part in ("versions", "seconds", "squares"):
        setattr(kept, part, getattr(before, part) | getattr(kept, part))
    kept.cannot = {
        question: why
        for question, why in (before.cannot | kept.cannot).items()
        if question in kept.cannot or question not in kept.squares
    }
    (RESULTS / f"{asked.key}-{case}.json").write_text(json.dumps(asdict(kept)), "utf-8")


def saved(case: str, asked: Asked) -> Kept:
    """What was saved; empty where nothing was."""
    path = RESULTS / f"{asked.key}-{case}.json"
    return Kept(**json.loads(path.read_text("utf-8"))) if path.exists() else Kept()


def everything() -> Results:
    """All that was saved."""
    return {case: {asked.key: saved(case, asked) for asked in ASKED} for case in CASES}
