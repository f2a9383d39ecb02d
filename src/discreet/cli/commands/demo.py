"""`discreet demo`: private answers on invented data, with the truth beside them."""

from __future__ import annotations

import logging
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import ProgressLine
from discreet.errors import BudgetExceeded, QueryRefused
from discreet.records import dataclass

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

    from discreet.release.answer import Release
    from discreet.session import Session


@dataclass(frozen=True)
class DemoQuestion:
    """A question of the demo, and why it is asked."""

    why: str
    sql: str
    epsilon: str


FIRST = DemoQuestion(
    "How many visits did each department have?",
    "SELECT department, COUNT(*) AS visits\nFROM visits GROUP BY department ORDER BY visits DESC",
    "0.1",
)
SECOND = DemoQuestion(
    "What does a stay of the old cost, by county? Count and averages together cost one epsilon.",
    "SELECT county, COUNT(*) AS visits, AVG(cost) AS cost, AVG(nights) AS nights\n"
    "FROM visits WHERE age >= 65 GROUP BY county ORDER BY cost DESC",
    "0.6",
)
THIRD = DemoQuestion(
    "When do emergencies come? The share is computed from the noisy counts, in ordinary SQL, and free.",
    "WITH monthly AS (\n"
    "  SELECT month(date) AS month, COUNT(*) AS visits\n"
    "  FROM visits WHERE department = 'Emergency' GROUP BY month(date))\n"
    "SELECT month, visits, 100.0 * visits / SUM(visits) OVER () AS percent\n"
    "FROM monthly ORDER BY month",
    "0.3",
)
RAW = "SELECT patient_id, age, cost FROM visits WHERE age > 100"
GREEDY = DemoQuestion("", "SELECT AVG(age) AS age FROM visits", "1.5")


def command(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Keep the data and the policy in a new folder."),
    ] = None,
) -> None:
    """Show private answers on invented hospital visits, with the truth beside them.

    \b
    Examples:
      discreet demo
      discreet demo --keep hospital
      discreet query -p hospital/policy.toml "SELECT AVG(age) AS age FROM visits" --epsilon 0.1
    """  # noqa: D301
    import duckdb
    from rich.console import Console

    from discreet.cli.invented import CLAMPED, POLICY, make
    from discreet.session import protect

    if keep is not None and keep.exists():
        raise opt.Usage(f"--keep {keep}: it exists; name a new folder")
    console = Console(highlight=False, soft_wrap=True)
    with ExitStack() as stack:
        if keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-")))
        else:
            folder = keep
            folder.mkdir(parents=True)
        with ProgressLine("inventing hospital visits"):
            rows = make(folder)
        _title(
            console, f"{rows:,} hospital visits, invented, so that the truth can be shown beside the answers"
        )
        console.print("The steward writes a policy, once:\n")
        console.print("\n".join("  " + line for line in POLICY.splitlines()), style="cyan", markup=False)
        # A new ledger is no news here: the data was invented a moment ago.
        log = logging.getLogger("discreet.ledger")
        log.addFilter(_never)
        stack.callback(log.removeFilter, _never)
        session = stack.enter_context(protect(policy=folder / "policy.toml"))
        truth = stack.enter_context(duckdb.connect())
        file = str(folder / "visits.parquet").replace("'", "''")
        truth.execute(f"CREATE VIEW visits AS {CLAMPED} FROM read_parquet('{file}')")

        _ask_all(console, session, truth)
    _title(console, "Next, with a file of yours")
    if keep is not None:
        console.print(f'  discreet query -p {keep}/policy.toml "{GREEDY.sql}" --epsilon 0.1', markup=False)
    console.print("  discreet init FILE -o policy.toml")
    console.print('  discreet query "SELECT COUNT(*) AS n FROM …" --epsilon 0.1')


def _never(record: logging.LogRecord) -> bool:
    return False


