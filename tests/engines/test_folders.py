"""Temporary folders of processes that are gone are removed, those of others are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import folders
from discreet.engines.folders import Folder

KILLED = """
import os, signal, sys
import pyarrow as pa
import discreet as dp
session = dp.protect(pa.table({"a": [1]}), privacy_unit="row", budget=1)
print("open", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def left_behind(folder: Path) -> list[str]:
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED], env=env, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    return sorted(one.name for one in folder.iterdir() if one.name.startswith("discreet-"))


def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (left,) = left_behind(tmp_path)
    (tmp_path / "discreet-of-somebody-else").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with dp.protect(pa.table({"a": [1]}), privacy_unit="row", budget=1) as session:
        own = {one.name for one in tmp_path.iterdir()} - {"discreet-of-somebody-else"}
        assert len(own) == 1
        assert left not in own
        with dp.protect(pa.table({"a": [1]}), privacy_unit="row", budget=1):
            assert len(list(tmp_path.iterdir())) == 3  # one that is used stays
        assert session.budget.spent == 0
    assert [one.name for one in tmp_path.iterdir()] == ["discreet-of-somebody-else"]


def left_by_a_fork(folder: Path) -> list[str]:
    """The same without a start of Python: the folder alone, by a process that is killed."""
    child = os.fork()
    if child == 0:
        Folder("discreet-", folder)
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return sorted(one.name for one in folder.iterdir() if one.name.startswith("discreet-"))


def test_without_sweeping_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault; without it the same passes."""
    monkeypatch.setattr(f"{__name__}.left_behind", left_by_a_fork)
    (tmp_path / "swept").mkdir()
    test_what_a_killed_process_left_is_removed_by_the_next(tmp_path / "swept", monkeypatch)
    monkeypatch.setattr(folders, "sweep", lambda *_: None)
    with pytest.raises(AssertionError):
        test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, monkeypatch)


def test_a_child_leaves_the_folder_to_its_parent(tmp_path: Path) -> None:
    folder = Folder("discreet-", tmp_path)
    child = os.fork()
    if child == 0:
        folder.remove()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert folder.path.is_dir()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.remove()
    assert not folder.path.exists()


def test_a_link_is_no_folder_to_remove(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / folders.HOLDER).touch()
    (tmp_path / "discreet-link").symlink_to(precious)
    folders.sweep(str(tmp_path), "discreet-")
    assert precious.is_dir()
