"""Several processes on one port: one token, one that is killed is begun anew, all end together."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.errors import ServerError
from discreet.server.running import several
from discreet.server.running.several import ProcessResources, listen_together
from discreet.server.service import ServiceSettings
from discreet.server.start import Listening, bound
from tests.server.conftest import make_hospital


def children(of: int) -> set[int]:
    """The processes that serve."""
    found = set()
    for one in Path("/proc").iterdir():
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == of and b"--multiprocessing-fork" in (one / "cmdline").read_bytes():
                found.add(int(one.name))
        except (ValueError, OSError):
            continue
    return found


def me(port: int, token: str) -> int:
    """The status of a request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/api/v1/me", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_two_serve_one_port_and_one_that_is_killed_is_begun_anew(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discreet", "serve", str(make_hospital(tmp_path)), "--port", "0"]
    with subprocess.Popen([*command, "--processes", "2"], stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stderr is not None
        said = []
        for line in parent.stderr:
            said.append(line)
            if line.startswith("serving "):
                break
        (token,) = [line.split()[1] for line in said if line.startswith("administrator: ")]  # printed once
        port = int(said[-1].rpartition(":")[2])
        first = children(parent.pid)
        assert len(first) == 2
        assert {me(port, token) for _ in range(8)} == {200}
        os.kill(min(first), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while len(now := children(parent.pid)) < 2 or now == first:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert me(port, token) == 200  # the other one serves on
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(60) == 0
        assert not any(Path(f"/proc/{one}").exists() for one in now | first)


def test_a_port_that_another_service_shares_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "_serve", _fails)
    opened = ProcessResources([tmp_path / "policy.toml"], ServiceSettings(), "", None, 512)
    with bound(Listening(port=0), shared=True) as other:
        other.listen()
        at = Listening(port=other.getsockname()[1])
        with pytest.raises(ServerError, match="Nothing can listen"):
            listen_together(opened, at, 1, lambda _: None)


@pytest.mark.skipif(sys.platform != "linux", reason="the name that tells them apart is one of Linux")
def test_of_two_services_that_begin_at_once_one_gets_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither listens yet, so that a port that only one of them may bind looks free to both."""
    opened = ProcessResources([tmp_path / "policy.toml"], ServiceSettings(), "", None, 512)
    begun: list[object] = []
    monkeypatch.setattr(several, "_begun", lambda *given: begun.append(given))
    with bound(Listening(port=0), shared=True) as first:
        host, port = first.getsockname()
        with several.alone(host, port), pytest.raises(ServerError, match=f"port {port}"):
            listen_together(opened, Listening(port=port), 1, lambda _: None)
        assert begun == []
        with several.alone(host, port):  # it is free again
            pass


def test_processes_that_do_not_begin_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "_serve", _fails)
    opened = ProcessResources([tmp_path / "policy.toml"], ServiceSettings(), "", None, 512)
    with pytest.raises(ServerError, match="did not begin"):
        listen_together(opened, Listening(port=0), 1, lambda _: None)


def _fails(*_: object) -> None:
    sys.exit(3)
