"""Whoever looks a public name up finds what it is and an example that runs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import discreet.accounting
import discreet.planning
from discreet.accounting import LossDistribution, Released
from discreet.errors import InvalidParameter

ROOMS = (discreet.accounting, discreet.planning)


@pytest.mark.parametrize(
    ("room", "name"),
    [(room, name) for room in ROOMS for name in room.__all__],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_every_public_name_has_an_example(room: object, name: str) -> None:
    value = getattr(room, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert ">>> " in (inspect.getdoc(value) or "")


def test_heavy_packages_are_opened_on_first_use_only() -> None:
    heavy = "{'scipy', 'dp_accounting', 'mpmath'}"
    code = f"import sys, discreet.accounting, discreet.planning; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == ""


def test_without_dp_accounting_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(InvalidParameter, match=r"discreet\[accounting\]"):
        LossDistribution.of([Released("0.12345", neighbours="add_remove")])
