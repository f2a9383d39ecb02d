"""The first start: loopback, a private file, one token; and the command line that leads there."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import discreet as dp
from discreet.errors import InvalidParameter, PolicyError, ServerError
from discreet.server.start import Listening, bound, by_name, first_token, open_service, state_place
from tests.depth import DEEP
from tests.server.conftest import COUNT, FAST, POLICY, make_hospital
from tests.servers import new_database
from tests.warm import programs


def test_a_service_speaks_plain_http_to_its_own_machine_alone() -> None:
    assert Listening().host == "127.0.0.1"
    for host in ("0.0.0.0", "::", "10.0.0.1", "stats.example.org"):
        with pytest.raises(InvalidParameter, match="this machine alone"):
            Listening(host)
        assert Listening(host, public_url="https://stats.example.org").host == host
    for url in ("http://stats.example.org", "stats.example.org", "https://", "https://host/path"):
        with pytest.raises(InvalidParameter, match="public-url"):
            Listening(public_url=url)


def test_behind_a_proxy_its_name_is_served_and_cookies_are_for_https(tmp_path: Path) -> None:
    settings = Listening(public_url="https://Stats.example.org").settings(FAST.caps)
    assert "stats.example.org" in settings.hosts
    assert settings.secure


def test_a_port_that_is_taken_is_said() -> None:
    with bound(Listening(port=0)) as taken:
        taken.listen()
        with pytest.raises(ServerError, match="--port"):
            bound(Listening(port=taken.getsockname()[1]))


def test_the_administrator_is_made_once(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path / "hospital")
    service = open_service([policy], FAST)
    caller = service.people.caller(first_token(service))
    assert caller is not None
    assert caller.scopes == {"audit", "manage"}
    assert first_token(service) == ""
    service.close()
    service = open_service([policy], FAST)
    assert first_token(service) == ""
    service.close()
    assert Path(state_place([policy])).stat().st_mode & 0o077 == 0


def test_two_data_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    service = open_service([make_hospital(tmp_path / "hospital")], FAST)
    with pytest.raises(PolicyError, match="hospital"):
        by_name([*service.datasets.values()] * 2)
    service.close()
    with pytest.raises(PolicyError, match="cannot stand"):
        open_service([make_hospital(tmp_path / "a b")], FAST)


def test_a_new_version_of_the_data_is_in_the_audit_log_once(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path / "hospital")
    for version, lines in (("", 0), ("2025", 1), ("2025", 1), ("2026", 2), ("2025", 2)):
        policy.write_text(POLICY.replace("epsilon = 50", f'epsilon = 50\nversion = "{version}"'))
        service = open_service([policy], FAST)
        assert len(service.state.audit(9)) == lines
        service.close()


def test_a_database_of_ledgers_is_named_without_a_schema(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path / "hospital")
    for url in ("ledger.db", "postgresql://host/database#schema"):
        with pytest.raises(InvalidParameter, match="ledger of a service"):
            open_service([policy], FAST, url)


def test_of_two_processes_that_start_at_once_one_makes_the_administrator(tmp_path: Path) -> None:
    policy, database = make_hospital(tmp_path / "hospital"), new_database()
    with ThreadPoolExecutor(2) as pool:
        services = list(pool.map(lambda _: open_service([policy], FAST, database), range(2)))
        tokens = list(pool.map(first_token, services))
    assert sorted(map(bool, tokens)) == [False, True]
    assert services[0].state.verify().number == 2
    for one in services:
        one.close()
    assert not list((tmp_path / "hospital").glob("*.db*"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
# SIGTERM ends the service of tests/cli/commands/test_serve.py, too.
@pytest.mark.parametrize("told", ["SIGINT", *["SIGTERM"] * DEEP])
def test_the_command_serves_until_it_is_told_to_stop_which_is_no_failure(told: str, tmp_path: Path) -> None:
    policy = make_hospital(tmp_path / "hospital")
    command = [str(programs() / "discreet"), "serve", str(policy), "--port", "0", "--slot", "0.01"]
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("a new ledger was made: ")
        name, _, token = process.stderr.readline().strip().partition(": ")
        said = [process.stderr.readline() for _ in range(2)]
        url = said[1].split()[-1]
        assert name == "administrator"
        with pytest.raises(InvalidParameter, match="none of them"):
            dp.connect(url, token=token, dataset="other")
        with pytest.raises(dp.errors.NotAllowed):
            dp.connect(url, token=token).sql(COUNT, 1)
        process.send_signal(getattr(signal, told))
        assert process.wait(20) == 0  # systemd takes another number for a failure of the unit
        rest = process.stderr.read()
        assert "error" not in rest
        assert token not in rest
        assert "leaked" not in rest  # the engine's library reports objects that a frozen heap keeps
