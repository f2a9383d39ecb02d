"""The shell on a terminal: editing, completion and history by prompt_toolkit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.shell.loop import Loop, complete
from discreet.dbapi.words import Words
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


def history_place() -> Path:
    """The file of the questions that were written here; only its owner may read it."""
    home = os.environ.get("XDG_STATE_HOME")
    folder = (Path(home) if home else Path.home() / ".local" / "state") / "discreet"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "history"
    place.touch(mode=0o600)
    return place


def lines(loop: Loop, words: Words, **terminal: Any) -> Iterator[str]:
    """The statements that somebody writes, until the end.

    Args:
        loop: whose prompt is shown.
        words: complete a question.
        terminal: where to read and write; by default here.

    Raises:
        InvalidParameter: prompt_toolkit is not installed.
    """
    session = _session(words, **terminal)
    while not loop.ended:
        try:
            yield session.prompt(loop.prompt)
        except KeyboardInterrupt:
            continue  # the line is thrown away
        except EOFError:
            return


def _session(words: Words, **terminal: Any) -> PromptSession[str]:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import CompleteEvent, Completer, Completion
        from prompt_toolkit.document import Document
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.history import FileHistory
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise InvalidParameter("The library of the shell is not installed.", "pip install 'discreet[shell]'")

    class Completing(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            for word, kind, replaced in words.after(document.text_before_cursor):
                yield Completion(word, -replaced, display_meta=kind)

    @Condition
    def open_statement() -> bool:
        # Of the statement: in a search the buffer that has the focus is that of the searched words.
        return not complete(session.default_buffer.text)

    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history_place())), completer=Completing(), complete_while_typing=False,
        multiline=open_statement, prompt_continuation="... ", **terminal,
    )  # fmt: skip
    return session
