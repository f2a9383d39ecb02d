from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import shared
from tests.people import DECLARED, TABLES

import discreet as dp
from discreet.accounting import event_text
from discreet.accounting.events import LaplaceNoise
from discreet.release import documents
from discreet.release.cards.deployment import facts

ABOUT = {"curator": "St. Elsewhere", "use": "planning"}
FIELDS = {
    "curator", "contact", "product", "intended_use", "region", "dates", "sources", "rationale", "to_be_declared",
    "privacy_unit", "neighbours", "flavour", "model", "budget", "accounting", "bounds_and_keys", "not_protected",
    "timing", "implementation",
}  # fmt: skip
"""The fields that registries of deployments ask for; those of an answer stand before them."""
QUESTION = "SELECT county, COUNT(*) AS n, MEDIAN(age) AS m FROM visits GROUP BY county"


@pytest.fixture
def session() -> Iterator[dp.Session]:
    with shared.protect(dict(TABLES), policy=dp.Policy(**{**DECLARED, "about": ABOUT})) as opened:
        yield opened


def test_the_facts_of_a_policy() -> None:
    known = facts(dp.Policy(**{**DECLARED, "about": ABOUT}))
    assert set(known) == FIELDS
    assert (known["curator"], known["intended_use"], known["region"]) == ("St. Elsewhere", "planning", None)
    assert "region" in known["to_be_declared"]
    assert "use" not in known["to_be_declared"]
    assert known["privacy_unit"][0] == {"table": "visits", "unit": "patient", "max_rows": 100_000}
    assert "the public table counties" in known["not_protected"]


def test_a_column_with_nothing_but_a_type_is_said_to_have_no_more() -> None:
    table = {"privacy_unit": "row", "columns": {"note": {"type": "text"}, "age": {"bounds": (0, 99)}}}
    known = facts(dp.Policy.model_validate({"budget": 1, "tables": {"visits": table}}))
    assert [one["declared"] for one in known["bounds_and_keys"]] == ["no bounds, no keys", "0 … 99"]


def test_about_is_written_and_changes_no_answer(tmp_path: Path) -> None:
    plain, known = dp.Policy(**DECLARED), dp.Policy(**{**DECLARED, "about": ABOUT})
    assert plain.digest() == known.digest()
    (tmp_path / "policy.toml").write_text(known.to_toml())
    assert dp.Policy.from_toml(tmp_path / "policy.toml") == known
    with pytest.raises(dp.errors.PolicyError, match=r"about\.curater: .* Did you mean curator"):
        dp.Policy(**{**DECLARED, "about": {"curater": "x"}})


def test_an_answer_has_a_card_of_its_own_now_again_and_elsewhere(session: dp.Session) -> None:
    release = session.sql(QUESTION, epsilon=1)
    card = release.card().to_dict()
    assert set(card) > FIELDS
    assert (card["epsilon"], card["flavour"], card["curator"]) == (
        "1",
        "pure differential privacy",
        "St. Elsewhere",
    )
    charged = [entry for entry in session.ledger.entries() if entry.kind == "charge"]
    spelled = charged[-1].event
    for one in card["mechanisms"]:
        assert event_text.read(event_text.written(event_text.read(_spelled(one["event"])))) is not None
        assert _spelled(one["event"]) in spelled, "the ledger keeps the same mechanism"
    again = session.sql(QUESTION, epsilon=1)
    assert again.replayed
    assert again.card().to_dict() == card
    elsewhere = documents.from_arrow(documents.arrow_bytes(release))
    assert elsewhere.card().to_dict() == card


TOTALS = "SELECT county, COUNT(*) AS n FROM visits GROUP BY ROLLUP (county)"
TOGETHER = {
    "all": "SELECT COUNT(*) AS n FROM visits",
    "by county": "SELECT county, COUNT(*) AS n FROM visits GROUP BY 1",
}


@pytest.mark.parametrize("asked", [TOTALS, TOGETHER])
def test_the_card_of_tables_measured_together_names_what_was_drawn(
    asked: str | dict[str, str], session: dp.Session
) -> None:
    """The marginals that were charged, not the tables that are estimated from them."""
    for _ in range(2):  # the second time from the ledger
        several = (
            session.workload(asked, epsilon=1)
            if isinstance(asked, dict)
            else {"": session.sql(asked, epsilon=1)}
        )
        (charged,) = [entry for entry in session.ledger.entries() if entry.kind == "charge"]
        for release in several.values():
            drawn = [
                event_text.read(_spelled(one["event"])) for one in release.card().to_dict()["mechanisms"]
            ]
            assert sum(one.epsilon for one in drawn if isinstance(one, LaplaceNoise)) == 1
            assert all(event_text.written(one) in str(charged.event) for one in drawn)


def _spelled(event: object) -> str:
    import json

    return json.dumps(event, sort_keys=True, separators=(",", ":"))


def test_other_answers_have_one_too(session: dp.Session) -> None:
    vouched = session.release(lambda: 47, sensitivity=1, epsilon=1, what="a number").card().to_dict()
    assert [one["name"] for one in vouched["mechanisms"]]
    free = session.sql("SHOW TABLES").card().to_dict()
    assert (free["mechanisms"], free["epsilon"]) == ([], "0")
    with session.mock(rows=50) as mock:
        assert "invented" in mock.sql(QUESTION, epsilon=1).card().to_dict()["guarantee"]
    assert session.card().to_dict()["spent"] == {"epsilon": "1", "delta": "0"}
    assert "patient" in session.card()
