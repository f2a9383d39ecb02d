"""The crowd as one cheap process: raw sockets and requests that are made beforehand, so that the load costs little.

A thread of Python's own HTTP client for each analyst takes as much of the processors as a small question does, and what
is measured then is the client. This process reads its order as one line of JSON, and writes what it saw as another.
Each analyst has one connection, asks the next question when the last is answered, and sees that an answer that is given
again is the same.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = ("ask", "preview", "again")


@dataclass(frozen=True)
class Order:
    """What the crowd does.

    Attributes:
        tokens: one for each analyst.
        ports: of the servers; the analysts are shared out among them.
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
    processors: Sequence[int] = ()


@dataclass
class Seen:
    """What the crowd saw.

    Attributes:
        outcomes: how often each status came; `lost` where a connection was.
        seconds: of each kind of request that was answered.
        different: how many answers were another one when they were given again.
        processor: seconds of the processor that the clients took.
        lasted: seconds from the first request to the last answer.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    different: int = 0
    processor: float = 0.0
    lasted: float = 0.0


def ask(order: Order) -> Seen:
    """Let a crowd ask, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.clients"],
        input=json.dumps(asdict(order)), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    seen: dict[str, Any] = json.loads(done.stdout)
    return Seen(Counter(seen.pop("outcomes")), **seen)


class _One:
    """One analyst."""

    def __init__(self, number: int, order: Order, seen: Seen) -> None:
        self._order, self._seen, self._number = order, seen, number
        self._rng = random.Random(number)
        self._asked = 0
        self._rows: dict[int, bytes] = {}
        self._port = order.ports[number % len(order.ports)]
        self._heads = {
            kind: f"POST {order.at}/{'preview' if kind == 'preview' else 'query'} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {order.tokens[number]}\r\nContent-Type: application/json\r\n"
            for kind in KINDS
        }

    def _request(self, kind: str, question: int) -> bytes:
        order = self._order
        query = order.query.format(f"{question}.{self._number + 1:04d}")
        body = json.dumps({"query": query, "epsilon": order.epsilon})
        return f"{self._heads[kind]}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    async def live(self, until: float) -> None:
        """Ask until it is time to stop."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while (began := time.monotonic()) < until:
            kind = self._rng.choices(KINDS, self._order.mix)[0]
            if kind == "again" and not self._rows:
                kind = "preview"
            self._asked += kind == "ask"
            question = self._rng.choice(list(self._rows)) if kind == "again" else self._asked
            writer.write(self._request(kind, question))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                at = head.lower().index(b"content-length:") + 15
                body = await reader.readexactly(int(head[at : head.index(b"\r", at)]))
            except (OSError, asyncio.IncompleteReadError):
                self._seen.outcomes["lost"] += 1
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                continue
            status = head[9:12].decode()
            self._seen.outcomes[status] += 1
            if status == "200":
                self._seen.seconds[kind].append(time.monotonic() - began)
                if kind != "preview":
                    rows = body[body.index(b'"rows":') : body.rindex(b'"budget":')]
                    self._seen.different += self._rows.setdefault(question, rows) != rows
        writer.close()


async def _all(order: Order) -> Seen:
    seen, began = Seen(), time.monotonic()
    crowd = [_One(number, order, seen) for number in range(len(order.tokens))]
    await asyncio.gather(*(one.live(began + order.seconds) for one in crowd))
    seen.lasted, seen.processor = time.monotonic() - began, time.process_time()
    return seen


def main() -> None:
    """Read an order, and write what was seen."""
    order = Order(**json.loads(sys.stdin.readline()))
    if order.processors:
        os.sched_setaffinity(0, order.processors)
    print(json.dumps(vars(asyncio.run(_all(order)))))


if __name__ == "__main__":
    main()
