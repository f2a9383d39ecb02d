from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.rational import decimal
from discreet.release.exactly import exact, flavour


@pytest.mark.parametrize("number", ["0.1", "1/3", "-2.5", "1e-9", "0", "1e30", "7/64"])
def test_a_rational_reads_back_as_itself(number: str) -> None:
    assert Fraction(exact(decimal(number, "n"))) == decimal(number, "n")


def test_a_delta_in_words() -> None:
    assert flavour(Fraction(1, 10**9)) == "approximate differential privacy"
