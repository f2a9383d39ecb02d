"""A service that really listens, over invented visits, with a steward and analysts of several kinds."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.server.desk import Caps
from discreet.server.rate import Rate
from discreet.server.records.state import ServiceState
from discreet.server.service import Service, ServiceSettings
from discreet.server.start import Listening, bound, open_service, process
from discreet.session.analyst import AnalystSession

POLICY = """\
[budget]
epsilon = 50
[source]
url = "parquet:visits.parquet"
[tables.visits]
privacy_unit = "patient_id"
max_rows = 3
[tables.visits.columns]
age = { bounds = [0, 120] }
county = { keys = ["A", "B", "C"] }
"""
OpenState = Callable[..., ServiceState]
"""Opens a state, with the arguments of `ServiceState`."""
COUNT = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"
FAST = ServiceSettings(caps=Caps(slot=0.005, timeout=20.0), rate=10_000, burst=10_000)


def make_hospital(folder: Path) -> Path:
    """Invented visits and their policy."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table(
        {
            "patient_id": rng.integers(0, 1000, 3000),
            "age": rng.integers(0, 100, 3000),
            "county": np.array(["A", "B", "C"])[rng.integers(0, 3, 3000)],
        }
    )
    parquet.write_table(table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY)
    return folder / "policy.toml"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Running:
    """A service that listens, and tokens for it."""

    service: Service
    port: int
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def person(
        self, name: str, role: str = "analyst", epsilon: object = None, scopes: tuple[str, ...] = ()
    ) -> str:
        """Add somebody, and return their token."""
        self.service.people.add("test", name, role)
        if epsilon is not None:
            self.service.people.grant("test", name, "hospital", epsilon)
        self.tokens[name] = self.service.people.issue("test", name, 1, scopes)
        return self.tokens[name]

    def session(self, name: str) -> AnalystSession:
        """The session of an analyst, past every desk: as another process of the service would ask."""
        return self.service.datasets["hospital"].analyst(name, self.service.people.grants(name)["hospital"])

    def call(
        self,
        method: str,
        path: str,
        who: str = "",
        body: Any = None,
        raw: bytes | None = None,
        **headers: str,
    ) -> Answer:
        """Send one request."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who:
            sent["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        if body is not None:
            raw = json.dumps(body).encode()
        if raw is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, raw, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()


@contextmanager
def listening(service: Service) -> Iterator[Running]:
    """Serve until the end."""
    listener = bound(Listening(port=0))
    server = process(service)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield Running(service, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def run(folder: Path, settings: ServiceSettings = FAST) -> Iterator[Running]:
    """Serve until the generator ends."""
    service = open_service([make_hospital(folder / "hospital")], settings)
    service.strangers = Rate(10_000, 10_000)
    with listening(service) as running:
        running.person("stella", "steward")
        running.person("audrey", "steward", scopes=("audit",))
        running.person("ana", epsilon=20)
        running.person("ben", epsilon=20)
        running.person("rita", epsilon=1, scopes=("read",))
        running.person("nobody")
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture
def open_state() -> Iterator[OpenState]:
    """Open states, which are closed at the end of the test."""
    opened: list[ServiceState] = []

    def opens(*given: Any) -> ServiceState:
        opened.append(ServiceState(*given))
        return opened[-1]

    yield opens
    for state in opened:
        state.close()
