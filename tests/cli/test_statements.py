"""Commands that take one statement say which one takes several."""

from __future__ import annotations

import pytest

from discreet.cli.options import Usage
from discreet.cli.statements import see_one


def test_several_statements_are_refused() -> None:
    see_one("SELECT ';' AS a; -- the end")
    with pytest.raises(Usage, match="which `discreet query` takes, and `discreet preview` for nothing"):
        see_one("SELECT 1; SELECT 2")
