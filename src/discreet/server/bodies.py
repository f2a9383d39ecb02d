"""The bodies of requests: every key is known, and every value has its type and its largest size."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from discreet.session.parameters import GROUP_ROWS, MOST_GROUP_ROWS

LONGEST_QUERY = 100_000
_Text = Annotated[str, Field(max_length=100)]
Number = Annotated[
    _Text | int | float, Field(description='An exact number: 0.1, "1/3" or "0.05".', examples=["0.1"])
]

_GroupRows = Annotated[
    int, Field(ge=1, le=MOST_GROUP_ROWS, description="How many rows a group is assumed to have.")
]
LOOKED = frozenset({"rows", "within", "group_rows"})
"""The keys of bodies that are no options of an answer."""


class Body(BaseModel):
    """The base of every body."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Options(Body):
    """The options that a question and a workload share; `Session.workload` has the same."""

    epsilon: Annotated[Number | None, Field(description="The privacy loss of all of it.")] = None
    delta: Annotated[Number | None, Field(description="Allows groups to be found.")] = None
    confidence: Annotated[float, Field(description="Of the intervals.")] = 0.95
    intervals: Annotated[bool, Field(description="Whether quantiles spend a part of epsilon on theirs.")] = (
        True
    )
    max_rows: Annotated[int | None, Field(description="How many rows of a unit count.")] = None
    max_groups: Annotated[int | None, Field(description="In how many groups a unit is counted.")] = None
    max_rows_per_group: Annotated[
        int | None, Field(description="How many rows of a unit count in one group.")
    ] = None
    nonnegative: Annotated[bool, Field(description="Whether counts are never shown below zero.")] = False
    integers: Annotated[
        bool, Field(description="Whether counts are whole where tables are estimated together, too.")
    ] = False

    def asked(self) -> dict[str, Any]:
        """The keyword arguments of `Session`, but for those that were left out."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in found.items() if value is not None and name not in LOOKED}


class Question(Options):
    """A question and its price."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_QUERY,
            description="One SELECT in DuckDB's dialect.",
            examples=["SELECT COUNT(*) AS n FROM visits"],
        ),
    ]
    simultaneous: Annotated[bool, Field(description="Whether all intervals together have it.")] = False
    split: Annotated[
        dict[_Text, Number] | None, Field(max_length=200, description="How columns share epsilon.")
    ] = None
    diagnose: Annotated[
        Number | None, Field(description="The share of epsilon that measures how much was cut off.")
    ] = None


class PricedQuestion(Question):
    """A question with its price, or with the errors that its price follows from."""

    within: Annotated[
        dict[_Text, Number] | None,
        Field(max_length=200, description="The largest error allowed, by column, instead of epsilon."),
    ] = None
    group_rows: _GroupRows = GROUP_ROWS


class Workload(Options):
    """Several questions as one, and the price of all of them."""

    queries: Annotated[
        dict[_Text, Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]],
        Field(min_length=1, max_length=64, description="The questions by name, each one SELECT."),
    ]
    epsilon: Annotated[Number, Field(description="The privacy loss of all of them.")]


class WorkloadLook(Workload):
    """Several questions to preview as one."""

    group_rows: _GroupRows = GROUP_ROWS

    def looked(self) -> dict[str, Any]:
        """The keyword arguments of `Session.preview_workload`."""
        return {**self.asked(), "group_rows": self.group_rows}


class MockQuestion(Question):
    """A question about invented rows."""

    rows: Annotated[int, Field(ge=1, le=100_000, description="How many rows each table gets.")] = 10_000


class PreviewQuestion(PricedQuestion):
    """A question to preview."""

    def looked(self) -> dict[str, Any]:
        """The keyword arguments of `Session.preview`."""
        more = {} if self.within is None else {"within": self.within}
        return {**self.asked(), **more, "group_rows": self.group_rows}


class ExplainQuestion(Body):
    """A question to explain."""

    query: Annotated[
        str, Field(min_length=1, max_length=LONGEST_QUERY, description="One SELECT in DuckDB's dialect.")
    ]
    epsilon: Annotated[Number, Field(description="The privacy loss of all of it.")] = 1
    delta: Annotated[Number | None, Field(description="Allows groups to be found.")] = None
    max_rows: Annotated[int | None, Field(description="How many rows of a unit count.")] = None
    max_groups: Annotated[int | None, Field(description="In how many groups a unit is counted.")] = None
    max_rows_per_group: Annotated[
        int | None, Field(description="How many rows of a unit count in one group.")
    ] = None
    split: Annotated[
        dict[_Text, Number] | None, Field(max_length=200, description="How columns share epsilon.")
    ] = None
    confidence: float = 0.95
    simultaneous: bool = False
    intervals: bool = True

    def explained(self) -> dict[str, Any]:
        """The keyword arguments of `Session.explain`."""
        names = (
            "query",
            "epsilon",
            "delta",
            "max_rows",
            "max_groups",
            "max_rows_per_group",
            "split",
            "intervals",
        )
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class NewPerson(Body):
    """Somebody new."""

    name: Annotated[
        str, Field(max_length=60, description="a-z, 0-9 and single . _ - between.", examples=["ana"])
    ]
    role: Annotated[str, Field(max_length=20, description="analyst or steward.")] = "analyst"


class NewBudget(Body):
    """The most that an analyst may ever spend of a data set."""

    epsilon: Number
    most: Annotated[Number | None, Field(description="The most that one question may cost.")] = None
    until: Annotated[
        str | None, Field(max_length=10, description="The last day, in UTC.", examples=["2026-12-31"])
    ] = None


class NewAccount(Body):
    """An account of the provider, and the person whom it lets in."""

    account: Annotated[
        str,
        Field(
            max_length=200,
            description="The claim, exactly as the provider writes it.",
            examples=["auth0|5f7c"],
        ),
    ]
    name: Annotated[str, Field(max_length=60, description="Of the person.", examples=["ana"])]


class NewToken(Body):
    """A token for a person."""

    days: Annotated[int, Field(ge=1, le=366, description="How long it holds.")] = 90
    scopes: Annotated[
        list[_Text], Field(max_length=4, description="Of read, ask for analysts; audit, manage for stewards.")
    ] = []
