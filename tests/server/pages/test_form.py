"""Questions that a form says: every choice that it offers is one that the session answers."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.errors import DiscreetError, InvalidParameter
from discreet.server.dataset import DataSet, open_dataset
from discreet.server.pages import form

POLICY = """\
[budget]
epsilon = 50
[source]
url = "parquet:visits.parquet"
[tables."visits"]
privacy_unit = "who"
max_rows = 3
[tables.visits.columns]
"order" = { bounds = [0, 120] }
"a ""b" = { keys = ["x", "it's"] }
day = { bounds = [2020-01-01, 2020-12-31] }
""".replace('"a ""b"', "'a \"b'")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("odd") / "odd"
    folder.mkdir()
    rows = pa.table(
        {
            "who": [1, 2],
            "order": [3, 4],
            'a "b': ["x", "it's"],
            "day": pa.array([18300, 18301], pa.date32()),
            "open": [True, False],
            "free": [0.5, 1.5],
        }
    )
    parquet.write_table(rows, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY)
    found = open_dataset(folder / "policy.toml")
    yield found
    found.session.close()


def test_every_example_and_every_choice_can_be_asked(dataset: DataSet) -> None:
    tables = dataset.schema()
    offered = form.choices(tables[0])
    assert offered["unit"] == ["who"]
    assert {"order", 'a "b', "day", "open"} <= set(offered["by"])
    assert "free" not in offered["column"]  # it has no bounds
    for words, query in form.examples(tables):
        assert words
        assert dataset.session.preview(query, epsilon=1).groups, query
    for what, column, by in itertools.product(
        form.measures(tables[0]), offered["column"], ["", *offered["by"]]
    ):
        query = form.written({"what": what, "column": column, "by1": by}, tables)
        assert dataset.session.preview(query, epsilon=1).groups, query


def test_an_example_groups_by_a_column_of_several_keys() -> None:
    def told(name: str, kind: str, values: list[str] | None, answers: str) -> dict[str, Any]:
        return {"column_name": name, "data_type": kind, "values": values, "answers": answers, "declared": ""}

    columns = [
        told("state", "VARCHAR", ["6"], "COUNT, WHERE, GROUP BY"), told("sex", "VARCHAR", ["f", "m"], "GROUP BY"),
        told("age", "BIGINT", None, "COUNT, WHERE, GROUP BY, SUM, AVG, MEDIAN"),
    ]  # fmt: skip
    tables = [{"table_name": "people", "kind": "private", "privacy_unit": "row", "columns": columns}]
    assert "Average of age, by sex" in dict(form.examples(tables))
    columns[1]["values"] = ["f"]
    assert "Average of age, by state" in dict(form.examples(tables))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("order", "65", '"order" >= 65'),
        ("order", "-1.5", '"order" >= -1.5'),
        ("day", "2020-02-29", "day >= DATE '2020-02-29'"),
        ('a "b', "it's; DROP", "\"a \"\"b\" >= 'it''s; DROP'"),
        ("free", "1e3", "free >= 1e3"),
    ],
)
def test_conditions_of_every_type(dataset: DataSet, column: str, value: str, said: str) -> None:
    fields = {"what": "rows", "where1": column, "test1": "is at least", "value1": value}
    query = form.written(fields, dataset.schema())
    assert f"WHERE {said}" in query
    dataset.session.preview(query, epsilon=1)


def test_yes_and_no(dataset: DataSet) -> None:
    query = form.written({"what": "rows", "where1": "open", "value1": "Yes"}, dataset.schema())
    assert "WHERE open = TRUE" in query
    dataset.session.preview(query, epsilon=1)


@pytest.mark.parametrize(
    "fields",
    [
        {"what": "x"},
        {"what": "average", "column": "free"},
        {"what": "average"},
        {"by1": "who"},
        {"where1": "x"},
        {"where1": "order", "test1": "; --"},
        {"where1": "order", "value1": "1 OR 1=1"},
        {"where1": "order", "value1": "1/2"},
        {"where1": "day", "value1": "yesterday"},
        {"where1": "open", "value1": "maybe"},
    ],
)
def test_other_choices_are_refused(dataset: DataSet, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        form.written(fields, dataset.schema())


def test_a_value_that_is_missing_or_stands_alone_is_said_to(dataset: DataSet) -> None:
    fields = {"what": "rows", "test1": "is at least"}
    with pytest.raises(InvalidParameter, match="for order is missing"):
        form.written({**fields, "where1": "order", "value1": " "}, dataset.schema())
    with pytest.raises(InvalidParameter, match="beside no column"):
        form.written({**fields, "where1": "", "value1": "65"}, dataset.schema())
    assert "WHERE" not in form.written({**fields, "where1": "", "value1": " "}, dataset.schema())


ODD = [
    "",
    "\x00",
    "\ud7ff\U0010ffff",
    "1e999",
    "1_000",
    "\u0661",
    "2020-01-01T00:00+01:00",
    "'; DROP",
    "0x10",
    "1/3",
    "\u066b5",
]


@pytest.mark.parametrize("column", ["order", "day", 'a "b', "open", "free"])
def test_odd_values_are_a_question_or_a_refusal_that_says_so(dataset: DataSet, column: str) -> None:
    for value in ODD:
        fields = {"what": "rows", "where1": column, "test1": "is not", "value1": value}
        with contextlib.suppress(DiscreetError):
            dataset.session.preview(form.written(fields, dataset.schema()), epsilon=1)
