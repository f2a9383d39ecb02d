"""A book comes back from its text, and any other text is a ValueError."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.tally import Tally
from discreet.ledger import Head, Loss
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.book_text import read, told

BOOK = Book(Head(3, "aa"), {"analyst é": Tally(Loss("1/3", "1e-9"), Fraction(1, 9), 2)})


def test_a_book_comes_back() -> None:
    text = told("0f", BOOK)
    assert text.isascii()
    assert "\n" not in text
    assert read(text) == ("0f", BOOK)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", told("0f", BOOK).replace("1/3", "1/0"), told("0f", BOOK)[:-1]]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read(text)
