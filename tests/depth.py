"""How deep the tests look: `make test` at least as deep as each test says beside it, `make test-deep` deeper."""

from __future__ import annotations

import os

DEEP = bool(os.environ.get("DISCREET_DEEP"))
"""Whether all is asked, which takes hours: every case of the lists, and more of the random ones."""


def examples(usual: int, deep: int) -> int:
    """How many random cases are tried; DISCREET_EXAMPLES multiplies both.

    Args:
        usual: in each run.
        deep: where DISCREET_DEEP is set.
    """
    return max(1, round((deep if DEEP else usual) * float(os.environ.get("DISCREET_EXAMPLES", "1"))))
