"""Tokens are random, long and known by their hash."""

from __future__ import annotations

from discreet.server.tokens import digest, fits, new_token, parts


def test_no_two_tokens_are_alike_and_each_fits_its_own_digest() -> None:
    made = [new_token() for _ in range(200)]
    assert len({one.text for one in made}) == len({one.id for one in made}) == 200
    assert all(len(parts(one.text)[1]) == 43 for one in made)  # 256 bits
    assert all(fits(one.text, one.digest) for one in made)
    assert not fits(made[0].text, made[1].digest)
    assert not fits(made[0].digest, made[0].digest)


def test_texts_that_are_no_tokens_have_no_parts_and_fit_nothing_that_was_kept() -> None:
    for text in ("", "discreet", "discreet_a", "other_a_b", "discreet_a_" + "b" * 300):
        assert parts(text) == ("", "")
        assert not fits(text, new_token().digest)
    assert digest("") != digest("a")
