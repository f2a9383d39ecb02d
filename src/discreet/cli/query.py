"""`discreet query`: answers a question and charges its epsilon."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from discreet.cli import options as opt
from discreet.cli.progress import Progress
from discreet.cli.streams import see_writable
from discreet.errors import EngineError, PostProcessingError, tell

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.session import Session
    from discreet.session.writing import Written


def command(
    sql: opt.Sql = None,
    epsilon: Annotated[
        str | None,
        typer.Option("-e", "--epsilon", metavar="EPSILON", help="What the whole question may cost."),
    ] = None,
    policy: opt.PolicyFile = None,
    file: opt.SqlFile = None,
    confidence: opt.Confidence = 0.95,
    simultaneous: opt.Simultaneous = False,
    delta: opt.Delta = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write a .csv, .parquet or .json file, or a picture, .svg or .png.",
        ),
    ] = None,
    as_json: opt.Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    mock: Annotated[
        bool, typer.Option("--mock", help="Ask invented data of the same shape: free, and means nothing.")
    ] = False,
    formulas: Annotated[
        bool, typer.Option("--formulas", help="Leave text in CSV that a spreadsheet would run as a formula.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing beside the answer.")] = False,
    source: opt.Source = None,
    table: opt.Table = None,
    unit: opt.Unit = None,
    max_rows: opt.MaxRows = None,
    max_groups: opt.MaxGroups = None,
    split: opt.Split = None,
    bounds: opt.Bounds = None,
    keys: opt.Keys = None,
    types: opt.Types = None,
    budget: opt.BudgetEpsilon = None,
    ledger: opt.LedgerFile = None,
) -> None:
    """Answer a question, and charge its epsilon.

    The charge is durable before any data is read, and stays whatever happens then. The same question with
    the same epsilon on the same data is answered again for nothing.

    \b
    Examples:
      discreet query "SELECT county, COUNT(*) AS n FROM visits GROUP BY county" --epsilon 0.1
      discreet query -p hospital/policy.toml --file cost.sql --epsilon 0.5 --output cost.csv
      discreet query "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --epsilon 1 --delta 1e-9
      discreet query -p hospital/policy.toml --file cost.sql --epsilon 0.5 --output cost.svg
      discreet query --mock "SELECT AVG(age) AS age FROM visits" --epsilon 0.1
      discreet query "SELECT city, COUNT(*) AS n FROM visits GROUP BY city" --epsilon 1 --simultaneous
      echo "SELECT AVG(age) AS age FROM visits" | discreet query - --epsilon 0.1 --json
      discreet query --source visits.csv --unit patient_id --max-rows 3 --budget 2 \\
          --bounds age=0:120 --keys county=Kent,Surrey \\
          "SELECT county, AVG(age) AS age FROM visits GROUP BY county" --epsilon 0.1
    """  # noqa: D301
    from discreet.cli import output as out
    from discreet.session.writing import Written

    text = opt.question(sql, file)
    if epsilon is None:
        epsilon = opt.price_in(text)
    if epsilon is None:
        raise opt.Usage("name the cost with --epsilon; `discreet preview` helps to choose it")
    if (as_json, as_csv, output is not None).count(True) > 1:
        raise opt.Usage("give one of --json, --csv and --output")
    out.check_output(output)
    if output is None:
        see_writable()
    place = opt.Place(policy, source, table, unit, max_rows, bounds, keys, budget, ledger, types)
    with Progress("opening the data") as progress, _opened(place, mock) as session:
        if output is not None:
            session.see_free(output)
        shares = dict(opt.read_pair(one, "--split") for one in split or ())
        straight = output if output is not None and output.suffix.lower() in out.TABLES else None
        asked = _Asked(
            text,
            epsilon,
            delta,
            confidence,
            place.question_rows,
            max_groups,
            shares,
            straight,
            formulas,
            simultaneous,
        )
        release = _ask(session, asked, progress)
        left = session.budget
        where = session.ledger.where
    if isinstance(release, Written):
        pass  # it is in its file already
    elif output is not None:
        try:
            out.write(release, left, output)
        except Exception as error:
            error.add_note("The answer is kept; the same question again is free.")
            raise
    elif as_json:
        typer.echo(out.dump(out.document(release, left)))
    elif as_csv:
        out.print_csv(release, formulas)
    else:
        out.print_release(release)
    if quiet:
        return
    if output is not None:
        out.say(f"wrote {output}")
    for note in release.notes[1:]:
        out.say(f"not covered: {note}")
    for warning in release.warnings:
        out.say(f"warning: {warning}")
    if mock:
        out.say("invented data: no number means anything, and nothing was charged")
        return
    out.say(f"budget: {left}" + (f", kept in {where}" if source is not None else ""))


def _opened(place: opt.Place, mock: bool) -> Session:
    """The session of a place, or one over invented data with its policy."""
    if not mock:
        return place.open()
    with place.open() as real:
        return real.mock()


class _Asked(NamedTuple):
    """A question as the command line has it."""

    text: str
    epsilon: str
    delta: str | None
    confidence: float
    max_rows: int | None
    max_groups: int | None
    split: dict[str, str]
    table: Path | None
    formulas: bool
    simultaneous: bool


def _ask(session: Session, asked: _Asked, progress: Progress) -> Release | Written:
    """Ask, straight into a file of a table."""
    interrupted = False

    def stop(number: int, frame: FrameType | None) -> None:
        # DuckDB turns the interrupt that it notices into an error of its own, so it is noted here.
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        if asked.table is not None:
            return session.write(
                asked.text, asked.epsilon, asked.table, confidence=asked.confidence,
                simultaneous=asked.simultaneous, delta=asked.delta,
                max_rows=asked.max_rows, max_groups=asked.max_groups, split=asked.split, replace=True,
                formulas=asked.formulas, progress=progress.say,
            )  # fmt: skip
        return session.sql(
            asked.text, asked.epsilon, confidence=asked.confidence, simultaneous=asked.simultaneous,
            delta=asked.delta, max_rows=asked.max_rows,
            max_groups=asked.max_groups, split=asked.split, progress=progress.say,
        )  # fmt: skip
    except (EngineError, PostProcessingError) as error:
        if not interrupted:
            raise
        failure = KeyboardInterrupt()
        tell(failure, error.charged)
        raise failure from None
    finally:
        signal.signal(signal.SIGINT, before)
