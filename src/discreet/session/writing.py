"""Session.write: an answer straight into a file, in the same memory however many groups it has."""

from __future__ import annotations

import datetime as dt
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import IO

from discreet.errors import InvalidParameter, QueryRefused
from discreet.records import dataclass
from discreet.release import gate
from discreet.release.answer import Release
from discreet.release.answer_archive import Packer, answer_of, made_of
from discreet.release.answer_file import Target
from discreet.release.bill import charged_at
from discreet.release.cut_share import CutShare
from discreet.release.draw import Draw
from discreet.session.budget import DATA_SET
from discreet.session.queries import Queries
from discreet.session.question import SessionQuestion
from discreet.session.waiting.interruption import interruptibly
from discreet.sql.finish.blockwise import MOST_KEPT, answers, in_groups, integers, noisy_blocks
from discreet.sql.finish.many_groups import IN_MEMORY, streams
from discreet.sql.finish.rehearsal import rehearse
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.plan.plan import QueryPlan

EVERY = 0.5
"""Seconds between two words on how far it is."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Written:
    """An answer in a file.

    Attributes:
        path: of the file.
        rows: how many it has.
        columns: their names.
        question: the SQL that was asked.
        confidence: of the intervals, which are the columns `…_low` and `…_high`.
        epsilon: the privacy loss of the whole question.
        delta: 0 unless groups had to be found whose keys are not public.
        notes: the errors that the intervals do not cover.
        made: when.
        replayed: whether this is an earlier answer to the same question, which cost nothing again.
        warnings: the ways in which the numbers are likely to mislead.
        cut_off: as of a `Release`.
    """

    path: Path
    rows: int
    columns: tuple[str, ...]
    question: str
    confidence: float
    epsilon: Fraction
    delta: Fraction
    notes: tuple[str, ...]
    made: dt.datetime
    replayed: bool
    warnings: tuple[str, ...] = ()
    cut_off: tuple[CutShare, ...] = ()

    @classmethod
    def of(cls, release: Release, rows: int, path: Path) -> Written:
        """The facts of a file that a release, or its first piece, was written to."""
        return cls(path, rows, tuple(release.to_arrow().column_names), release.question, release.confidence,
                   release.epsilon, release.delta, release.notes, release.made, release.replayed,
                   release.warnings, release.cut_off)  # fmt: skip


def written(queries: Queries, question: SessionQuestion, target: Target, say: Say) -> Written:
    """Answer a question into a file.

    Raises:
        Those of `Session.write`.
    """
    plan = queries.planned(question)
    target.see(lambda: rehearse(plan, queries.catalog.public))
    if not streams(plan):
        return in_memory(queries.answer(question, plan, say), target)
    if any(release.people is not None for release in plan.releases):
        raise QueryRefused(
            f"Answers of more than {IN_MEMORY:,} groups are not made where people allow different epsilons.",
            "Ask for fewer groups, or in several questions.",
        )
    if plan.cut_off:
        raise InvalidParameter(
            "An answer of so many groups is written block by block, without measuring how much was cut off.",
            "Ask for a total of the same rows with diagnose, which needs few groups.",
        )
    if plan.shaping.nonnegative:
        raise InvalidParameter(
            "An answer of so many groups is written block by block, and each number without a change.",
            "Leave nonnegative out, and raise the numbers below zero where you read the file.",
        )
    if question.simultaneous and not in_groups(plan):
        raise InvalidParameter(
            "Simultaneous intervals of so many rows need an answer whose rows are groups.",
            "Write the groups, and compute from the file.",
        )
    return streamed(queries, question, plan, target, say)


def in_memory(release: Release, target: Target) -> Written:
    """Write an answer that is in memory."""
    with target.folder() as folder:
        first, rows = _written(target, [release], folder)
    return Written.of(first, rows, target.path)


def streamed(
    queries: Queries, question: SessionQuestion, plan: QueryPlan, target: Target, say: Say
) -> Written:
    """Answer a question that `streamed.streams` is true of, block by block, into a file.

    Raises:
        QueryRefused: it has more numbers than one answer can have. Nothing was charged.
        The others of `Session.write`.
    """
    if integers(plan) > MOST_KEPT:
        raise QueryRefused(
            f"The answer is made of {integers(plan):,} noisy integers; at most {MOST_KEPT:,} can be kept.",
            "Ask for fewer groups or fewer quantities at once.",
        )
    queries.rehearse(plan)
    with target.folder() as folder, (folder / "settled").open("w+b") as kept:

        def compute(draw: Draw) -> IO[bytes]:
            say("reading the data")
            interruptibly(queries.engine, lambda: _draw(queries, plan, kept, draw, say))
            return kept

        asked = queries.release_plan(
            question, plan, compute, lambda noisy: (False, noisy), lambda _, free: free, file=kept
        )
        replayed = gate.release(asked, queries.ledger, queries.account)
        with zipfile.ZipFile(kept) as archive:
            releases = _releases(queries, plan, archive, question.level, replayed, folder)
            first, rows = _written(target, _told(releases, say), folder)
    return Written.of(first, rows, target.path)


def _written(target: Target, pieces: Iterable[Release], folder: Path) -> tuple[Release, int]:
    """Write an answer that the ledger keeps."""
    try:
        return target.write(pieces, folder)
    except OSError as error:
        error.add_note("The answer is kept; the same question again is free.")
        raise


def _draw(queries: Queries, plan: QueryPlan, kept: IO[bytes], draw: Draw, say: Say) -> None:
    """The noisy integers of all releases, into a file."""
    salt = queries.ledger.salt(DATA_SET)
    packer = Packer(kept, charged_at())
    total = sum(release.cells * len(release.parts) for release in plan.releases)
    done, last = 0, time.monotonic()
    try:
        for number, release in enumerate(plan.releases):
            for part in range(len(release.parts)):
                for block in noisy_blocks(release, part, queries.engine, salt, draw):
                    packer.block(number, part, block)
                    done += len(block)
                    if time.monotonic() - last > EVERY:
                        last = time.monotonic()
                        say(f"drawing noise: {done:,} of {total:,} groups")
    finally:
        packer.close()


def _releases(
    queries: Queries, plan: QueryPlan, archive: zipfile.ZipFile, level: Level, replayed: bool, folder: Path
) -> Iterator[Release]:
    """The answer as one release after the other, each with some of its rows."""
    release = answer_of(archive)  # there is one where it was answered in memory before
    if (
        release is not None
        and (release.confidence, release.simultaneous) == level
        and release.question == plan.text
        and not plan.shaping
    ):
        yield replace(release, replayed=replayed)
        return
    made = made_of(archive)
    for answered in answers(plan, archive, queries.catalog.public, level.confidence, folder, level.together):
        yield queries.shown(plan, answered, level.confidence, made, replayed, level.together)


def _told(releases: Iterator[Release], say: Say) -> Iterator[Release]:
    """The same, with a word on how far it is from time to time."""
    say("finishing the answer")
    rows, last = 0, time.monotonic()
    for release in releases:
        yield release
        rows += len(release)
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            say(f"writing the answer: {rows:,} rows")
