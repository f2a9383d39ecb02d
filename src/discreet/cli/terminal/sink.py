"""Where an answer goes: stdout, as text, JSON or CSV, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.terminal.standard_streams import see_writable
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.session import BudgetState
    from discreet.session.writing import Written


@dataclass(frozen=True)
class Sink:
    """Where an answer goes, and how.

    Attributes:
        output: the file; stdout without one.
        as_json: whether JSON is printed.
        as_csv: whether CSV is printed.
        formulas: whether text in CSV may begin as a formula does.
        quiet: whether nothing is said beside the answer.
    """

    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write a .csv, .parquet or .json file, or a picture, .svg, .png or .html.",
        ),
    ] = None
    as_json: opt.Json = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False
    formulas: Annotated[
        bool, typer.Option("--formulas", help="Leave text in CSV that a spreadsheet would run as a formula.")
    ] = False
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing beside the answer.")] = False

    def see(self) -> None:
        """See, before anything is charged, that an answer can go there."""
        from discreet.cli import output as out

        if (self.as_json, self.as_csv, self.output is not None).count(True) > 1:
            raise opt.Usage("give one of --json, --csv and --output")
        out.check_output(self.output)
        if self.output is None:
            see_writable()

    @property
    def table(self) -> Path | None:
        """The file, where it is one of a table, which the session writes itself."""
        from discreet.cli.output import TABLES

        return self.output if self.output is not None and self.output.suffix.lower() in TABLES else None

    def put(self, release: Release | Written, left: BudgetState) -> None:
        """Print an answer, or write it into its file where it is not there already."""
        from discreet.cli import output as out
        from discreet.release import documents
        from discreet.session.writing import Written

        if isinstance(release, Written):
            return
        if self.output is not None:
            try:
                out.write(release, left, self.output)
            except Exception as error:
                error.add_note("The answer is kept; the same question again is free.")
                raise
        elif self.as_json:
            typer.echo(documents.dump(documents.document(release, left)))
        elif self.as_csv:
            out.print_csv(release, self.formulas)
        else:
            out.print_release(release)
