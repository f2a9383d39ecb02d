"""`discreet stream`: running totals over time, from lines that keep coming, under one charge."""

from __future__ import annotations

import datetime as dt
import math
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli import place
from discreet.cli.option_groups import grouped
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.streams import Estimate, Stream, StreamSpec
    from discreet.streams.feeds import Feed
    from discreet.streams.periods import Periods

PAUSE = 0.5
"""Seconds between two looks at a file that is followed."""


@dataclass(frozen=True)
class StreamOptions:
    """The declarations of a stream, which the command and `discreet.stream` share; all of them make its question."""

    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy.", show_default=False)]
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of the whole stream.")]
    start: Annotated[
        str, typer.Option("--start", metavar="DATE", help="When the first period begins, in UTC.")
    ]
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="NAME", help="The private table that the lines are of, if there are several."
        ),
    ] = None
    periods: Annotated[
        int | None,
        typer.Option("--periods", metavar="T", min=1, help="How many periods it has; else none is the last."),
    ] = None
    delta: Annotated[
        str,
        typer.Option(
            "--delta", metavar="DELTA", help="May be spent, on Gaussian noise where that errs less."
        ),
    ] = "0"
    window: Annotated[
        int,
        typer.Option(
            "--window", metavar="W", min=0, help="Totals of the last W periods; else of all so far."
        ),
    ] = 0
    every: Annotated[
        str, typer.Option("--every", metavar="LENGTH", help="minute, hour, day, week or month.")
    ] = "day"
    column: Annotated[str, typer.Option("--time", metavar="COLUMN", help="The column with a row's time.")] = (
        "time"
    )
    count: Annotated[bool, typer.Option("--count", help="Count rows; so it is without --sum or --mean.")] = (
        False
    )
    sums: Annotated[
        list[str] | None, typer.Option("--sum", metavar="COLUMN", help="Add up a bounded column; repeated.")
    ] = None
    means: Annotated[
        list[str] | None,
        typer.Option("--mean", metavar="COLUMN", help="The mean of a bounded column; repeated."),
    ] = None
    by: Annotated[str | None, typer.Option("--by", metavar="COLUMN", help="Group by its public keys.")] = None
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="period, tree, root, doubling, even, fraction."),
    ] = ""
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Of the stream; else that of the table.")
    ] = ""


@dataclass(frozen=True)
class Fed:
    """Where the lines come from, and the clock that closes periods."""

    source: Annotated[
        str,
        typer.Option(
            "--input", metavar="FILE", help="- is stdin; or redis://host/stream; with --poll a database."
        ),
    ] = "-"
    poll: Annotated[
        bool,
        typer.Option(
            "--poll", help="Read the table, of the policy's source or --input, when periods have ended."
        ),
    ] = False
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="SECONDS", min=0, help="By the clock, periods close so much later."),
    ] = 0
    form: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="lines, arrow or parquet; else as the file is named."),
    ] = ""
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more lines at the end of the file.")] = (
        False
    )
    ticks: Annotated[
        bool, typer.Option("--ticks", help="Lines `#tick TIME` close the periods before that time.")
    ] = False
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="At the end of the input, close the periods before; else now."
        ),
    ] = None

    def last(self) -> dt.datetime | None:
        """The time whose periods close at the end of the input; None for the time then."""
        return None if self.until is None else _time(self.until, "--until")

    def now(self) -> dt.datetime:
        """The time by which periods close."""
        try:
            return dt.datetime.now(dt.UTC).replace(tzinfo=None) - dt.timedelta(seconds=self.grace)
        except (ValueError, OverflowError):
            raise opt.Usage(f"--grace {self.grace}: write a number of seconds, such as 60") from None

    def table(self) -> object:
        """The table that is polled: True for that of the policy's source, False for none."""
        if self.poll and (self.form or self.ticks):
            raise opt.Usage("--poll reads a table, which has no --format and no --ticks")
        return self.poll and (self.source == "-" or self.source)


