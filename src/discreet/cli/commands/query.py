"""`discreet query`: answers a question and charges its epsilon."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import AnswerOptions, SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions
from discreet.cli.terminal.signals import stoppable
from discreet.cli.terminal.sink import Sink
from discreet.cli.terminal.spelling import options_for
from discreet.cli.workloads.asking import preview, workload
from discreet.rational import show

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.release.answer import Release
    from discreet.session import BudgetState, Session
    from discreet.session.writing import Written

T = TypeVar("T")
NO_PRICE = "name the cost with --epsilon, or the error with --within; `discreet preview` helps to choose"


@grouped
def command(
    asked: AnswerOptions,
    place: SourceOptions,
    sink: Sink,
    remote: ServerOptions,
    epsilon: Annotated[
        str | None,
        typer.Option("-e", "--epsilon", metavar="EPSILON", help="The loss that the whole question may cost."),
    ] = None,
    diagnose: Annotated[
        str | None,
        typer.Option(
            "--diagnose", metavar="SHARE", help="The share of epsilon that measures how much was cut off."
        ),
    ] = None,
    within: opt.Within = None,
    group_rows: opt.GroupRows = opt.GROUP_ROWS,
    reuse: opt.Reuse = None,
    look: Annotated[
        bool, typer.Option("--preview", help="Give the cost and the errors instead; it is free.")
    ] = False,
    mock: Annotated[
        bool, typer.Option("--mock", help="Ask invented data of the same shape: free, and means nothing.")
    ] = False,
) -> None:
    """Answer a question, and charge its epsilon.

    The charge is durable before any data is read, and no later failure undoes it. The same question with
    the same epsilon on the same data is answered again for nothing. A question about public tables alone is free, and
    needs no --epsilon.

    With --within, the least epsilon is spent that reaches the error, beside earlier answers of the same data. The
    error of an average, a ratio or a quantile depends on its rows: epsilon is chosen as if a group had 1,000 of them,
    or as many as --group-rows says. Take a public number, or one that was released before; too small a one pays too
    much.

    A text of several statements is one workload: they are charged once, together. Tables of the same rows with the
    same aggregates are estimated together, so that they agree but for the rows whose group is not among the keys. So
    are the counts of several ranges of one column, such as ages. The comment before a statement is its name. With
    --output tables.csv each has a file, such as tables-NAME.csv; a .json file has all of them.

    \b
    Examples:
      discreet query "SELECT county, COUNT(*) AS n FROM visits GROUP BY county" --epsilon 0.1
      discreet query -p hospital/policy.toml --file cost.sql --epsilon 0.5 --output cost.csv
      discreet query -p hospital/policy.toml tables.sql --epsilon 0.5 --json
      discreet query -p hospital/policy.toml tables.sql --epsilon 0.5 --preview
      discreet query "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --epsilon 1 --delta 1e-9
      discreet query -p hospital/policy.toml --file cost.sql --epsilon 0.5 --output cost.svg
      discreet query "SELECT AVG(cost) AS cost FROM visits" --epsilon 1 --diagnose 0.05
      discreet query "SELECT county, COUNT(*) AS n FROM visits GROUP BY county" --within n=50
      discreet query "SELECT AVG(age) AS age FROM visits" --within age=0.5 --group-rows 20000
      discreet query --mock "SELECT AVG(age) AS age FROM visits" --epsilon 0.1
      discreet query "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --epsilon 1 --simultaneous
      discreet query --server https://stats.example.org "SELECT AVG(age) AS age FROM visits" --epsilon 0.1
      echo "SELECT AVG(age) AS age FROM visits" | discreet query - --epsilon 0.1 --json
      discreet query --source visits.csv --unit patient_id --max-rows 3 --budget 2 \\
          --bounds age=0:120 --keys county=Kent,Surrey \\
          "SELECT county, AVG(age) AS age FROM visits GROUP BY county" --epsilon 0.1
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.dbapi.named_statements import statements

    text = asked.text()
    named = statements(text)
    known = {"within": opt.errors_of(within), "group_rows": group_rows, "reuse": reuse}
    if epsilon is None and not within:
        epsilon = opt.price_in(text)
    # A question of one statement may be free, which the session tells.
    if (epsilon is None and not within and (look or len(named) > 1)) or (epsilon is not None and within):
        raise opt.Usage(NO_PRICE)
    if group_rows != opt.GROUP_ROWS and not within and not look:
        raise opt.Usage(
            "--group-rows decides the price of an error: name that with --within, or leave it out"
        )
    if look:
        preview(named, epsilon, asked, place, remote, {**known, "diagnose": diagnose}, sink.as_json)
        return
    sink.see()
    there = remote.open(place)
    several = len(named) > 1 or (sink.table is not None and there is None)
    if (several and (within or reuse is not None)) or (there is not None and reuse is not None):
        raise opt.Usage(
            "--within is for one statement, not into a table; --reuse and --fresh are for one answered here"
        )
    if len(named) > 1:
        assert epsilon is not None
        if diagnose is not None:
            raise opt.Usage("--diagnose is for one statement; the text has several")
        workload(named, epsilon, asked, place, sink, remote, mock)
        return
    if there is not None:
        price = {"within": known["within"], "group_rows": group_rows, "diagnose": diagnose}
        with _priced():
            _ask_server(there.mock() if mock else there, text, epsilon, price, asked, place, sink, mock)
        return
    with _priced(), ProgressLine("opening the data") as progress, place.opened(mock) as session:
        if sink.output is not None:
            session.see_free(sink.output)
        raised = None if place.source is None else _raised(session)
        release = _ask(session, text, epsilon, {"diagnose": diagnose, **known}, asked, place, sink, progress)
        left = session.budget
        where = session.ledger.where
    _put(release, left, sink)
    if not sink.quiet:
        if raised:
            say(raised)
        _tell(release, left, sink.output, mock, where if place.source is not None else "")


