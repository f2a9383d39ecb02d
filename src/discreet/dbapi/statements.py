"""Statements of tools that think they speak to a database: settings, transactions, and questions.

`SET discreet.epsilon = 0.1` is the price of the questions that carry none. Transactions are no more than words: a
charge is durable at once and is never taken back, so that there is nothing to commit or to roll back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.dbapi.binding import tokens
from discreet.errors import InvalidParameter
from discreet.rational import decimal, epsilon_of
from discreet.records import dataclass
from discreet.release.exactly import exact
from discreet.session.parameters import confidence_of, delta_of, whole
from discreet.sql.syntax.priced import priced

if TYPE_CHECKING:
    import pyarrow as pa

PREFIX = "discreet"
CLEANUPS = ("DISCARD", "DEALLOCATE", "CLOSE", "UNLISTEN", "LISTEN")
"""Statements that clean up things that are not here: pools say them, and nothing is done."""
_TRANSACTIONS = {"BEGIN": "begin", "START": "begin", "COMMIT": "commit", "END": "commit", "ROLLBACK": "rollback",
                 "ABORT": "rollback", "SAVEPOINT": "savepoint", "RELEASE": "savepoint"}  # fmt: skip


def _switch(text: str) -> bool:
    word = text.lower()
    if word not in ("on", "off", "true", "false", "1", "0", "yes", "no"):
        raise InvalidParameter("The value is neither on nor off.", "Write on or off.")
    return word in ("on", "true", "1", "yes")


def _count(name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = decimal(text, name)
        number = int(value) if value.denominator == 1 else 0
        whole(number, name)
        return number

    return read


@dataclass(frozen=True)
class ConnectionSettings:
    """The settings of a connection, for the questions whose text says nothing else.

    Attributes:
        epsilon: the price of a question; None for none.
        delta: allows groups to be found.
        confidence: of the intervals.
        simultaneous: whether all intervals of an answer together have it.
        max_rows: how many rows of a unit count.
        max_groups: in how many groups a unit is counted.
        intervals: whether each column with an interval is followed by its ends, `<name>_low` and `<name>_high`.

    Example:
        >>> ConnectionSettings().set("epsilon", "0.1").options("SELECT COUNT(*) FROM t")
        {'epsilon': Fraction(1, 10), 'confidence': 0.95}
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    confidence: float = 0.95
    simultaneous: bool = False
    max_rows: int | None = None
    max_groups: int | None = None
    intervals: bool = False

    def set(self, name: str, text: str | None, first: ConnectionSettings | None = None) -> ConnectionSettings:
        """The settings with one of them changed.

        Args:
            name: of the setting.
            text: its value; None for that of the beginning.
            first: the settings that the connection began with; None for the defaults.

        Raises:
            InvalidParameter: there is no such setting, or the value is out of range.
        """
        value = _default(name) if first is None else getattr(first, _known(name))
        return replace(self, **{name: value if text is None else _READ[name](text)})

    def shown(self, name: str) -> str:
        """A setting as text, empty where it is not set.

        Raises:
            InvalidParameter: there is no such setting.
        """
        _default(name)
        value = getattr(self, name)
        if isinstance(value, bool):
            return "on" if value else "off"
        return "" if value is None else exact(value) if isinstance(value, Fraction) else str(value)

    def every(self) -> dict[str, str]:
        """All settings as text, by the names that SET takes."""
        return {f"{PREFIX}.{name}": self.shown(name) for name in _DEFAULTS}

    def table(self) -> pa.Table:
        """The same as a table of two columns of text, `name` and `setting`: the answer to SHOW discreet."""
        import pyarrow as pa

        every = self.every()
        return pa.table({"name": list(every), "setting": list(every.values())})

    def options(self, text: str) -> dict[str, Any]:
        """The keyword arguments of `Session.sql` for a question: those that its text does not say itself."""
        found = priced(text)
        said = found.options if found is not None else {}
        own = asdict(self)
        del own["intervals"]
        return {name: value for name, value in own.items() if value not in (None, False) and name not in said}


_READ: dict[str, Callable[[str], Any]] = {
    "epsilon": epsilon_of,
    "delta": delta_of,
    "confidence": lambda text: confidence_of(decimal(text, "confidence")),
    "simultaneous": _switch,
    "max_rows": _count("max_rows"),
    "max_groups": _count("max_groups"),
    "intervals": _switch,
}


_DEFAULTS = {field.name: field.default for field in fields(ConnectionSettings)}


def _known(name: str) -> str:
    """The name of a setting that there is.

    Raises:
        InvalidParameter: there is none.
    """
    if name not in _DEFAULTS:
        raise InvalidParameter(
            f"There is no setting {PREFIX}.{name}.", f"The settings are {', '.join(_DEFAULTS)}."
        )
    return name


def _default(name: str) -> Any:
    return _DEFAULTS[_known(name)]


