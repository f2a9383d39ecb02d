"""Answers or previews the statements of a text as one workload, here or on a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet import escaping
from discreet.cli import options as opt
from discreet.cli.place import AnswerOptions, SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions
from discreet.cli.terminal.signals import stoppable
from discreet.cli.terminal.sink import Sink
from discreet.cli.terminal.spelling import in_options

if TYPE_CHECKING:
    from discreet.session.workloads import Answers

FILE_NAME = re.compile(r"[^\w-]+")
"""The characters that do not stand in the name of a file."""


def keywords_of(asked: AnswerOptions, place: SourceOptions) -> dict[str, Any]:
    """The keyword arguments of `Session.workload`."""
    keywords = asked.keywords(place)
    if keywords.pop("split") or keywords.pop("simultaneous"):
        raise opt.Usage("--split and --simultaneous are for one statement; the text has several")
    return keywords


def preview(
    named: Mapping[str, str],
    epsilon: str | None,
    asked: AnswerOptions,
    place: SourceOptions,
    remote: ServerOptions,
    more: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Print the cost of one statement or of several, and the errors of the answers; it is free."""
    from discreet.release.documents import dump

    there = remote.open(place)
    if more.get("reuse") is not None and there is not None:
        raise opt.Usage("--reuse and --fresh are for data here, not for a server")
    given = {name: value for name, value in more.items() if value is not None and value != {}}
    seen: Any
    if len(named) == 1:
        with ProgressLine("looking at the question"), there or place.open() as session:
            (text,) = named.values()
            seen = session.preview(text, epsilon, **asked.keywords(place), **given)
        typer.echo(dump(seen.to_dict()) if as_json else repr(in_options(seen)))
        return
    assert epsilon is not None
    keywords = keywords_of(asked, place)
    with ProgressLine("looking at the questions"), there or place.open() as session:
        seen = session.preview_workload(named, epsilon, group_rows=more["group_rows"], **keywords)
    typer.echo(dump({name: preview.to_dict() for name, preview in seen.items()}) if as_json else repr(seen))


def workload(
    named: dict[str, str],
    epsilon: str,
    asked: AnswerOptions,
    place: SourceOptions,
    sink: Sink,
    remote: ServerOptions,
    mock: bool,
) -> None:
    """Answer several statements as one workload: print it, or write its files."""
    from discreet.cli import output as out

    keywords = keywords_of(asked, place)
    if sink.as_csv:
        raise opt.Usage("several statements are answered as text, --json or --output; ask for one at a time")
    files = files_of(named, sink.output)
    there = remote.open(place)
    answers: Answers
    if there is not None:
        if mock:
            raise opt.Usage("--mock of several statements is for data here, not for a server")
        with ProgressLine("asking the server"), there as session:
            answers = session.workload(named, epsilon, **keywords)
            left: Any = session.budget
    else:
        with ProgressLine("opening the data") as progress, place.opened(mock) as session:
            for path in files.values():
                session.see_free(path)
            answers = stoppable(lambda: session.workload(named, epsilon, progress=progress.say, **keywords))
            left = session.budget
    put(answers, left, sink, files)
    if not sink.quiet:
        notes = dict.fromkeys(note for release in answers.values() for note in release.notes[1:])
        for path in dict.fromkeys(files.values()):
            out.say(f"wrote {path}")
        for note in notes:
            out.say(f"not covered: {note}")
        out.say(
            "invented data: no number means anything, and nothing was charged" if mock else f"budget: {left}"
        )


def files_of(named: Mapping[str, str], output: Path | None) -> dict[str, Path]:
    """The file of each statement: one of JSON for all, else one for each, by its name.

    Example:
        >>> [path.name for path in files_of({"by day": "", "all": ""}, Path("tables.csv")).values()]
        ['tables-by_day.csv', 'tables-all.csv']
    """
    if output is None:
        return {}
    if output.suffix.lower() == ".json":
        return dict.fromkeys(named, output)
    out: dict[str, Path] = {}
    for number, name in enumerate(named, 1):
        path = output.with_stem(f"{output.stem}-{FILE_NAME.sub('_', name)[:60] or number}")
        out[name] = path if path not in out.values() else output.with_stem(f"{output.stem}-{number}")
    return out


def put(answers: Answers, left: Any, sink: Sink, files: Mapping[str, Path]) -> None:
    """Print the answers, or write them."""
    from discreet.cli import output as out
    from discreet.release import documents
    from discreet.release.answer_file import Target, whole

    every = {name: documents.document(release, left) for name, release in answers.items()} if (
        sink.as_json or sink.output is not None) else {}  # fmt: skip
    if sink.as_json:
        typer.echo(documents.dump(every))
    elif sink.output is not None and sink.output.suffix.lower() == ".json":
        with whole(sink.output) as unfinished:
            unfinished.write_text(documents.dump(every) + "\n", "utf-8")
    elif sink.output is not None:
        for name, release in answers.items():
            if sink.table is None:
                out.write(release, left, files[name])
                continue
            target = Target(files[name], replace=True, formulas=sink.formulas)
            with target.folder() as folder:
                target.write([release], folder)
    else:
        for name, release in answers.items():
            typer.echo(escaping.name(name))
            out.print_release(release)
            typer.echo()
