"""Where the data of a command is, and the session that its options stand for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import options as opt
from discreet.errors import InvalidParameter, SourceError, tell
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.session import Session

DEFAULT_POLICY = Path("policy.toml")


@dataclass(frozen=True)
class SourceOptions:
    """The place of the data and its declarations: a policy file, or options that stand for one."""

    policy: opt.PolicyFile = None
    source: opt.Source = None
    table: opt.Table = None
    unit: opt.Unit = None
    max_rows: opt.MaxRows = None
    bounds: opt.Bounds = None
    keys: opt.Keys = None
    budget: opt.BudgetEpsilon = None
    ledger: opt.LedgerPlace = None
    types: opt.Types = None

    @property
    def question_rows(self) -> int | None:
        """The rows of a unit that count in this question; without a policy the session knows it already."""
        return None if self.source is not None else self.max_rows

    def opened(self, mock: bool) -> Session:
        """Its session, or one over invented data with its policy."""
        if not mock:
            return self.open()
        with self.open() as real:
            return real.mock()

    def open(self, describe: bool = False) -> Session:
        """Open the session; a missing option is bad usage.

        Args:
            describe: whether it is only asked for its tables, which needs neither a unit nor a budget of a file.

        Raises:
            DiscreetError: as for `protect`.
        """
        if self.source is None:
            self._only_with_source()
            from discreet.session import protect

            return protect(policy=policy_file(self.policy), ledger=self.ledger)
        if self.policy is not None:
            raise opt.Usage("give either --policy or --source")
        unit, budget, ledger = self.unit, self.budget, self.ledger
        if describe and budget is None:
            budget, ledger = "1", ":memory:"  # nothing is charged, and nothing is left behind
        if describe and unit is None:
            unit = "row"
        self._see_whole(unit, budget)
        bounds = dict(opt.read_bounds(text) for text in self.bounds or ())
        keys = dict(opt.read_keys(text) for text in self.keys or ())
        types = dict(opt.read_pair(text, "--type") for text in self.types or ())
        from discreet.session import protect

        with source_of("--source"):
            return protect(
                self.source, table=self.table, privacy_unit=unit, max_rows=self.max_rows if self.unit else None,
                bounds=bounds or None, keys=keys or None, types=types or None, budget=budget, ledger=ledger,
            )  # fmt: skip

    def _see_whole(self, unit: str | None, budget: str | None) -> None:
        """Refuse a source whose declarations are not whole, naming all that is missing at once."""
        column = "--unit COLUMN with --max-rows N (or --unit row)"
        named: dict[str, object] = {column: unit, "--budget EPSILON": budget}
        if unit is not None and unit != "row":
            named = {"--max-rows N": self.max_rows, **named}
        missing = [option for option, value in named.items() if value is None]
        if missing:
            raise opt.Usage(f"without a policy, --source needs {' and '.join(missing)}")

    def _only_with_source(self) -> None:
        given = {"--table": self.table, "--unit": self.unit, "--bounds": self.bounds, "--keys": self.keys,
                 "--type": self.types, "--budget": self.budget}  # fmt: skip
        for option, value in given.items():
            if value:
                raise opt.Usage(f"{option} goes with --source; a policy file says it itself")


@contextmanager
def source_of(option: str) -> Iterator[None]:
    """Open the source that an option or argument names.

    Raises:
        InvalidParameter: there is no such source, which is bad usage.
    """
    try:
        yield
        return
    except SourceError as error:
        cause, fix, told = error.cause, error.fix, error.told
    usage = InvalidParameter(f"{option}: {cause}", fix)
    if told:
        tell(usage, None)
    raise usage


def policy_file(given: Path | None) -> Path:
    """The policy file: the one given, else that of the environment, else the one in this folder."""
    named = given or (Path(os.environ["DISCREET_POLICY"]) if os.environ.get("DISCREET_POLICY") else None)
    path = named or DEFAULT_POLICY
    if path.is_file():
        return path
    if named is not None:
        raise opt.Usage(f"there is no policy file {path}")
    raise opt.Usage(
        "there is no policy.toml in this folder; name one with --policy, make one with `discreet init FILE`, "
        "or ask a file directly with --source"
    )


def private_table(policy: Policy) -> str:
    """The name of the one private table.

    Raises:
        Usage: there are several.
    """
    private = [name for name, declared in policy.tables.items() if not declared.public]
    if len(private) != 1:
        raise opt.Usage(f"name one of the tables {', '.join(private)} with --table")
    return private[0]


@dataclass(frozen=True)
class QuestionOptions:
    """A question as the command line has it, but for its epsilon.

    Attributes:
        sql: the question, or - for stdin.
        file: where it is read from instead.
        delta: allows groups to be found.
        max_groups: in how many groups a unit is counted.
        max_rows_per_group: how many rows of a unit count in one group.
        no_intervals: whether quantiles spend nothing on theirs.
    """

    sql: opt.Sql = None
    file: opt.SqlFile = None
    delta: opt.Delta = None
    max_groups: opt.MaxGroups = None
    max_rows_per_group: opt.MaxRowsPerGroup = None
    no_intervals: opt.NoIntervals = False

    def text(self) -> str:
        """The text of the question."""
        return opt.question(self.sql, self.file)


@dataclass(frozen=True)
class AnswerOptions(QuestionOptions):
    """A question whose answer has intervals.

    Attributes:
        confidence: of the intervals.
        simultaneous: whether all together have it.
        split: how columns share epsilon.
        nonnegative: whether no number is shown below zero that cannot be.
        integers: whether all counts are whole.
    """

    confidence: opt.Confidence = 0.95
    simultaneous: opt.Simultaneous = False
    split: opt.Split = None
    nonnegative: opt.Nonnegative = False
    integers: opt.Integers = False

    def keywords(self, place: SourceOptions) -> dict[str, Any]:
        """The keyword arguments of `Session.sql`, `write` and `preview`."""
        return {
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "intervals": not self.no_intervals,
            "delta": self.delta,
            "max_rows": place.question_rows,
            "max_groups": self.max_groups,
            "max_rows_per_group": self.max_rows_per_group,
            "nonnegative": self.nonnegative,
            "integers": self.integers,
            "split": dict(opt.read_pair(pair, "--split") for pair in self.split or ()),
        }
