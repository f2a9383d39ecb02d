"""Server processes over one data set, and a crowd of analysts that asks them; for the load and for tests of faults."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.server.service import ServiceSettings
from discreet.server.start import open_service

POLICY = """\
[budget]
epsilon = {budget}
[source]
url = "parquet:visits.parquet"
[tables.visits]
privacy_unit = "patient_id"
max_rows = 3
[tables.visits.columns]
age = {{ bounds = [0, 120] }}
county = {{ keys = ["A", "B", "C"] }}
"""
NAME = "hospital"
AT = f"/api/v1/datasets/{NAME}"
QUERY = "SELECT county, COUNT(*) AS n, AVG(age) AS age FROM visits WHERE age < {} GROUP BY county"
EPSILON = "0.01"
ROWS = 1000
IDLE = 5.0
"""Seconds after which a connection is opened anew: the service closes those that are idle for 15."""


def make_hospital(folder: Path, budget: str) -> Path:
    """Invented visits and their policy."""
    rng = np.random.default_rng(1)
    folder = folder / NAME
    folder.mkdir(parents=True)
    table = pa.table({
        "patient_id": rng.integers(0, ROWS, ROWS),
        "age": rng.integers(0, 100, ROWS),
        "county": np.array(["A", "B", "C"])[rng.integers(0, 3, ROWS)],
    })  # fmt: skip
    parquet.write_table(table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY.format(budget=budget))
    return folder / "policy.toml"


@contextlib.contextmanager
def on(processors: Set[int]) -> Iterator[None]:
    """Begin processes on some processors; on all that this thread may use where none are named."""
    before = os.sched_getaffinity(0) if processors and hasattr(os, "sched_setaffinity") else None
    if before is not None:
        os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


class Server:
    """One process of `discreet serve` on a port of its own, which may be killed and started again.

    Args:
        policy: its file.
        ledger: the url of a PostgreSQL database; empty for files.
        slot: of the service.
        place: the processors that it may use; all that this process may where there are none.
    """

    def __init__(self, policy: Path, ledger: str, slot: str, place: Set[int] = frozenset()) -> None:
        self._place = place
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-m", "discreet", "serve", str(policy), "--port", str(self.port)]
        self._command += ["--slot", slot, *(["--ledger", ledger] if ledger else [])]
        self.errors: list[str] = []
        self.start()

    def start(self) -> None:
        """Start, and return at once."""
        with on(self._place):
            self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self._process, self._up), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str], up: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                if line.startswith("serving "):
                    up.set()
                elif not line.startswith(("administrator: ", "This token")):
                    self.errors.append(line)

    def ready(self, timeout: float = 60) -> None:
        """Wait until it listens."""
        assert self._up.wait(timeout), self.errors

    def kill(self) -> None:
        """Kill it as SIGKILL does, and start it again."""
        self._process.kill()
        self._process.wait()
        self._reader.join(5)
        self.start()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def processor_time(self) -> float:
        """Seconds of the processor so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(5)


@dataclass
class Analyst:
    """One of the crowd.

    Attributes:
        name: of the analyst.
        token: theirs.
        outcomes: how often each came: a status, or `lost` where the connection was.
        seconds: of each kind of request that was answered.
        answered: the questions that were answered, with the numbers.
    """

    name: str
    token: str
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"ask": [], "preview": [], "again": []})
    answered: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def call(self, port: int, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send one request on a connection that is kept; status 0 where it was lost."""
        connection = self._lines.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=90))
        if time.monotonic() - self._used.get(port, 0.0) > IDLE:
            connection.close()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            self._used[port] = time.monotonic()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0, b""

    def __post_init__(self) -> None:
        self._lines: dict[int, http.client.HTTPConnection] = {}
        self._used: dict[int, float] = {}

    def close(self) -> None:
        """Close all connections."""
        for line in self._lines.values():
            line.close()

    def live(self, ports: list[int], rng: random.Random, stop: threading.Event) -> None:
        """Ask, preview and ask again until told to stop."""
        number, own = 0, int(self.name.rpartition(".")[2])
        while not stop.is_set():
            kind = rng.choices(["ask", "preview", "again"], [2, 1, 1])[0]
            if kind == "again" and not self.answered:
                kind = "preview"
            number += kind == "ask"
            query = QUERY.format(f"{number}.{own + 1:04d}")
            if kind == "again":
                query = rng.choice(list(self.answered))
            began = time.monotonic()
            path = f"{AT}/preview" if kind == "preview" else f"{AT}/query"
            status, data = self.call(rng.choice(ports), "POST", path, {"query": query, "epsilon": EPSILON})
            self.outcomes[str(status or "lost")] += 1
            if status == 200:
                self.seconds[kind].append(time.monotonic() - began)
            elif status >= 500:
                self.faults.append(f"{status} {data[:300]!r}")
            elif status == 0:
                time.sleep(0.05)
            if status == 200 and kind != "preview":
                rows = json.loads(data)["rows"]
                assert self.answered.setdefault(query, rows) == rows, (
                    "an answer that was given is another one now"
                )


@dataclass
class Crowd:
    """Servers over one data set, their analysts, and the threads in which these live."""

    policy: Path
    ledger: str
    servers: list[Server]
    analysts: list[Analyst]

    def ask(self, seconds: float, every: float = 0.0) -> None:
        """Let all analysts ask for some seconds.

        Args:
            seconds: how long.
            every: kill one of two servers after so many seconds each, by turns; 0 for none.
        """
        stop, ports = threading.Event(), [server.port for server in self.servers]
        threads = [
            threading.Thread(target=one.live, args=(ports, random.Random(at), stop), daemon=True)
            for at, one in enumerate(self.analysts)
        ]
        for thread in threads:
            thread.start()
        until, at = time.monotonic() + seconds, 0
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, every or left))
            if every and time.monotonic() < until:
                at += 1
                self.servers[at % len(self.servers)].ready()  # one is up while the other is killed
                self.servers[(at + 1) % len(self.servers)].kill()
        stop.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        for server in self.servers:
            server.ready()

    def close(self) -> None:
        """Let all analysts go."""
        for one in self.analysts:
            one.close()


def gathered(
    stack: ExitStack,
    folder: Path,
    ledger: str,
    *,
    servers: int,
    analysts: int,
    budget: str,
    each: str,
    slot: str,
    places: Sequence[Set[int]] = (),
) -> Crowd:
    """Start servers over invented visits for some analysts, with a budget for all and one for each.

    Args:
        stack: ends the servers.
        folder: where the data goes.
        ledger: the url of a PostgreSQL database; empty for files.
        servers: how many.
        analysts: how many.
        budget: epsilon of the data set.
        each: epsilon of each analyst.
        slot: of the service.
        places: the processors of each server; none for all.
    """
    policy = make_hospital(folder, budget)
    service = open_service([policy], ServiceSettings(), ledger)
    crowd = []
    for at in range(analysts):
        name = f"analyst.{at}"
        service.people.add("test", name, "analyst")
        service.people.grant("test", name, NAME, each)
        crowd.append(Analyst(name, service.people.issue("test", name, 1)))
    service.close()
    own = places or [frozenset()] * servers
    started = [stack.enter_context(Server(policy, ledger, slot, place)) for place in own]
    for server in started:
        server.ready()
    found = Crowd(policy, ledger, started, crowd)
    stack.callback(found.close)
    return found