@contextlib.contextmanager
def _priced() -> Iterator[None]:
    """Ask for a price in the words of the command line, where a question turns out to have a cost."""
    from discreet.errors import InvalidParameter
    from discreet.session.parameters import NO_EPSILON

    try:
        yield
    except InvalidParameter as error:
        if error.cause != NO_EPSILON:
            raise
        raise opt.Usage(NO_PRICE) from None


def _ask_server(
    session: RemoteSession,
    text: str,
    epsilon: str | None,
    price: dict[str, Any],
    asked: AnswerOptions,
    place: SourceOptions,
    sink: Sink,
    mock: bool,
) -> None:
    """Ask a server; interrupted, the question goes on there, and its answer is free once it is kept."""
    with ProgressLine("asking the server"):
        release = session.sql(text, epsilon, **asked.keywords(place), **price)
        left = session.budget
    _put(release, left, sink)
    if not sink.quiet:
        _tell(release, left, sink.output, mock, "")


def _put(release: Release | Written, left: BudgetState, sink: Sink) -> None:
    """Print an answer, or write it into its file where the session has not."""
    from discreet.session.writing import Written

    if sink.table is None or isinstance(release, Written):
        sink.put(release, left)
        return
    from discreet.release.answer_file import Target

    target = Target(sink.table, replace=True, formulas=sink.formulas)
    with target.folder() as folder:
        target.write([release], folder)


def _raised(session: Session) -> str | None:
    """Tell whoever raises the limit of a ledger that it was lower; by a policy the steward's file says so."""
    from discreet.session.budget import DATA_SET

    latest = session.ledger.latest(DATA_SET)
    before = (
        next((line.limit for line in latest.postings if line.account == DATA_SET), None) if latest else None
    )
    limit = session.budget
    if before is None or limit.epsilon <= before.epsilon:
        return None
    return (
        f"warning: --budget raises the limit of {session.ledger.where} from epsilon {show(before.epsilon)} to "
        f"{show(limit.epsilon)}: together the answers may cost that much"
    )


def _tell(release: Release | Written, left: BudgetState, output: Path | None, mock: bool, where: str) -> None:
    """Print on stderr the notes, the warnings and the budget of an answer."""
    from discreet.cli.output import say

    if output is not None:
        say(f"wrote {output}")
    for note in release.notes[1:]:
        say(f"not covered: {options_for(note)}")
    if output is not None:
        for share in release.cut_off:
            say(f"cut off: {share}")
    for warning in release.warnings:
        say(f"warning: {options_for(warning)}")
    if mock:
        say("invented data: no number means anything, and nothing was charged")
        return
    say(f"budget: {left}" + (f", kept in {where}" if where else ""))


def _warn(session: Session, text: str, price: Mapping[str, Any], keywords: Mapping[str, Any]) -> None:
    """Say before the charge how an error may be missed, as a preview does: from the question and the policy alone."""
    from discreet.cli.output import say
    from discreet.errors import DiscreetError
    from discreet.escaping import name

    warnings: tuple[str, ...] = ()
    # The question itself is refused then; or, as EXPLAIN, it has no errors.
    with contextlib.suppress(DiscreetError):
        warnings = session.preview(text, **price, **keywords).warnings
    for warning in warnings:
        say(f"warning: {name(options_for(warning))}")


def _ask(
    session: Session,
    text: str,
    epsilon: str | None,
    price: dict[str, Any],
    asked: AnswerOptions,
    place: SourceOptions,
    sink: Sink,
    progress: ProgressLine,
) -> Release | Written:
    """Ask, straight into a file of a table; the price are the options beside epsilon that decide on it."""
    keywords = asked.keywords(place)
    # Without a price it is free, or refused.
    if sink.table is None or epsilon is None:
        if price["within"] and epsilon is None and not sink.quiet:
            _warn(session, text, price, keywords)
        return stoppable(lambda: session.sql(text, epsilon, progress=progress.say, **keywords, **price))
    into = sink.table
    keywords["diagnose"] = price["diagnose"]
    return stoppable(
        lambda: session.write(
            text, epsilon, into, replace=True, formulas=sink.formulas, progress=progress.say, **keywords
        )
    )
