"""Put the tables of the last run into docs/peers.md, between its two marks."""

from __future__ import annotations

from benchmarks.peers.__main__ import RESULTS
from benchmarks.peers.environments import ROOT

PAGE = ROOT / "docs" / "peers.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of what was measured -->\n"


def filled(page: str, measured: str) -> str:
    """The page with other tables."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, "the page has lost its marks"
    return before + BEGIN + measured + END + after


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8"), (RESULTS / "peers.md").read_text("utf-8")), "utf-8")
