"""The crowd as one cheap process: raw sockets and requests that are made beforehand, so that the load costs little.

A thread of Python's own HTTP client for each analyst takes as much of the processors as a small question does, and what
is measured then is the client. This process reads its order as one line of JSON, and writes what it saw as another.
Each analyst asks the next question when the last is answered, and sees that an answer that is given again is the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("ask", "preview", "again")
IDLE = 5.0
"""Seconds after which a connection is opened anew: the service closes those that are idle for 15."""


@dataclass(frozen=True)
class Order:
    """The task of the crowd.

    Attributes:
        tokens: one for each analyst.
        ports: of the servers; each request goes to one of them.
        at: the address of the data set.
        query: with a place for a literal, which makes it another question.
        epsilon: of each question.
        seconds: how long.
        mix: how often each of `KINDS` is, in parts.
        processors: that the clients may use; empty for any.
    """

    tokens: Sequence[str]
    ports: Sequence[int]
    at: str
    query: str
    epsilon: str
    seconds: float
    mix: Sequence[int] = (2, 1, 1)
    processors: Collection[int] = ()


@dataclass
class Seen:
    """Answers, times and faults that the crowd saw.

    Attributes:
        outcomes: how often each status came; `lost` where a connection was.
        seconds: of each kind of request that was answered.
        faults: the bodies of answers that say that the service failed.
        different: how many answers were another one when they were given again.
        processor: seconds of the processor that the clients took.
        lasted: seconds from the first request to the last answer.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    different: int = 0
    faults: list[str] = field(default_factory=list)
    processor: float = 0.0
    lasted: float = 0.0


def ask(order: Order) -> Seen:
    """Let a crowd ask, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.clients"],
        input=json.dumps(asdict(order), default=sorted), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    seen: dict[str, Any] = json.loads(done.stdout)
    return Seen(Counter(seen.pop("outcomes")), **seen)


class _One:
    """One analyst, with a connection to each server."""

    def __init__(self, number: int, order: Order, seen: Seen) -> None:
        self._order, self._seen, self._number = order, seen, number
        self._rng = random.Random(number)
        self._asked = 0
        self._rows: dict[int, bytes] = {}
        self._lines: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter, float]] = {}
        self._heads = {
            kind: f"POST {order.at}/{'preview' if kind == 'preview' else 'query'} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {order.tokens[number]}\r\nContent-Type: application/json\r\n"
            for kind in KINDS
        }

    async def live(self, until: float) -> None:
        """Ask until it is time to stop."""
        while (began := time.monotonic()) < until:
            kind = self._rng.choices(KINDS, self._order.mix)[0]
            if kind == "again" and not self._rows:
                kind = "preview"
            self._asked += kind == "ask"
            question = self._rng.choice(list(self._rows)) if kind == "again" else self._asked
            port = self._rng.choice(self._order.ports)
            try:
                status, body = await self._answer(port, self._request(kind, question))
            except (OSError, asyncio.IncompleteReadError):
                self._lines.pop(port)[1].close()
                status, body = "lost", b""
            self._seen.outcomes[status] += 1
            if status == "200":
                self._seen.seconds[kind].append(time.monotonic() - began)
                if kind != "preview":
                    rows = body[body.index(b'"rows":') : body.rindex(b'"budget":')]
                    self._seen.different += self._rows.setdefault(question, rows) != rows
            elif status[0] == "5":
                self._seen.faults.append(body.decode()[:300])
        for _, writer, _ in self._lines.values():
            writer.close()

    def _request(self, kind: str, question: int) -> bytes:
        order = self._order
        query = order.query.format(f"{question}.{self._number + 1:04d}")
        body = json.dumps({"query": query, "epsilon": order.epsilon})
        return f"{self._heads[kind]}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    async def _answer(self, port: int, request: bytes) -> tuple[str, bytes]:
        line = self._lines.get(port)
        if line is None or time.monotonic() - line[2] > IDLE:
            if line is not None:
                line[1].close()
            line = *await asyncio.open_connection("127.0.0.1", port), 0.0
        reader, writer, _ = line
        self._lines[port] = reader, writer, time.monotonic()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        at = head.lower().index(b"content-length:") + 15
        body = await reader.readexactly(int(head[at : head.index(b"\r", at)]))
        self._lines[port] = reader, writer, time.monotonic()
        return head[9:12].decode(), body


async def _all(order: Order) -> Seen:
    seen, began = Seen(), time.monotonic()
    crowd = [_One(number, order, seen) for number in range(len(order.tokens))]
    await asyncio.gather(*(one.live(began + order.seconds) for one in crowd))
    seen.lasted, seen.processor = time.monotonic() - began, time.process_time()
    return seen


def main() -> None:
    """Read an order, and write the answers that were seen."""
    order = Order(**json.loads(sys.stdin.readline()))
    if order.processors:
        os.sched_setaffinity(0, order.processors)
    print(json.dumps(vars(asyncio.run(_all(order)))))


if __name__ == "__main__":
    main()