def _ask_all(console: Console, session: Session, truth: duckdb.DuckDBPyConnection) -> None:
    """Preview a question, ask three, and show two that are refused."""
    _title(console, "Before asking: what would it cost, and how exact would it be? This reads no data")
    _show(console, FIRST.sql)
    console.print()
    console.print(repr(session.preview(FIRST.sql, FIRST.epsilon)), markup=False)
    console.print("The other way round, the least epsilon for ± 50 visits:", style="dim")
    console.print(repr(session.preview(FIRST.sql, within={"visits": 50})), markup=False)

    hits = [_answer(console, session, truth, question) for question in (FIRST, SECOND, THIRD)]
    inside, told = (sum(column) for column in zip(*hits, strict=True))
    console.print(
        f"\nOf {told} intervals at 95 %, {inside} contain the truth, that is, the answer of plain DuckDB for the "
        "same values,\nclamped to the same bounds. The same question again is free, and has the same answer.",
        style="dim",
    )
    _title(console, "Questions that are refused")
    _refused(console, session, RAW, "0.1")
    console.print()
    _refused(console, session, GREEDY.sql, GREEDY.epsilon)
    console.print()
    console.print(f"budget: {session.budget!r}, and the ledger's {session.ledger.verify()} entries verify")


def _title(console: Console, words: str) -> None:
    console.print(f"\n── {words}", style="bold")


def _show(console: Console, sql: str) -> None:
    console.print("\n".join("  " + line for line in sql.splitlines()), style="cyan", markup=False)


def _answer(
    console: Console, session: Session, truth: duckdb.DuckDBPyConnection, question: DemoQuestion
) -> tuple[int, int]:
    """Ask and show the truth beside the answer; returns how many intervals contain it, of how many."""
    from discreet.cli.output import cells, print_table

    _title(console, question.why)
    _show(console, question.sql)
    release = session.sql(question.sql, question.epsilon)
    real = _true_rows(release, truth, question.sql)
    body, right = cells(release)
    measures = [name for name in release.columns if name in release.low]
    columns = [(name, "truth") if name in measures else (name,) for name in release.columns]
    header = [name for pair in columns for name in pair]
    hits = told = 0
    lines = []
    for index, row in enumerate(body):
        line = []
        for name, cell in zip(release.columns, row, strict=True):
            line.append(cell)
            if name not in measures:
                continue
            low, high, exact = (
                release.low[name][index].as_py(),
                release.high[name][index].as_py(),
                real[index][name],
            )
            line.append("" if exact is None else f"{exact:,.{_digits(cell)}f}")
            if None not in (low, high, exact):
                told += 1
                hits += low <= exact <= high
        lines.append(line)
    sides = [side for pair, side in zip(columns, right, strict=True) for _ in pair]
    print_table(header, lines, sides, {index for index, name in enumerate(header) if name == "truth"})
    console.print(f"epsilon {question.epsilon} charged; budget: {session.budget!r}", style="dim")
    return hits, told


def _true_rows(release: Release, truth: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, float | None]]:
    """The true rows in the order of the answer's keys."""
    found = truth.sql(sql).to_arrow_table().to_pylist()
    keys = [name for name in release.columns if name not in release.low]
    by_key = {tuple(row[key] for key in keys): row for row in found}
    wanted = release.values.select(keys).to_pylist()
    return [by_key.get(tuple(row.values()), dict.fromkeys(release.columns)) for row in wanted]


def _digits(cell: str) -> int:
    number = cell.partition(" ")[0]
    return len(number.partition(".")[2])


def _refused(console: Console, session: Session, sql: str, epsilon: str) -> None:
    from discreet.cli.failure import styled

    _show(console, f"{sql}   -- epsilon {epsilon}")
    try:
        session.sql(sql, epsilon)
    except (QueryRefused, BudgetExceeded) as error:
        styled(error, console)
    else:  # pragma: no cover
        raise AssertionError("the demo's last questions must be refused")