@grouped
def command(
    declared: StreamOptions,
    feed: Fed,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="FOLDER", help="As secret as the data; else beside the policy."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Print only periods that close now.")] = False,
    ledger: opt.LedgerPlace = None,
    confidence: opt.Confidence = 0.95,
    as_json: opt.Json = False,
) -> None:
    """Count rows by period as they come, and print each period when it has closed.

    They come as lines, CSV with a header or JSON; as batches of Arrow or files of Parquet; from a message broker; or
    from a table of any engine, which is read whenever a period has ended.

    The whole stream is charged once, when it begins. A stream that was stopped or killed goes on with the same noise,
    for nothing, when it is given the same input from its start, with the new lines behind. Periods close by a clock:
    that of this computer with --follow or --poll, lines `#tick TIME` with --ticks, and at the end of the input. A row
    that comes after its period has closed is dropped.

    \b
    Examples:
      discreet stream policy.toml --every day --start 2026-01-01 --periods 365 -e 1 < visits.csv
      discreet stream policy.toml --table visits --start 2026-01-01 --periods 52 --every week --by ward --sum cost \\
        -e 0.5 --input visits.jsonl --follow --json
      discreet stream policy.toml --table visits --start 2026-01-01 -e 1 --mean cost --window 7 --follow \\
        --input redis://localhost/visits
      discreet stream policy.toml --start 2026-01-01 -e 1 --time seen_at --every hour --poll --grace 60 --follow
      discreet plan --stream 365 --epsilon 1       (the errors of all methods, before)
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.cli.terminal.standard_streams import see_writable
    from discreet.policy import Policy
    from discreet.session.sources.streaming import stream

    begin, last = _time(declared.start, "--start"), feed.last()
    feed.now()
    policy = place.policy_file(declared.policy)
    table = declared.table or place.private_table(Policy.from_toml(policy))
    see_writable()
    with ExitStack() as stack:
        polled = feed.table()
        rows = _InputRows(feed, stack) if polled is False else None
        running = stack.enter_context(
            stream(
                policy, table, start=begin, epsilon=declared.epsilon,
                periods=declared.periods, delta=declared.delta, every=declared.every, time=declared.column,
                by=declared.by, count=declared.count or not (declared.sums or declared.means),
                sums=declared.sums or (), means=declared.means or (), window=declared.window, method=declared.method,
                name=declared.name, state=state, ledger=ledger, confidence=confidence, poll=polled,
                see=None if rows is None else rows.see,
            )
        )  # fmt: skip
        spec, charged = running.spec, running.charged
        say(spec.promise if charged is None else f"{spec.promise} {charged} was charged.")
        shown = _EstimateLines(spec, as_json)
        if not new:
            for t in range(1, running.closed + 1):
                shown(running.estimates(t))
        if feed.follow:
            say(_awaited(spec.periods, feed))
        if rows is None:
            _poll(running, feed, last, shown)
        else:
            read = rows.feed
            read.skip(running.progress.read, running.progress.digest)
            for t in _clock(running, read, feed, last):
                shown(running.close(t, read))
        if not running.closed:
            say(f"No period has ended yet: the first one ends {_end(spec.periods, 1)}.")


class _InputRows:
    """The rows of an input, which is opened before the charge."""

    feed: Feed

    def __init__(self, fed: Fed, stack: ExitStack) -> None:
        from discreet.streams.feeds import open_feed

        self._made = stack.enter_context(open_feed(fed.source, fed.form, fed.follow, fed.ticks))

    def see(self, spec: StreamSpec) -> None:
        """See that it has the columns."""
        self.feed = self._made(spec)
        self.feed.look()


def _awaited(periods: Periods, feed: Fed) -> str:
    """When the next period of an input that is followed is printed.

    Example:
        >>> from discreet.streams.periods import Periods
        >>> _awaited(Periods(dt.datetime(2500, 1, 1), "day", 3), Fed(follow=True))
        'A period is printed when it has ended by the clock of this computer: the next one ends 2500-01-02 00:00 UTC.'
    """
    if feed.ticks:
        return "A period is printed when a line #tick with its end, or a later time, has come."
    later = f" and {feed.grace:g} seconds of --grace are over" if feed.grace else ""
    said = f"A period is printed when it has ended by the clock of this computer{later}"
    ended = periods.ended(feed.now())
    if ended == periods.count:
        return f"{said}: all have ended."
    return f"{said}: the next one ends {_end(periods, ended + 1)}."


def _end(periods: Periods, t: int) -> str:
    """The end of a period, for people."""
    end = periods.begin(t + 1)
    return f"{end.isoformat(' ', 'seconds' if end.second else 'minutes')} UTC"


def _poll(stream: Stream, feed: Fed, last: dt.datetime | None, shown: _EstimateLines) -> None:
    """Read the table when periods have ended; one that cannot be read now is tried again, as its periods stay open."""
    from discreet.cli.output import say
    from discreet.errors import EngineError, SourceError

    silent = False
    while True:
        try:
            shown(stream.poll(feed.now() if last is None or feed.follow else last))
            silent = False
        except (SourceError, EngineError) as error:
            if not feed.follow:
                raise
            if not silent:
                say(f"{error} The stream goes on when the table can be read.")
            silent = True
        if not feed.follow or stream.closed == stream.spec.periods.count:
            return
        time.sleep(PAUSE)


def _clock(stream: Stream, read: Feed, feed: Fed, last: dt.datetime | None) -> Iterator[int]:
    """Count the rows; yield how many periods have ended, each time that the clock was looked at."""
    ended = stream.spec.periods.ended
    while True:
        for piece in read.pieces():
            if isinstance(piece, dt.datetime):
                yield ended(piece)
            else:
                stream.take(piece)
        if not feed.follow:
            yield ended(last or feed.now())
            return
        if not feed.ticks:
            yield ended(feed.now())
        if stream.closed == stream.spec.periods.count:
            return
        time.sleep(PAUSE)


class _EstimateLines:
    """Prints estimates, a line each; counts as whole numbers."""

    def __init__(self, spec: StreamSpec, as_json: bool) -> None:
        self._group = spec.group
        self._window = spec.window
        self._as_json = as_json

    def __call__(self, estimates: list[Estimate]) -> None:
        for estimate in estimates:
            typer.echo(self._json(estimate) if self._as_json else self._text(estimate))
        sys.stdout.flush()

    def _json(self, estimate: Estimate) -> str:
        from discreet.release.documents import dump
        from discreet.streams.measure import COUNT

        document: dict[str, Any] = {"period": estimate.period}
        if self._group is not None:
            document[self._group] = estimate.key
        document |= {"measure": estimate.name, "value": estimate.value, "error": estimate.error,
                     "total": estimate.total, "total_error": estimate.total_error}  # fmt: skip
        if estimate.name == COUNT:
            document |= {name: _plain(document[name]) for name in ("value", "total")}
        if self._window:
            document["window"] = self._window
        return " ".join(dump(document).split())

    def _text(self, estimate: Estimate) -> str:
        from discreet import escaping
        from discreet.streams.measure import COUNT

        key = f"  {escaping.name(estimate.key)}" if self._group is not None else ""
        total = f"last {self._window:,}" if self._window else "total"
        said = _whole if estimate.name == COUNT else _number
        return (
            f"{estimate.period}{key}  {estimate.name} {said(estimate.value, estimate.error)}  "
            f"{total} {said(estimate.total, estimate.total_error)}"
        )


def _number(value: float, error: float) -> str:
    return f"{value:,.1f} ± {error:,.1f}"


def _whole(value: float, error: float) -> str:
    """A count in whole numbers, around which the true one, which is whole, lies wherever it lies around the value.

    Example:
        >>> _whole(-7.0, 11.0), _whole(12.4, 5.5)
        ('-7 ± 11', '12 ± 5')
    """
    near = round(value)
    return f"{near:,} ± {math.floor(error + abs(value - near) + 1e-9):,}"


def _plain(value: float) -> float:
    """A number without a fraction that it has not."""
    return int(value) if value.is_integer() else value


def _time(text: str, option: str) -> dt.datetime:
    from discreet.streams import time_of

    found = time_of(text)
    if found is None:
        raise opt.Usage(f"{option} {text}: write a time like 2026-01-01 or 2026-01-01T06:00Z")
    return found
