"""The parts of a policy: the declarations about the budget, a table and a column."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from discreet.accounting.tally import Rule
from discreet.policy import values
from discreet.policy.personal import Personal
from discreet.policy.problems import PolicyModel, wrong
from discreet.policy.values import Bound, Key, KeyReference

Words = Annotated[str, Field(strict=True, min_length=1, max_length=2000)]
"""A text for people."""
KEYS = 5
"""How many keys of a column are shown."""


class Budget(PolicyModel):
    """The privacy loss that a data set may ever spend.

    Attributes:
        epsilon: above zero, exact; a float is read as its shortest decimal.
        delta: at least 0 and below 1, exact; 0 for pure differential privacy.
        accountant: how losses are composed: `pure` adds them up. `zcdp` and `pld` need a delta, half of which they
            keep for questions that have one of their own, and count many small epsilons as less than their sum;
            `pld` counts least when every question has the same epsilon. All hold for questions that depend on
            earlier answers.
        version: of the data; a new name begins the budget anew. It is for data about other people, or about another
            time where the loss about each time is bounded by itself: who is in both loses the sum.

    Raises:
        PolicyError: a number is outside its range, or the accountant needs a delta that is not granted.

    Example:
        >>> Budget(epsilon=0.1)
        Budget(epsilon=Fraction(1, 10), delta=Fraction(0, 1), accountant='pure', version='')
    """

    epsilon: Annotated[Fraction, PlainValidator(values.epsilon)]
    delta: Annotated[Fraction, PlainValidator(values.delta)] = Fraction(0)
    accountant: Annotated[Rule, PlainValidator(values.accountant)] = "pure"
    version: Annotated[str, PlainValidator(values.version)] = ""

    if TYPE_CHECKING:

        def __init__(
            self, *, epsilon: object, delta: object = 0, accountant: str = "pure", version: str = ""
        ) -> None: ...

    @model_validator(mode="after")
    def _granted(self) -> Budget:
        if self.accountant != "pure" and not self.delta:
            raise wrong(
                f"It needs a delta to compose by {self.accountant}.", "Write delta = 1e-9, say.", "delta"
            )
        return self


class About(PolicyModel):
    """The facts about a deployment that only people know, for the card of every answer; no answer depends on them.

    Attributes:
        curator: who is responsible for the data.
        contact: whom to ask.
        product: the name of the deployment, such as a dashboard.
        use: the use that is intended.
        region: where the people live.
        dates: the time that the data is of, and for how long answers are given.
        sources: how the data came to be, and where the deployment is described.
        rationale: the reason for this unit, these bounds and this budget.

    Example:
        >>> About(curator="St. Elsewhere", region="Austria").given()
        {'curator': 'St. Elsewhere', 'region': 'Austria'}
    """

    curator: Words | None = None
    contact: Words | None = None
    product: Words | None = None
    use: Words | None = None
    region: Words | None = None
    dates: Words | None = None
    sources: Words | None = None
    rationale: Words | None = None

    def given(self) -> dict[str, str]:
        """Those that are there."""
        return {name: words for name in type(self).model_fields if (words := getattr(self, name)) is not None}


class ColumnPolicy(PolicyModel):
    """The declarations about one column.

    Attributes:
        bounds: least and greatest value that counts; a value outside is clamped. Exact numbers, dates,
            or date-times without zone, in UTC.
        keys: the public set of values to group by, or the column of a public table that holds them; a row
            with another value is dropped.
        type: how the column of a CSV file is read: text, integer, float, boolean, date or timestamp. By default its
            keys or its bounds decide by their spelling; without them it is a text. A value that does not fit is NULL.
        max_items: of a list, how many of its items count as rows; `bounds` and `keys` of a list are those of its items.
    """

    bounds: Annotated[tuple[Bound, Bound] | None, PlainValidator(values.bounds)] = None
    keys: Annotated[tuple[Key, ...] | KeyReference | None, PlainValidator(values.keys)] = None
    type: Annotated[str | None, PlainValidator(values.column_type)] = None
    max_items: Annotated[int | None, PlainValidator(values.items)] = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            bounds: object = None,
            keys: object = None,
            type: object = None,  # noqa: A002
            max_items: object = None,
        ) -> None: ...

    def words(self) -> str:
        """The declarations, in words.

        Example:
            >>> ColumnPolicy(bounds=(0, 120)).words(), ColumnPolicy(keys=["Kent", "Essex"]).words()
            ('0 … 120', "2 keys: 'Kent', 'Essex'")
        """
        said = []
        if self.bounds is not None:
            said.append(" … ".join(str(end) for end in self.bounds))
        if isinstance(self.keys, KeyReference):
            said.append(f"keys from {self.keys.table}.{self.keys.column}")
        elif self.keys is not None:
            first = ", ".join(repr(key) if isinstance(key, str) else str(key) for key in self.keys[:KEYS])
            more = ", …" if len(self.keys) > KEYS else ""
            said.append(f"{len(self.keys):,} key{'s' * (len(self.keys) != 1)}: {first}{more}")
        if self.max_items is not None:
            said.append(f"at most {self.max_items:,} items")
        return "; ".join(said)


class TablePolicy(PolicyModel):
    """The declarations about one table.

    Attributes:
        privacy_unit: the column that names the unit a row belongs to, or "row" when each row is one unit; with
            `through`, "table.column" of the table at the end of the way.
        max_rows: rows kept of a unit.
        max_rows_per_group: rows of a unit kept in one group of a question; None for as many as max_rows.
        through: where the unit stands in another table: column -> "table.column", the key there that it holds.
        public: the table holds nothing private.
        columns: the declarations about its columns, by name.
        url: the place of the table, when it is not in the source of the policy.
        personal: the classes of people who allow different epsilons; None where everybody allows the same.
    """

    privacy_unit: str | None = None
    max_rows: Annotated[int | None, PlainValidator(values.rows)] = None
    max_rows_per_group: Annotated[int | None, PlainValidator(values.rows)] = None
    through: Annotated[dict[str, KeyReference] | None, PlainValidator(values.through)] = None
    public: Annotated[bool, Field(strict=True)] = False
    columns: dict[str, ColumnPolicy] = Field(default_factory=dict)
    url: Annotated[str | None, BeforeValidator(values.place)] = None
    personal: Personal | None = None

    @model_validator(mode="after")
    def _complete(self) -> TablePolicy:
        if self.public:
            if any((self.privacy_unit, self.max_rows, self.max_rows_per_group, self.through)):
                given = "privacy_unit, through" if self.through is not None else "privacy_unit"
                raise wrong("A public table has no privacy unit.", f"Remove {given} and max_rows, or public.")
        elif not self.privacy_unit:
            raise wrong(
                "It is missing.",
                'Name the column that tells people apart, or write "row" when each row is one person; a table '
                "that holds nothing private declares public = true.",
                "privacy_unit",
            )
        elif self.privacy_unit == "row" and self.through is not None:
            raise wrong(
                "Each row is one unit, which needs no other table.",
                'Write privacy_unit = "table.column", the column that tells people apart, or remove through.',
                "through",
            )
        elif self.privacy_unit == "row":
            for name, most in (("max_rows", self.max_rows), ("max_rows_per_group", self.max_rows_per_group)):
                if most not in (None, 1):
                    raise wrong('It is 1 when privacy_unit is "row".', "Remove it.", name)
            object.__setattr__(self, "max_rows", 1)
        elif self.max_rows is None:
            raise wrong(
                "It is missing.",
                "Decide how many rows of one unit may count, such as max_rows = 3: fewer mean less noise, but the "
                "rows beyond are left out.",
                "max_rows",
            )
        return self
