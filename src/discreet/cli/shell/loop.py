"""The loop of the shell: a statement or a command in, its answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from discreet.cli import failure
from discreet.dbapi.binding import tokens
from discreet.dbapi.statements import Ask, ConnectionSettings, Setting, read, split
from discreet.errors import DiscreetError, InvalidParameter
from discreet.quoting import quote
from discreet.rational import show

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.release.answer import Release
    from discreet.session import Session

HELP = r"""A question ends with a semicolon, and may have several lines.
  \preview [SQL]   price and errors of a question, or of the last one; free
  \explain [SQL]   its plan; free
  \budget          the budget that is left
  \tables          the tables;  \d TABLE: the columns of one
  \card            the card of the last answer
  \epsilon [0.1]   the price of each question that names none; SET discreet.epsilon = 0.1 does the same
  \q               leave; so do exit and quit"""

BARE = {"exit": "q", "quit": "q", "help": "?", "budget": "budget", "tables": "tables", "card": "card"}
"""The commands that need neither a backslash nor a semicolon, where each is the whole of a statement."""


class Loop:
    """One sitting.

    Args:
        session: that is asked.
        settings: of the questions.
        say: prints.

    Attributes:
        ended: whether somebody wants to leave.
        exit_code: of the first error, for a pipe; 0 without one.
    """

    def __init__(
        self, session: Session | RemoteSession, settings: ConnectionSettings, say: Callable[[str], None]
    ) -> None:
        self._session, self.settings, self._say = session, settings, say
        self._last = ""
        self._release: Release | None = None
        self.ended = False
        self.exit_code = 0

    @property
    def prompt(self) -> str:
        """The price of the next question, and the budget that is left."""
        price = "no price" if self.settings.epsilon is None else f"epsilon {show(self.settings.epsilon)}"
        return f"{price} of {show(self._session.budget.left)} left> "

    def feed(self, lines: Iterable[str]) -> None:
        """Do as all lines say, those of one statement together; a last one needs no semicolon."""
        held = ""
        for line in lines:
            held = f"{held}\n{line}" if held else line
            if complete(held):
                self.do(held)
                held = ""
            if self.ended:
                return
        if held.strip():
            self.do(held)

    def do(self, text: str) -> None:
        """Do as a text says; errors are told, and the loop goes on."""
        try:
            if text.lstrip().startswith("\\"):
                self._command(text.strip())
            elif (command := BARE.get(_bare(text))) is not None:
                self._command(f"\\{command}")
            else:
                for statement in split(text):
                    self._statement(statement)
        except (DiscreetError, KeyboardInterrupt) as error:
            failure.explain(error)
            self.exit_code = self.exit_code or failure.exit_code(error)

    def _statement(self, text: str) -> None:
        statement = read(text)
        if isinstance(statement, Ask):
            self._last = statement.text
            self._release = self._session.sql(statement.text, **self.settings.options(statement.text))
            self._say(repr(self._release))
        elif isinstance(statement, Setting):
            self._setting(statement)

    def _setting(self, statement: Setting) -> None:
        if statement.word == "show" and statement.own:
            self._say(self.settings.shown(statement.own) or "not set")
        elif statement.word == "show":
            every = self.settings.every()
            self._say("\n".join(f"{name} = {shown or 'not set'}" for name, shown in every.items()))
        elif statement.own:
            self.settings = self.settings.set(statement.own, statement.value)
        elif statement.all_back:
            self.settings = ConnectionSettings()

    def _command(self, text: str) -> None:
        word, _, rest = text[1:].partition(" ")
        do = {"q": self._quit, "quit": self._quit, "?": self._help, "help": self._help,
              "preview": self._preview, "explain": self._explain, "budget": self._budget, "tables": self._tables,
              "dt": self._tables, "d": self._describe, "card": self._card, "epsilon": self._epsilon,
              }.get(word)  # fmt: skip
        if do is None:
            raise InvalidParameter("There is no command of this name.", r"\? lists them.")
        do(rest.strip().rstrip(";"))

    def _quit(self, _: str) -> None:
        self.ended = True

    def _help(self, _: str) -> None:
        self._say(HELP)

    def _budget(self, _: str) -> None:
        self._say(repr(self._session.budget))

    def _tables(self, _: str) -> None:
        self._say(repr(self._session.sql("SHOW TABLES")))

    def _describe(self, name: str) -> None:
        if not name:
            return self._tables("")
        bare = name.strip('"')
        self._say(repr(self._session.sql(f"DESCRIBE {quote(bare)}")))
        return None

    def _card(self, _: str) -> None:
        if self._release is None:
            raise InvalidParameter("There is no answer yet.", "Ask a question first.")
        self._say(str(self._release.card()))

    def _epsilon(self, value: str) -> None:
        self.settings = self.settings.set("epsilon", value or None)

    def _preview(self, text: str) -> None:
        text = self._meant(text)
        options = self.settings.options(text)
        self._say(repr(self._session.preview(text, **options)))

    def _explain(self, text: str) -> None:
        text = self._meant(text)
        options = self.settings.options(text)
        kept = {
            name: options[name] for name in ("epsilon", "delta", "max_rows", "max_groups") if name in options
        }
        self._say(repr(self._session.explain(text, **kept)))

    def _meant(self, text: str) -> str:
        """The question of a command, or else the last one."""
        self._last = text or self._last
        if not self._last:
            raise InvalidParameter(
                "There is no question yet.", r"Write it behind the command: \preview SELECT …."
            )
        return self._last


def complete(text: str) -> bool:
    """Whether a text is whole: a command, nothing, or statements that end with a semicolon.

    Example:
        >>> [complete(text) for text in ("SELECT 1", "SELECT ';'", "SELECT 1;", " ", "exit")]
        [False, False, True, True, True]
    """
    if not text.strip() or text.lstrip().startswith("\\") or _bare(text) in BARE:
        return True
    found = tokens(text)
    return bool(found) and found[-1].text == ";" and text.rstrip().endswith(";")


def _bare(text: str) -> str:
    """A text without the semicolon that people write behind such a word."""
    return text.strip().rstrip(";").rstrip().lower()
