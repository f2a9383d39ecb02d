"""A comparison with none of the keys is found in the text and the policy, and told before and beside the answer."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused

COUNTIES = {"note": ["Alder", "Birch"]}


def test_an_answer_says_that_no_row_can_pass_and_a_refusal_names_the_key() -> None:
    table = pa.table({"note": ["Alder", "Birch"]})
    with dp.protect(table, privacy_unit="row", keys=COUNTIES, budget=3) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM data WHERE note = 'Aldr'", 1)
        assert "none of the keys of note is 'Aldr': did you mean 'Alder'?" in release.warnings
        assert session.sql("SELECT COUNT(*) AS n FROM data WHERE note = 'Alder'", 1).warnings == ()
        with pytest.raises(QueryRefused, match="Did you mean 'Alder'"):
            session.sql("SELECT note, COUNT(*) AS n FROM data WHERE note = 'Aldr' GROUP BY note", 1)
        with pytest.raises(QueryRefused, match="Look at the conditions"):
            session.sql("SELECT note, COUNT(*) AS n FROM data WHERE note = 'zzzz' GROUP BY note", 1)


def test_a_key_that_is_a_number_is_named_as_one() -> None:
    with dp.protect(
        pa.table({"code": [401, 502]}), privacy_unit="row", keys={"code": [401, 502]}, budget=3
    ) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM data WHERE code = 40", 1)
        assert "none of the keys of code is 40: did you mean 401?" in release.warnings
        with pytest.raises(QueryRefused, match=r"Did you mean 401\?"):
            session.sql("SELECT code, COUNT(*) AS n FROM data WHERE code = 40 GROUP BY code", 1)
