"""The kind of a source, told by the name of its file, and what a file of no kind is told."""

from __future__ import annotations

import pytest

from discreet.engines.duckdb.sources.urls import kind_of, read_url
from discreet.errors import SourceError


@pytest.mark.parametrize(
    ("path", "kind"), [("a.CSV.gz", "csv"), ("a.pq", "parquet"), ("a.db", "duckdb"), ("a.tsv", "csv")]
)
def test_the_suffix_tells_the_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind
    assert read_url(f"{kind}:visits")[0] == kind


@pytest.mark.parametrize(("path", "fix"), [
    ("visits.xlsx", "Save its sheet as CSV, and name that file."), ("Visits.ODS", "Save its sheet as CSV"),
    ("visits.txt", 'Write it in front, as in "parquet:path"'), ("visits", "Write it in front"),
])  # fmt: skip
def test_a_file_of_no_kind(path: str, fix: str) -> None:
    with pytest.raises(SourceError) as caught:
        kind_of(path)
    assert caught.value.fix.startswith(fix)
