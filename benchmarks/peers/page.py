"""Put the tables of the last run into docs/peers.md, between its two marks."""

from __future__ import annotations

from benchmarks.peers.__main__ import RESULTS
from benchmarks.peers.environments import ROOT

PAGE = ROOT / "docs" / "peers.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of what was measured -->\n"


TWELVE, END_OF_TWELVE = "<!-- twelve -->\n", "<!-- end of twelve -->\n"


def filled(page: str, measured: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with other tables."""
    before, _, rest = page.partition(begin)
    _, mark, after = rest.partition(end)
    assert mark, "the page has lost its marks"
    return before + begin + measured + end + after


def main() -> None:
    """Fill in what was measured; what was not stays."""
    text = PAGE.read_text("utf-8")
    for name, begin, end in (("peers.md", BEGIN, END), ("twelve.md", TWELVE, END_OF_TWELVE)):
        if (RESULTS / name).exists():
            text = filled(text, (RESULTS / name).read_text("utf-8"), begin, end)
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
