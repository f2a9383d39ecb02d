r"""`%%discreet` in a notebook: a cell of SQL, its answer with intervals, and the chart below.

    %load_ext discreet
    %discreet hospital/policy.toml --epsilon 0.1

    %%discreet
    SELECT county, COUNT(*) AS visits FROM visits GROUP BY county

`%%discreet --as answer` keeps the release under a name, `--preview` gives price and errors for nothing, and `--epsilon`
is the price of this cell alone.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.dbapi.connection import Connection, connect
from discreet.dbapi.exceptions import Error
from discreet.dbapi.statements import Ask, read, split
from discreet.dbapi.words import Words
from discreet.errors import DiscreetError, InvalidParameter

if TYPE_CHECKING:
    from discreet.release.answer import Release


class _Parser(argparse.ArgumentParser):
    """Raises an error of ours, where the library would end the process."""

    def error(self, message: str) -> NoReturn:
        raise InvalidParameter(f"The line of %%discreet cannot be read: {message}.",
                               "Write %%discreet --epsilon 0.1 --as answer, or --preview.")  # fmt: skip


def _parser(connecting: bool) -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, prog="%discreet", allow_abbrev=False)
    parser.add_argument("--epsilon")
    if connecting:
        parser.add_argument("source")
        parser.add_argument("--dataset")
    else:
        parser.add_argument("--as", dest="name")
        parser.add_argument("--preview", action="store_true")
        parser.add_argument("--no-chart", action="store_true")
    return parser


class Notebook:
    """The magics of one notebook.

    Args:
        shell: of IPython.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | None = None
        self._words: Words | None = None

    def completions(self, context: Any) -> Any:
        """The words that complete a cell of SQL, as IPython asks for them."""
        from IPython.core.completer import SimpleCompletion

        found: list[Any] = []
        if context.full_text.lstrip().startswith("%%discreet") and self._words is not None:
            found = [
                SimpleCompletion(text=word, type=kind) for word, kind, _ in self._words.after(context.token)
            ]
        return {"completions": found, "suppress": bool(found)}

    def magic(self, line: str, cell: str | None = None) -> None:
        """Connect (`%discreet SOURCE`), or answer a cell (`%%discreet`).

            %discreet hospital/policy.toml --epsilon 0.1

            %%discreet --epsilon 0.05 --as answer
            SELECT county, COUNT(*) AS visits FROM visits GROUP BY county

        The source is a policy file, the address of a server or the name of a session; `--dataset` names one of several
        on a server. `--epsilon` there is the price of every cell, and on a cell that of the cell alone. `--preview`
        gives price and errors for nothing, `--as` keeps the answer under a name, and `--no-chart` leaves the chart out.

        Raises:
            DiscreetError: as `dbapi.connect` and `Session.sql` do, without the classes of PEP 249.
        """
        try:
            if cell is None:
                self._connect(line)
            else:
                self._answer(line, cell)
        except Error as error:
            if error.error is None:
                raise
            raise error.error from None

    def _connect(self, line: str) -> None:
        from discreet.client.session import RemoteSession

        given = _parser(connecting=True).parse_args(shlex.split(line))
        # A path, an address, or a name of a session.
        source = self._shell.user_ns.get(given.source, given.source)
        opened = connect(source, epsilon=given.epsilon, dataset=given.dataset)
        if self._connection is not None:
            self._connection.close()
        self._connection, self._words = opened, Words.of(opened.session)
        _show(opened.session)
        if isinstance(opened.session, RemoteSession):  # which names its server alone
            _show(opened.session.budget)

    def _answer(self, line: str, cell: str) -> None:
        from discreet.rational import epsilon_of

        given = _parser(connecting=False).parse_args(shlex.split(line))
        if given.name is not None and not given.name.isidentifier():
            raise InvalidParameter("--as needs a name of Python.", "Write --as answer.")
        if self._connection is None:
            raise InvalidParameter(
                "This notebook is not connected.", "Write %discreet policy.toml --epsilon 0.1."
            )
        price = None if given.epsilon is None else epsilon_of(given.epsilon)
        for text in split(cell):
            statement = read(text)
            if not isinstance(statement, Ask):
                self._connection.execute(text)
                continue
            options = self._connection.settings.options(text) | ({} if price is None else {"epsilon": price})
            if given.preview:
                _show(self._connection.session.preview(text, **options))
                continue
            release = self._connection.session.sql(text, **options)
            if given.name is not None:
                self._shell.user_ns[given.name] = release
            _show(release)
            if not given.no_chart:
                _chart(release)


def _chart(release: Release) -> None:
    """Show the chart of an answer, where there is something to draw and something to draw it with."""
    if not release.low:
        return
    try:
        chart = release.plot()
    except DiscreetError:
        return
    _show(chart)


def _show(thing: object) -> None:
    from IPython.display import display

    display(thing)


def load_ipython_extension(shell: Any) -> None:
    """Make `%discreet` and `%%discreet` known to a notebook, with the completion of their words."""
    from IPython.core.completer import context_matcher

    notebook = Notebook(shell)
    shell.register_magic_function(notebook.magic, "line_cell", "discreet")

    @context_matcher(identifier="discreet")  # type: ignore[untyped-decorator, unused-ignore]
    def discreet_words(context: Any) -> Any:
        return notebook.completions(context)

    shell.Completer.custom_matchers.append(discreet_words)
