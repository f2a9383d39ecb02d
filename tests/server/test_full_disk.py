"""A disk that is full while analysts ask: nothing is answered that was not charged, and all goes on once there is room.

The files of a server may not grow for a while, by a limit of the operating system; or the disk is a real one, a small
one, that fills up ten times.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.depth import deep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is Linux's")


@deep  # tests/ledger/test_disk.py lets a ledger have no room, and test_service.py a ledger fail under the service
@pytest.mark.parametrize("case", ["limit", "disk"])
def test_a_disk_that_is_full_under_load(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "tests.server.full_disk", case, str(tmp_path)]
    if case == "disk":
        if shutil.which("unshare") is None:
            pytest.skip("no mount namespaces here; the limit stands in for it")
        command = ["unshare", "--mount", *command]  # the disk is gone with the process
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("no right to mount a small disk here; the limit stands in for it")
    assert done.returncode == 0, done.stderr
    with capsys.disabled():
        print(f"\n{case}: {done.stdout}")
    said = json.loads(done.stdout)
    assert said["full"]["503"] > 0, "the disk was never full"
    assert said["full"].keys() <= {"200", "503", "429"}
    assert said["after"]["200"] > 0
    assert said["after"].keys() <= {"200", "429"}
