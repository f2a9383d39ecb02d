"""A report says what is known of each marginal, and a page of it runs nothing and loads nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter
from discreet.synthetic.errors import MarginalError
from discreet.synthetic.report import SyntheticReport

REPORT = SyntheticReport(
    ("age", "<script>alert(1)</script>", "c"),
    (
        MarginalError((0,), True, 0.01),
        MarginalError((1,), True, 0.02),
        MarginalError((2,), True, 0.0),
        MarginalError((0, 1), True, 0.05),
        MarginalError((0, 2), False, 0.3),
        MarginalError((1, 2), False, None),
    ),
    1234.5,
    "Of the table <b>, for epsilon 1.",
)


def test_lines_and_json() -> None:
    assert REPORT.lines() == [
        "1-way: 3 of 3 marginals measured; at most 1.0% of the rows misplaced in the middle one",
        "2-way: 1 of 3 marginals measured; at most 30.0% of the rows misplaced in the middle one",
    ]
    document = json.loads(json.dumps(REPORT.to_dict()))
    assert [one["most"] for one in document["marginals"]] == [0.01, 0.02, 0.0, 0.05, 0.3, None]


def test_a_page(tmp_path: Path) -> None:
    page = REPORT.save(tmp_path / "report.html").read_text("utf-8")
    assert "th,td{padding:" in page  # else the words of two cells run into each other
    assert "<script" not in page
    assert "nothing is known" in page
    assert page.count("<svg") == 2  # for a screen and for a phone
    assert "device-width" in page
    assert "prefers-color-scheme" in page
    assert "Not preserved" in page
    assert "<p>Of the table &lt;b&gt;, for epsilon 1.</p>" in page
    assert "td:first-child{min-width:" in page  # else a phone breaks names that would fit


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter):
        REPORT.save(tmp_path / "report.doc")
