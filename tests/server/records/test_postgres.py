"""The tables of a service in PostgreSQL: append-only where they must be, and there again after a fault."""

from __future__ import annotations

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.server.people import People
from discreet.server.records import postgres as postgres_tables
from discreet.server.records.postgres import PostgresTables
from tests.server.conftest import OpenState
from tests.server.records.test_changes import see_changes_at_once
from tests.servers import connect, new_schema, postgres


def test_the_audit_log_is_append_only(open_state: OpenState) -> None:
    state = open_state(new_schema())
    state.note("ana", "signed in")
    for statement in ("DELETE FROM audit", "UPDATE audit SET who = 'ben'", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.IntegrityError, match="append-only"):
            state.run(statement)
    assert [line.who for line in state.audit(10)] == ["ana"]
    state.close()


def test_a_connection_that_was_dropped_is_opened_again(open_state: OpenState) -> None:
    state = open_state(new_schema())
    tables = state._tables
    assert isinstance(tables, PostgresTables)
    for work in (lambda: state.note("ana", "signed in"), lambda: state.audit(1)):
        with connect(postgres()) as other:
            assert tables._connection is not None
            other.execute("SELECT pg_terminate_backend(%s)", (tables._connection.info.backend_pid,))
        work()
    assert state.verify().number == 1
    state.close()


def test_changes_are_seen_at_once_and_rows_are_kept_while_nothing_changes(
    open_state: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_schema()
    pair = People(open_state(place)), People(open_state(place))
    see_changes_at_once(pair)
    token = pair[0].issue("test", "ana")
    assert pair[1].caller(token) is not None
    monkeypatch.setattr(pair[1].state, "all", lambda *_: pytest.fail("nothing changed"))
    assert pair[1].caller(token) is not None


def test_rows_that_outlive_a_change_are_found(open_state: OpenState, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a change that is not noted in its own transaction."""
    place = new_schema()
    third = [statement for statement in postgres_tables.MIGRATIONS[2] if "CREATE TRIGGER" not in statement]
    monkeypatch.setattr(postgres_tables, "MIGRATIONS", (*postgres_tables.MIGRATIONS[:2], third))
    with pytest.raises(AssertionError):
        see_changes_at_once((People(open_state(place)), People(open_state(place))))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tokens SET revoked = 1",
        "UPDATE grants SET epsilon = '1/2'",
        "DELETE FROM grants",
        "UPDATE people SET role = 'steward' WHERE name = 'ana'",
        "TRUNCATE people, grants, tokens, signins, identities",
    ],
)
def test_a_change_by_another_program_is_seen_at_once(open_state: OpenState, change: str) -> None:
    """A process of an earlier version, or an administrator, knows nothing of rows that are kept."""
    place = new_schema()
    people = People(open_state(place))
    people.add("test", "ana", "analyst")
    people.grant("test", "ana", "visits", "2")
    token = people.issue("test", "ana")

    def seen() -> object:
        return people.caller(token), people.grants("ana")

    before = seen()
    assert seen() == before
    url, _, schema = place.partition("#")
    with connect(url) as connection:
        connection.execute(f'SET search_path = "{schema}"')
        connection.execute(change)
    assert seen() != before


def test_a_server_that_is_not_there_is_an_error_of_ours(open_state: OpenState) -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        open_state("postgresql://ana:hunter2@127.0.0.1:1/d")
    assert "hunter2" not in str(caught.value)
