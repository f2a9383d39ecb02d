"""Packages whose names load on first use: the names that they have, that they show, and that they lack."""

from __future__ import annotations

import subprocess
import sys

import pytest

import discreet.accounting
import discreet.mechanisms
import discreet.planning
import discreet.session

PACKAGES = [discreet.accounting, discreet.mechanisms, discreet.planning, discreet.session]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_is_shown(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert all(getattr(package, name) is not None for name in names)
    assert set(names) <= set(dir(package))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_is_not_there(package: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Laplaze'"):
        package.Laplaze  # type: ignore[attr-defined]  # noqa: B018


def test_a_module_is_loaded_when_it_is_named() -> None:
    code = (
        "import sys, discreet.planning as planning\n"
        "assert 'discreet.planning.schedules' not in sys.modules\n"
        "planning.Schedule\n"
        "assert 'discreet.planning.schedules' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
