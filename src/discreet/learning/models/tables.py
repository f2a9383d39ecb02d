"""Models from a table of a session: the engine adds up, the session charges, and the model is made of the answer.

The statement asks for the sums of columns and of their products, each moved to -1 to 1 by the bounds of the model and
clamped; NULL is the middle. It is a question like any other: the bounds of the policy hold, too, its privacy unit and
`max_rows` count, every engine answers it, and the same one is answered from the ledger again, for nothing.

A linear regression asks twice. The second statement has the noisy line in it and asks for the variances of its
coefficients (`learning.whole`), for LEFTOVERS of epsilon. Leftovers of one person may go together: with k rows of a
person at most, the variance over people is at most k times that over rows (Cauchy and Schwarz), and this is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np

from discreet.engines.schema import Type
from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.learning.centred import Centred
from discreet.learning.intervals import units_of
from discreet.learning.models.bayes import GaussianNB
from discreet.learning.models.linear import PCA, LinearRegression, LogisticRegression
from discreet.learning.models.releasing import wide
from discreet.learning.statistics import Floats, read_bounds
from discreet.learning.whole import CAREFUL, Whole, leverage
from discreet.quoting import quote
from discreet.rational import epsilon_of
from discreet.session.question import SessionQuestion
from discreet.session.session import Session
from discreet.sql.expressions.dialect import quoted_text

LEFTOVERS: Final = Fraction(1, 5)
"""The share of epsilon of the variances of coefficients."""

NUMBERS: Final = frozenset({Type.INTEGER, Type.FLOAT, Type.BOOLEAN})
"""Types of columns that models take as numbers; a truth value is 0 or 1."""

Model = TypeVar("Model", bound="LinearRegression | LogisticRegression | PCA | GaussianNB")


def fit_table(
    model: Model, session: Session, table: str, *, features: Sequence[str], target: str | None = None
) -> Model:
    """Fit a model on the columns of a private table, on any engine.

    Args:
        model: a `LinearRegression`, `LogisticRegression`, `PCA` or `GaussianNB` with its bounds, and classes that are
            keys in the policy. Its budget is not used: the session is charged its epsilon.
        session: has the table.
        table: its name.
        features: names of columns of numbers or truth values.
        target: of the column to foretell, a number for `LinearRegression`; none for `PCA`.

    Returns:
        The model, fitted.

    Raises:
        InvalidParameter: the model cannot be fitted so, or an argument does not fit. Nothing was charged.
        Every error of `Session.sql` is raised too.

    Privacy: epsilon, for the neighbours of the session, who may be people with several rows.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> ages = np.linspace(20, 80, 5_000)
        >>> people = pa.table({"age": ages, "pay": 300 * ages})
        >>> session = dp.protect(
        ...     people, privacy_unit="row", bounds={"age": (20, 80), "pay": (0, 30_000)}, budget=8
        ... )
        >>> model = LinearRegression(epsilon=8, bounds=[(20, 80)], target_bounds=(0, 30_000))
        >>> made = fit_table(model, session, "data", features=["age"], target="pay")
        >>> bool(250 < made.coef_[0] < 350)
        True
    """
    if not isinstance(model, (LinearRegression, LogisticRegression, PCA, GaussianNB)):
        raise InvalidParameter(
            "This model is not made of sums alone.", "Take a regression, PCA or GaussianNB, or fit arrays."
        )
    if isinstance(model, (LinearRegression, LogisticRegression)):
        model.see_parameters()
    if isinstance(model, LinearRegression) and model.robust:
        raise InvalidParameter("An engine has no medians of pairs.", "Leave out robust, or fit arrays.")
    bounds = wide(model.bounds, len(features))
    if len(bounds) != len(features) or not features:
        raise InvalidParameter("The bounds do not fit.", "Give (least, greatest) for each feature.")
    if model.budget is not None:
        raise InvalidParameter("The model has a budget of its own.", "Leave it out: the session is charged.")
    if (target is None) is not isinstance(model, PCA):
        raise InvalidParameter("The target does not fit the model.", "Name a column, or none for PCA.")
    numbers = [*features, str(target)] if isinstance(model, LinearRegression) else features
    see_numbers(session, table, numbers)
    model.bounds_ = bounds
    columns = [moved_sql(name, ends) for name, ends in zip(features, read_bounds(bounds), strict=True)]
    if isinstance(model, GaussianNB):
        _naive(model, session, table, columns, str(target))
    elif isinstance(model, PCA):
        model.see_components(len(features))
        model._axes(_moments(session, table, columns, model.epsilon))
    elif isinstance(model, LinearRegression):
        ends = read_bounds([model.target_bounds or (0, 0)])[0]
        every = [*columns, moved_sql(str(target), ends)]
        model._from_whole(whole_table(session, table, every, units_of(model._box), epsilon_of(model.epsilon)))
    else:
        second = literal(model.classes[1])
        chosen = f"CASE WHEN {quote(str(target))} = {second} THEN 1.0 ELSE -1.0 END"
        model._from_moments(_moments(session, table, [*columns, chosen], model.epsilon))
    model.n_features_in_ = len(features)
    return model


def see_numbers(session: Session, table: str, names: Sequence[str]) -> None:
    """See that columns are of numbers or truth values, by their types alone.

    A text would be read as the number that it spells and any other as the middle of the bounds, so that a column of
    names would cost epsilon and teach nothing. Tables and columns that are unknown are refused by the question.

    Raises:
        InvalidParameter: a column is of another type.
    """
    known = session._queries.catalog.private.get(table.lower())
    for name in names:
        column = None if known is None else known.columns.get(name.lower())
        if column is not None and column.type not in NUMBERS:
            raise InvalidParameter(
                f"The column {quote(name)} holds no numbers: its type is {column.type.name}.",
                "Leave it out, cast it in a view of the source, or declare bounds for a column of a CSV file.",
            )


def moved_sql(name: str, ends: Floats) -> str:
    """A column between -1 and 1 by its bounds, in SQL."""
    least, most = (repr(float(end)) for end in ends)
    middle, half = repr(float(ends.mean())), repr(float(ends[1] - ends[0]) / 2)
    column = f"CAST({quote(name)} AS DOUBLE)"
    return f"((LEAST(GREATEST(COALESCE({column}, {middle}), {least}), {most}) - {middle}) / {half})"


def literal(label: Any) -> str:
    """A label in SQL.

    Raises:
        InvalidParameter: it is neither a text nor a whole number.
    """
    if isinstance(label, str):
        return quoted_text(label)
    if isinstance(label, (bool, np.bool_)):
        return str(bool(label)).upper()
    if isinstance(label, (int, np.integer)):
        return str(int(label))
    raise InvalidParameter("A class is neither a text nor a whole number.", "Write classes=(0, 1).")


def _sums(
    session: Session, table: str, columns: Sequence[str], epsilon: Any, last_square: bool = True
) -> tuple[Floats, Floats]:
    """Noisy sums of products of a constant and the columns, and the scales of their noise: both (k + 1, k + 1).

    The product of the last column with itself is 0 where nobody needs it.
    """
    every = ["1", *columns]
    first, second = np.triu_indices(len(every))
    if not last_square:
        first, second = first[:-1], second[:-1]
    sums = ["COUNT(*) AS m0"]
    for index, (a, b) in enumerate(zip(first[1:], second[1:], strict=True), 1):
        product = every[b] if a == 0 else f"{every[a]} * {every[b]}"
        sums.append(f"SUM({product}) AS m{index}")
    answer = session.sql(f"SELECT {', '.join(sums)} FROM {quote(table)}", epsilon=epsilon)
    row = answer.to_pandas().iloc[0]
    matrix, scales = np.zeros((2, len(every), len(every)))
    matrix[first, second] = matrix[second, first] = [float(row[f"m{index}"]) for index in range(len(sums))]
    widths = [float(row[f"m{index}_high"] - row[f"m{index}_low"]) / 2 for index in range(len(sums))]
    scales[first, second] = scales[second, first] = np.array(widths) / math.log(1 / (1 - answer.confidence))
    return matrix, scales


def _moments(session: Session, table: str, columns: Sequence[str], epsilon: Any) -> Centred:
    """The sums as moments of columns that need not be moved."""
    matrix, scales = _sums(session, table, columns, epsilon)
    return Centred(matrix, float(scales.max()), np.zeros(len(columns)), np.ones(len(columns)))


def whole_table(
    session: Session, table: str, columns: Sequence[str], to_units: Floats, epsilon: Fraction
) -> Whole:
    """The moments of a line through columns in SQL, the target last, and the variances of its coefficients.

    Where the budget has room for the moments alone, the variances have no end.
    """
    matrix, scales = _sums(session, table, columns, epsilon * (1 - LEFTOVERS), last_square=False)
    inside, beside = matrix[:-1, :-1], matrix[:-1, -1]
    weights, turned, most = leverage(inside, beside, to_units)
    left = max(1.0, min(2.0, 1 + float(np.abs(weights).sum())))
    rest = f"({columns[-1]} - {_combined(weights, columns)})"
    sums = []
    for index, (row, top) in enumerate(zip(turned, most, strict=True)):
        own = _combined(row / math.sqrt(top) / left, columns)
        sums.append(f"SUM(LEAST(POWER({own} * {rest}, 2), 1.0)) AS v{index}")
    text = f"SELECT {', '.join(sums)} FROM {quote(table)}"
    try:
        answer = session.sql(text, epsilon=epsilon * LEFTOVERS)
    except BudgetExceeded:
        variances = np.full(len(sums), np.inf)
    else:
        found = answer.to_pandas().iloc[0]
        log = math.log(1 / (1 - answer.confidence))
        variances = np.array([float(found[f"v{index}"]) for index in range(len(sums))])
        widths = [float(found[f"v{index}_high"] - found[f"v{index}_low"]) / 2 for index in range(len(sums))]
        variances = np.maximum(variances + CAREFUL * math.sqrt(2) * np.array(widths) / log, 0)
        variances = variances * most * left**2 * _rows_of_a_person(session, text)
    return Whole(inside, beside, 0.0, 1.0, variances, scales[:-1, :-1], scales[:-1, -1], joint=False)


def _combined(weights: Floats, columns: Sequence[str]) -> str:
    """A constant and columns with their weights, in SQL; columns beyond the weights are left out."""
    terms = [f"({float(weight)!r}) * {name}" for weight, name in zip(weights[1:], columns, strict=False)]
    return f"(({float(weights[0])!r}) + {' + '.join(terms)})"


def _rows_of_a_person(session: Session, text: str) -> int:
    """How many rows of a person count at most."""
    part = session._queries.planned(SessionQuestion.read(text, 1)).releases[0].parts[0]
    return int(part.cap) if part.rows.per_unit else 1


def _naive(model: GaussianNB, session: Session, table: str, columns: Sequence[str], target: str) -> None:
    """Naive Bayes from the sums of each class."""
    classes = list(model.classes or ())
    named = [literal(category) for category in classes]
    if len(named) < 2 or len(set(named)) < len(named):
        raise InvalidParameter(
            "The classes are missing, or one is there twice.", "Give classes=(0, 1), keys of the policy."
        )
    listed = ", ".join(named)
    sums = [f"SUM({column}) AS s{index}" for index, column in enumerate(columns)]
    sums += [f"SUM({column} * {column}) AS q{index}" for index, column in enumerate(columns)]
    label = quote(target)
    answer = session.sql(
        f"SELECT {label} AS label, COUNT(*) AS n, {', '.join(sums)} FROM {quote(table)} "
        f"WHERE {label} IN ({listed}) GROUP BY {label}",
        epsilon=model.epsilon,
    )
    frame = answer.to_pandas()
    rows = {label: row for label, (_, row) in zip(frame["label"].tolist(), frame.iterrows(), strict=True)}
    found = []
    for category in classes:
        row = rows.get(category)
        if row is None:  # it is no key of the policy: nobody has it
            found.append([0.0] * (2 * len(columns) + 1))
            continue
        count = float(row["n"])
        sums_of = [float(row[f"s{index}"]) for index in range(len(columns))]
        found.append(
            [count, *sums_of, *(2 * float(row[f"q{index}"]) - count for index in range(len(columns)))]
        )
    numbers = ["n", *(f"{kind}{index}" for kind in "sq" for index in range(len(columns)))]
    widths = [float((frame[f"{number}_high"] - frame[f"{number}_low"]).mean()) / 2 for number in numbers]
    error = math.sqrt(2) * max(widths) / math.log(1 / (1 - answer.confidence))
    model.classes_ = np.array(classes)
    total = max(sum(row[0] for row in found), 1.0)
    model._learn(np.array(found), error, round(total))
