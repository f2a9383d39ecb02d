"""The picture has a dot for each bound and says of how many marginals nothing is known."""

from __future__ import annotations

import json

from discreet.synthetic.picture import picture_of_errors
from discreet.synthetic.report import SyntheticReport
from tests.synthetic.test_report import REPORT


def test_dots() -> None:
    drawn = json.dumps(picture_of_errors(REPORT).to_dict())
    assert drawn.count('"kind": "measured"') == 4
    assert drawn.count('"kind": "not measured"') == 1
    assert "Of 1 marginals nothing is known." in drawn


def test_panels_of_a_narrow_picture_stand_above_each_other() -> None:
    wide, narrow = (picture_of_errors(REPORT, size).to_dict() for size in ("slide", "column"))
    assert "column" in wide["facet"]
    assert narrow["columns"] == 1
    assert narrow["spec"]["width"] > 300


def test_nothing_known() -> None:
    empty = SyntheticReport(("a",), (), 1.0)
    assert picture_of_errors(empty).to_dict()