@dataclass(frozen=True)
class Setting:
    """SET, RESET, DISCARD or SHOW.

    Attributes:
        word: `set`, `reset`, `discard` or `show`.
        name: of the setting, in lower case; empty where all are meant.
        value: that it gets; None for the default.
    """

    word: str
    name: str
    value: str | None = None

    @property
    def own(self) -> str:
        """The name of a setting of discreet, without its prefix; empty for one of a database."""
        return self.name.removeprefix(f"{PREFIX}.") if self.name.startswith(f"{PREFIX}.") else ""

    @property
    def all_back(self) -> bool:
        """Whether it takes every SET back: RESET ALL, and DISCARD ALL, as a pool says before it hands on."""
        return self.word in ("reset", "discard") and not self.name


@dataclass(frozen=True)
class Transaction:
    """BEGIN, COMMIT and the like.

    Attributes:
        word: `begin`, `commit`, `rollback` or `savepoint`.
    """

    word: str


@dataclass(frozen=True)
class Ask:
    """Everything else.

    Attributes:
        text: the question, without a semicolon at its end.
    """

    text: str

    @property
    def cleans_up(self) -> bool:
        """Whether it cleans up prepared statements, cursors and the like, of which there are none here."""
        return bool(self.text.strip()) and self.text.split(maxsplit=1)[0].upper() in CLEANUPS


Statement = Setting | Transaction | Ask


def read(text: str) -> Statement:
    """Tell the kind of a statement.

    Raises:
        InvalidParameter: it sets something, but not in a way that can be read.

    Example:
        >>> read("SET discreet.epsilon TO 0.1;"), read("COMMIT")
        (Setting(word='set', name='discreet.epsilon', value='0.1'), Transaction(word='commit'))
        >>> read("DISCARD ALL")
        Setting(word='discard', name='', value=None)
        >>> read("SELECT 1 ;")
        Ask(text='SELECT 1')
    """
    found = tokens(text)
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found.pop()
    if not found:
        return Ask(text)
    text = text[: found[-1].end + 1]
    word = found[0].text.upper()
    if [token.text.upper() for token in found] == ["DISCARD", "ALL"]:
        return Setting("discard", "")
    if word in ("SET", "RESET") or (word == "SHOW" and len(found) > 1 and found[1].text.lower() == PREFIX):
        return _setting(text, word.lower(), found[1:])
    if word in _TRANSACTIONS:
        back = word == "ROLLBACK" and any(token.text.upper() == "TO" for token in found)
        return Transaction("savepoint" if back else _TRANSACTIONS[word])
    return Ask(text)


def split(text: str) -> list[str]:
    """The statements of a text, between semicolons.

    Example:
        >>> split("SET discreet.epsilon = 1; SELECT ';' ; ")
        ['SET discreet.epsilon = 1', "SELECT ';'"]
        >>> split("-- only a comment")
        []
    """
    return [statement for _, statement in placed(text)]


def placed(text: str) -> list[tuple[int, str]]:
    """The same, each behind its place: how many characters of the text stand before it.

    Example:
        >>> placed(" SELECT 1; SELECT 2")
        [(1, 'SELECT 1'), (11, 'SELECT 2')]
    """
    ends, start = [], 0
    try:
        found = DuckDB().tokenize(text)
    except TokenError:
        return [_stripped(text, 0, len(text))]  # the parser names the fault
    said = False  # whether a word has come since the last semicolon; comments are none
    for token in found:
        if token.token_type is not TokenType.SEMICOLON:
            said = True
            continue
        if said:
            ends.append((start, token.start))
        start, said = token.end + 1, False
    if said:
        ends.append((start, len(text)))
    return [_stripped(text, *span) for span in ends]


def _stripped(text: str, start: int, end: int) -> tuple[int, str]:
    """A part of a text without the blanks around it, behind its place."""
    return end - len(text[start:end].lstrip()), text[start:end].strip()


def _setting(text: str, word: str, found: list[Token]) -> Setting:
    """Read SET … = …, SET … TO …, SET SESSION …, RESET … and SHOW …."""
    local = word == "set" and len(found) > 1 and found[0].text.upper() == "LOCAL"
    if found and found[0].text.upper() in ("SESSION", "LOCAL") and len(found) > 1:
        found = found[1:]
    place, name = 0, ""
    while place < len(found) and found[place].text not in ("=", ":=") and found[place].text.upper() != "TO":
        apart = name and not name.endswith(".") and found[place].text != "."
        name += (" " if apart else "") + found[place].text.lower()
        place += 1
    rest = found[place + 1 :]
    if word != "set":
        return Setting(word, "" if name == "all" else name)
    own = name.startswith(f"{PREFIX}.")
    if own and local:  # it would outlive the transaction, and with it the price of each question
        raise InvalidParameter(
            "SET LOCAL ends with a transaction, and a setting holds until it is changed.",
            f"Write SET {name} = …, and RESET {name} behind the questions that it is for.",
        )
    if not rest:
        if own or not name:
            raise InvalidParameter("SET has no value.", f"Write SET {PREFIX}.epsilon = 0.1.")
        return Setting(word, name, "")
    literal = len(rest) == 1 and rest[0].token_type is TokenType.STRING
    value = rest[0].text if literal else text[rest[0].start : rest[-1].end + 1]
    return Setting(word, name, None if value.upper() == "DEFAULT" and not literal else value)
