"""The number of changes: a token that was revoked and a budget that was withdrawn count at once, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.server.people import People
from discreet.server.records.changes import Changes
from discreet.server.records.state import ServiceState
from discreet.server.tokens import parts

Pair = tuple[People, People]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The people of one service, as two processes see them."""
    states = [ServiceState(tmp_path / "service.db") for _ in range(2)]
    yield People(states[0]), People(states[1])
    for one in states:
        one.close()


def see_changes_at_once(pair: Pair) -> None:
    ours, theirs = pair
    ours.add("test", "ana", "analyst")
    for _ in range(3):
        token = ours.issue("test", "ana")
        ours.grant("test", "ana", "visits", 3)
        for people in (ours, theirs, ours, theirs):
            assert people.caller(token) is not None
            assert list(people.grants("ana")) == ["visits"]
        ours.grant("test", "ana", "visits", 2)
        assert theirs.grants("ana")["visits"].epsilon == 2
        theirs.withdraw("test", "ana", "visits")
        assert [one.grants("ana") for one in pair] == [{}, {}]
        theirs.revoke("test", parts(token)[0])
        assert [one.caller(token) for one in pair] == [None, None]


def test_changes_are_seen_at_once(pair: Pair) -> None:
    see_changes_at_once(pair)


def test_rows_that_outlive_a_change_are_found(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault."""
    monkeypatch.setattr(Changes, "now", lambda self: b"always")
    with pytest.raises(AssertionError):
        see_changes_at_once(pair)


def test_a_token_that_expires_is_refused_though_its_row_is_kept(tmp_path: Path) -> None:
    now = 1_000.0
    state = ServiceState(tmp_path / "service.db", clock=lambda: now)
    people = People(state)
    people.add("test", "ana", "analyst")
    token = people.issue("test", "ana", days=1)
    assert people.caller(token) is not None
    now += 86_400
    assert people.caller(token) is None
    state.close()


def test_rows_are_kept_while_nothing_changes(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pair
    ours.add("test", "ana", "analyst")
    token = ours.issue("test", "ana")
    assert theirs.caller(token) is not None
    read: list[str] = []

    def noted(sql: str, given: object = ()) -> list[Any]:
        read.append(sql)
        return []

    monkeypatch.setattr(theirs.state, "all", noted)
    assert theirs.caller(token) is not None
    assert read == []
    assert theirs.caller(token.replace("discreet_", "discreet_0", 1)) is None  # another name is looked up
    assert len(read) == 1


def test_nothing_is_kept_while_a_change_is_under_way(tmp_path: Path) -> None:
    one, two = (Changes(str(tmp_path / "n"), 0.05) for _ in range(2))
    before = two.now()
    with one.changing():
        assert (one.now(), two.now()) == (None, None)
        with pytest.raises(LedgerError, match="busy"), two.changing():
            pass
    assert two.now() not in (None, before)
    one.close()
    two.close()


def test_a_process_that_ends_in_the_middle_leaves_nothing_kept(tmp_path: Path) -> None:
    place = str(tmp_path / "n")
    code = (
        "import os, sys; from discreet.server.records.changes import Changes\n"
        "with Changes(sys.argv[1], 1).changing(): os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, place], check=True)
    changes = Changes(place, 1)
    assert changes.now() is None
    with changes.changing():
        pass
    assert changes.now() is not None
    changes.close()


def test_a_file_that_was_taken_away_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.records.changes.LOOK", 0.0)
    place = tmp_path / "n"
    one, two = (Changes(str(place), 1) for _ in range(2))
    before = one.now()
    os.remove(place)
    with two.changing():
        assert one.now() is None
    assert one.now() == two.now() != before
    one.close()
    two.close()
    assert one.now() is None


def test_a_file_made_anew_brings_back_no_token_that_was_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.server.records.changes.LOOK", 0.0)
    place = tmp_path / "service.db-changes"
    states = [ServiceState(tmp_path / "service.db") for _ in range(2)]
    ours, theirs = map(People, states)
    ours.add("test", "ana", "analyst")
    for spoil in (os.remove, lambda path: os.truncate(path, 0)):
        spoil(place)
        token = theirs.issue("test", "ana")  # the first change of a new file
        assert ours.caller(token) is not None
        spoil(place)
        theirs.revoke("test", parts(token)[0])  # the first change of another one
        assert ours.caller(token) is None
    for one in states:
        one.close()


def see_an_old_copy(pair: Pair, place: Path) -> None:
    ours, theirs = pair
    ours.add("test", "ana", "analyst")
    token, kept = ours.issue("test", "ana"), ours.issue("test", "ana")
    before = place.read_bytes()
    theirs.revoke("test", parts(kept)[0])
    assert ours.caller(token) is not None
    place.write_bytes(before)
    theirs.revoke("test", parts(token)[0])
    assert ours.caller(token) is None


def test_an_old_copy_of_the_file_brings_back_no_token(pair: Pair, tmp_path: Path) -> None:
    see_an_old_copy(pair, tmp_path / "service.db-changes")


def test_a_number_that_counts_brings_a_token_back(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    place = tmp_path / "service.db-changes"

    def next_even() -> int:
        return int.from_bytes(place.read_bytes(), "little") + 1 & ~1

    monkeypatch.setattr("discreet.server.records.changes._even", next_even)
    with pytest.raises(AssertionError):
        see_an_old_copy(pair, place)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no such file")
def test_a_file_that_keeps_nothing_is_not_waited_for_without_end(tmp_path: Path) -> None:
    place = tmp_path / "n"
    changes = Changes(str(place), 0.02)
    os.remove(place)
    os.symlink("/dev/null", place)
    with pytest.raises(LedgerError), changes.changing():
        pass
    assert changes.now() is None
    changes.close()


def test_a_file_that_was_taken_away_is_not_believed_until_that_is_seen(tmp_path: Path) -> None:
    place = tmp_path / "n"
    one, two = (Changes(str(place), 1) for _ in range(2))
    assert one.now() is not None
    os.remove(place)
    with two.changing():
        pass
    assert one.now() is None  # it looks for the file once a second only
    one.close()
    two.close()


def see_a_file_cut_short_ends_nothing(place: Path, reader: str) -> None:
    """Cut the file short between two looks, which would end a process that reads it as memory."""
    code = (
        f"import mmap, os, sys; from discreet.server.records import changes\n{reader}"
        "one = changes.Changes(sys.argv[1], 1)\nassert one.now() is not None\nos.truncate(sys.argv[1], 0)\n"
        "assert one.now() is None\nwith one.changing(): pass\nassert one.now() is not None"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(place)], check=False).returncode
    assert ended == 0


def test_a_file_that_is_cut_short_ends_nothing(tmp_path: Path) -> None:
    see_a_file_cut_short_ends_nothing(tmp_path / "n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is that of Linux")
def test_a_mapped_file_that_is_cut_short_is_found(tmp_path: Path) -> None:
    """The planted fault."""
    mapped = "m = {}\nchanges._read = lambda fd: m.setdefault(fd, mmap.mmap(fd, 8))[:8]\n"
    with pytest.raises(AssertionError):
        see_a_file_cut_short_ends_nothing(tmp_path / "n", mapped)


def test_a_full_disk_refuses_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = Changes(str(tmp_path / "n"), 1)

    def full(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(LedgerError, match="cannot be written"), changes.changing():
            raise AssertionError("something was changed")
    with changes.changing():
        pass
    assert changes.now() is not None
    changes.close()


def test_a_file_that_is_opened_again_meanwhile_stays_that_of_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.server.records.changes.LOOK", 0.0)
    place = tmp_path / "n"
    one, two = (Changes(str(place), 1) for _ in range(2))
    with one.changing():
        os.remove(place)
        assert one.now() is None  # as another thread asks
        with two.changing():
            pass
        assert one.now() is None
    assert one.now() == two.now() is not None
    one.close()
    two.close()


def test_a_revoked_token_is_refused_through_a_link_too(tmp_path: Path) -> None:
    here = ServiceState(tmp_path / "service.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "service.db")
    there = ServiceState(tmp_path / "link.db")
    ours, theirs = People(here), People(there)
    ours.add("test", "ana", "analyst")
    token = ours.issue("test", "ana")
    assert theirs.caller(token) is not None
    ours.revoke("test", parts(token)[0])
    assert theirs.caller(token) is None
    here.close()
    there.close()


def test_it_must_be_writable(tmp_path: Path) -> None:
    (tmp_path / "n").mkdir()
    with pytest.raises(LedgerError, match="cannot be opened"):
        Changes(str(tmp_path / "n"), 1)
