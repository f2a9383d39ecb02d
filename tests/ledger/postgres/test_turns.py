"""Turns of processes on several hosts: each has a connection of its own to the server, as here each object has."""

from __future__ import annotations

import time

from tests.servers import connect, new_schema

from discreet.ledger.postgres.address import read_address
from discreet.ledger.postgres.turns import AdvisoryTurns


def test_one_has_the_turn_until_it_gives_it_or_ends() -> None:
    address = read_address(new_schema())
    one, two = AdvisoryTurns(address), AdvisoryTurns(address)
    assert one.take("q", time.monotonic())
    assert not two.take("q", time.monotonic())
    assert two.take("another", time.monotonic())
    one.give("q")
    assert two.take("q", time.monotonic())
    two.close()
    assert one.take("q", time.monotonic() + 5)
    one.close()


def test_other_ledgers_have_turns_of_their_own() -> None:
    one, two = (AdvisoryTurns(read_address(new_schema())) for _ in range(2))
    assert one.take("q", time.monotonic())
    assert two.take("q", time.monotonic())
    one.close()
    two.close()


def test_without_a_connection_nobody_waits() -> None:
    address = new_schema()
    turns = AdvisoryTurns(read_address(address))
    assert turns.take("q", time.monotonic())
    assert turns._connection is not None
    with connect(address.partition("#")[0]) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (turns._connection.info.backend_pid,))
    assert not turns.take("q", time.monotonic() + 60), "a turn is a courtesy: go on, and pay"
    turns.give("q")
    assert turns.take("q", time.monotonic() + 5)
    turns.close()
