"""The file of a provider: every fault is told before anything listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import PolicyError
from discreet.server.oidc.settings import SECRET, is_safe, read_settings

GOOD = 'issuer = "https://login.example.org"\nclient_id = "discreet"\n'


def test_a_file_is_read_and_the_secret_is_not_in_it(tmp_path: Path) -> None:
    place = tmp_path / "provider.toml"
    place.write_text(GOOD + 'claim = "email"\ngroup = "staff"\n')
    found = read_settings(place, {SECRET: "hush"})
    assert (found.issuer, found.client_id, found.claim, found.group, found.client_secret) == (
        "https://login.example.org", "discreet", "email", "staff", "hush",
    )  # fmt: skip
    assert read_settings(place, {}).client_secret == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("issuer = ", "cannot be read"),
        ('client_id = "discreet"', "lacks issuer"),
        ('issuer = "https://login.example.org"', "lacks client_id"),
        (GOOD + "claim = 3", "lacks a text"),
        (GOOD + 'client_secret = "hush"', "The secret stands in the environment"),
        (GOOD + 'colour = "blue"', "not known: 'colour'"),
        (GOOD + 'scope = "email"', "lacks openid"),
        (GOOD + 'claim = ""', "is empty"),
        (GOOD + 'prompt = "none"', "none that providers know"),
        (GOOD.replace("https", "http"), "not an https"),
    ],
)
def test_a_fault_of_the_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    place = tmp_path / "provider.toml"
    place.write_text(text)
    with pytest.raises(PolicyError, match=said) as caught:
        read_settings(place, {})
    assert "hush" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read_settings(tmp_path / "missing.toml", {})


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://a.example/realm", True),
        ("http://localhost:9", True),
        ("http://127.0.0.1", True),
        ("http://a.example", False),
        ("http://localhost.evil.example", False),
        ("ftp://a.example", False),
        ("https://", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_plain_http_never_leaves_this_machine(url: str, safe: bool) -> None:
    assert is_safe(url) is safe
