"""Texts that nobody should be able to show raw."""

from __future__ import annotations

import random

BIDI = [chr(c) for c in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
UNSEEN = [
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u3164",
    "\ufe0f",
    "\U000e0041",
    "\u2800",
]
BREAKS = ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
CONTROLS = [chr(c) for c in (*range(0x20), 0x7F, *range(0x80, 0xA0))]
WHOLE = [
    "Kent  99,999 ± 1\nEssex", "\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\x1b]8;;http://x\x1b\\link",
    "</script><img src=x onerror=alert(1)>", "<!--<script>", "]]>", "&amp;", "'\" onmouseover=alert(1) x='",
    "=HYPERLINK(\"http://x\")", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "\uff1d1", '=cmd|"/c calc"!A0',
    "a\\x1b", "a\\", 'a\\"+alert(1)+"', "datum.v", "{{x}}", "${x}", "", " ", "  ", "-", " x", "x ", "x" * 5000,
    "\ufffe", "\uffff", "\U0010ffff", "e\u0301" * 50, "שלום 12", "№ 1", "👩\u200d🔬",
]  # fmt: skip
ALL = [*WHOLE, *(f"a{c}b" for c in [*BIDI, *UNSEEN, *BREAKS, *CONTROLS])]
FORBIDDEN = frozenset([*BIDI, *UNSEEN, *BREAKS, *CONTROLS])


def texts(many: int, seed: int) -> list[str]:
    """Those above, and random ones made of their parts."""
    made = random.Random(seed)
    parts = [*ALL, *(chr(made.randrange(0x110000)) for _ in range(200))]
    return [*ALL, *("".join(made.choices(parts, k=3))[:60] for _ in range(many))]
