"""docs/attack.md shows what it says: the table gives a diagnosis away, and the session does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.test_readme import ROOT, _blocks, _shape
from tests.warm import programs

PAGE = (ROOT / "docs" / "attack.md").read_text("utf-8")


def _run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "attack.py").write_text(code, "utf-8")
    return subprocess.run(
        [programs() / "python", "attack.py"], cwd=folder, capture_output=True, encoding="utf-8"
    )


def test_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    code = "".join(_blocks("python", PAGE))
    done = _run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    (shown,) = _blocks("text", PAGE)
    assert _shape(done.stdout) == _shape(shown)
    before = done.stdout.partition("diagnosis  ")[0]
    assert before == shown.partition("diagnosis  ")[0]  # what is published exactly is the same on every run


def test_the_page_would_notice_a_session_that_gives_her_away(tmp_path: Path) -> None:
    # The assertions of the page, with noise far too small: the intervals are narrower than the group is large.
    code = (
        "".join(_blocks("python", PAGE))
        .replace("epsilon=0.5", "epsilon=50")
        .replace("budget=1,", "budget=100,")
    )
    done = _run(code, tmp_path)
    assert done.returncode != 0
    assert "AssertionError" in done.stderr
