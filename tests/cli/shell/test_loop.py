from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.people import protected

from discreet.cli.shell.loop import Loop
from discreet.cli.shell.terminal import history_place, lines
from discreet.dbapi.statements import ConnectionSettings
from discreet.dbapi.words import Words

BY_COUNTY = "SELECT county, COUNT(*) AS n\nFROM visits\nGROUP BY county"


def test_statements_commands_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with protected() as session:
        loop = Loop(session, ConnectionSettings(), said.append)
        assert loop.prompt == "no price of 10 left> "
        loop.do(r"\preview")
        loop.feed(
            [
                r"\epsilon 0.5",
                *f"{BY_COUNTY};".split("\n"),
                r"\preview",
                r"\explain",
                r"\card",
                r"\budget",
                r"\d visits",
            ]
        )
        assert loop.prompt == "epsilon 0.5 of 9.5 left> "
        loop.feed(
            [
                "SET discreet.epsilon = 1; SHOW discreet.epsilon;",
                "BEGIN;",
                "RESET ALL;",
                "SHOW discreet.epsilon",
            ]
        )
        loop.do(r"\nothing")
        loop.do("SELECT age FROM visits;")
        loop.feed([r"\q", r"\budget"])
        assert session.budget.spent == Fraction(1, 2)
    assert loop.ended
    assert loop.exit_code == 2
    assert ["county" in said[0], "nothing was read" in said[1], "release" in said[2]] == [True] * 3
    assert said[-2:] == ["1", "not set"]
    errors = capsys.readouterr().err
    assert "There is no question yet." in errors
    assert "no command of this name" in errors
    assert "private table" in errors


@pytest.mark.parametrize("word", ["exit", "QUIT;", "quit ;"])
def test_words_that_people_try_first_need_no_backslash(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with protected() as session:
        loop = Loop(session, ConnectionSettings(), said.append)
        loop.feed(["help", word, "SHOW TABLES;"])
    assert loop.ended
    assert (len(said), loop.exit_code, capsys.readouterr().err) == (1, 0, "")
    assert "leave" in said[0]


@pytest.mark.parametrize(
    ("word", "shown"), [("budget", "left of"), ("tables;", "privacy_unit"), ("Budget;", "left of")]
)
def test_words_of_the_list_of_commands_need_none_either(word: str, shown: str) -> None:
    said: list[str] = []
    with protected() as session:
        Loop(session, ConnectionSettings(), said.append).feed([word])
    assert shown in said[0]


@pytest.fixture
def patience() -> Iterator[None]:
    """A prompt that waits for more keys fails after a minute, where it would wait for ever."""

    def end(*_: object) -> None:
        sys.exit("the prompt waits for more keys")  # prompt_toolkit's loop goes on after any other error

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
def test_a_terminal_edits_completes_and_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with protected() as session, create_pipe_input() as keys:
        loop = Loop(session, ConnectionSettings(), lambda _: None)
        keys.send_text("SELECT COUNT(*) AS n\rFROM visi\t")
        rest = threading.Timer(1, keys.send_text, [";\r\x03\\q\r\x04"])  # once the word is completed
        rest.start()
        written = list(lines(loop, Words.of(session), input=keys, output=DummyOutput()))
        rest.join()
    assert written == ["SELECT COUNT(*) AS n\nFROM visits;", r"\q"]
    assert history_place().stat().st_mode & 0o777 == 0o600
    assert "FROM visits" in history_place().read_text("utf-8")


@pytest.mark.usefixtures("patience")
def test_a_search_in_the_history_can_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that are searched for are no statement: they decide nothing about lines that follow."""
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with protected() as session, create_pipe_input() as keys:
        written = lines(
            Loop(session, ConnectionSettings(), lambda _: None),
            Words.of(session),
            input=keys,
            output=DummyOutput(),
        )
        keys.send_text("SELECT 1;\r")
        assert next(written) == "SELECT 1;"
        keys.send_text("\x12SEL\x07\\budget\r")  # Ctrl-R, a word, Ctrl-G
        assert next(written) == "\\budget"
        keys.send_text("\x12SEL\r\r")
        assert next(written) == "SELECT 1;"


def test_a_pipe_is_read_to_its_end_and_fails_with_its_first_error(folder: Path, run: Run) -> None:
    good = run("shell", "--epsilon", "0.1", text=f"{BY_COUNTY};\n\\budget\n")
    assert good.exit_code == 0, good.output
    assert "0.9 left" in good.output
    assert run("shell", text="SELECT age FROM visits;\nSHOW TABLES;\n").exit_code == 2
    assert (folder / "visits.parquet").exists()
