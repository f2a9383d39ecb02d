"""One data set has one default ledger, however its name is spelled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests.depth import DEEP, few
from tests.servers import connect, load, postgres

import discreet as dp
from discreet.errors import LedgerError
from discreet.session.sources import ledger_place as place

TABLE = pa.table({"a": [1, 2, 3]})


def opened(source: Any, **more: Any) -> dp.Session:
    return dp.protect(source, table="visits", privacy_unit="row", budget=9, **more)


def ledger_of(source: Any, **more: Any) -> str:
    with opened(source, **more) as session:
        return session.ledger.where


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "parts" / "2024").mkdir(parents=True)
    pq.write_table(TABLE, home / "visits.parquet")
    pc.write_csv(TABLE, home / "visits.csv")
    for name in ("parts/a.parquet", "parts/b.parquet", "parts/2024/c.parquet"):
        pq.write_table(TABLE, home / name)
    (home / "link.parquet").symlink_to("visits.parquet")
    (home / "linked").symlink_to("parts")
    (tmp_path / "elsewhere").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


def spellings(home: Path) -> list[Any]:
    return [
        "visits.parquet", "./visits.parquet", "../home/visits.parquet", home / "visits.parquet", "link.parquet",
        "parquet:visits.parquet", "PARQUET:visits.parquet", "Parquet:link.parquet", "~/visits.parquet",
        "vis*.parquet", "visit[s].parquet", f"{home}/visits.parquet", f"{home.parent}/elsewhere/visits.parquet",
        f"parquet://{home}/visits.parquet", {"visits": "link.parquet"},
    ]  # fmt: skip


def test_a_file(folder: Path) -> None:
    first, *others = spellings(folder)
    if not DEEP:  # test_a_budget_is_spent_once_whatever_the_name asks the first nine
        others = others[8:]
    assert {ledger_of(one) for one in (first, *others)} == {str(folder / "visits.parquet.ledger.db")}
    assert {ledger_of(one) for one in ("visits.csv", "CSV:visits.csv")} == {
        str(folder / "visits.csv.ledger.db")
    }


def test_a_budget_is_spent_once_whatever_the_name(folder: Path) -> None:
    for at, one in enumerate(spellings(folder)[:9]):
        with opened(one) as session:
            assert session.budget.spent == at
            session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE {at} >= 0", 1)


def test_a_place_by_spelling_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the ledger is beside the name as it is written."""
    monkeypatch.setattr(place, "_whole", lambda path: Path(f"{path}.ledger.db"))
    with pytest.raises(AssertionError):
        test_a_budget_is_spent_once_whatever_the_name(folder)


def test_a_folder(folder: Path) -> None:
    # A deep run opens it by each.
    for one in few(
        [
            "parts",
            "parts/",
            "./parts/",
            "linked",
            "linked/",
            "parquet:parts",
            "PARQUET:parts/",
            "parts/**/*.parquet",
        ],
        5,
    ):
        assert ledger_of(one) == str(folder / "parts.ledger.db")
    # Its files are parts of it: their people are in both.
    assert ledger_of("parts/a.parquet") == str(folder / "parts.ledger.db")


def test_a_part_that_was_asked_alone_is_not_forgotten(folder: Path) -> None:
    first = ledger_of("parts/a.parquet")
    assert first == str(folder / "parts/a.parquet.ledger.db")
    for one in ("parts", "parts/*.parquet"):
        with pytest.raises(LedgerError) as caught:
            opened(one)
        assert first in caught.value.fix
    assert ledger_of("parts", ledger=first) == first


def test_a_ledger_of_an_earlier_spelling_is_not_forgotten(folder: Path) -> None:
    (folder / "link.parquet.ledger.db").write_bytes(b"an old one")
    with pytest.raises(LedgerError) as caught:
        opened("link.parquet")
    assert "link.parquet.ledger.db" in caught.value.fix


def test_the_order_of_tables_does_not_matter(folder: Path) -> None:
    wards = pa.table({"ward": ["a"]})
    pq.write_table(wards, folder / "a_wards.parquet")
    one = {"visits": "visits.parquet", "wards": "a_wards.parquet"}
    two = dict(reversed(one.items()))
    assert ledger_of(one, public=["wards"]) == ledger_of(two, public=["wards"])
    assert ledger_of(one, public=["wards"]) == str(folder / "visits.parquet.ledger.db")


def test_a_policy_by_another_name(folder: Path) -> None:
    (folder / "policy.toml").write_text(
        '[budget]\nepsilon = 1\n[source]\nurl = "visits.parquet"\n[tables.visits]\nprivacy_unit = "row"\n'
    )
    (folder.parent / "mine.toml").symlink_to(folder / "policy.toml")
    for one in ("policy.toml", "../home/policy.toml"):
        with dp.protect(policy=one) as session:
            assert session.ledger.where == str(folder / "policy.ledger.db")
    assert place.beside_policy(folder.parent / "mine.toml") == folder / "policy.ledger.db"


def test_a_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    url = postgres()
    load(url, "places", {"visits": TABLE})
    with connect(url) as connection:
        host, user = connection.info.host, connection.info.user
        database = connection.info.dbname
    names = [
        f"{url}#places.visits", f"postgresql://{user}@/{database}?host={host}#places.visits",
        f"postgres://{user}@/{database}?host={host}/#places.visits",
        f"postgresql://{user}@/{database}?host={os.path.dirname(host)}/./{os.path.basename(host)}#places.visits",
    ]  # fmt: skip
    assert len({ledger_of(one) for one in names}) == 1


@pytest.mark.parametrize("turn", [1, 2])
def test_tests_that_share_a_server_share_no_ledger_in_it(turn: int) -> None:
    """The first leaves a loss of one row there, which could not be converted for the second."""
    table = load(postgres(), "places", {"visits": TABLE})["visits"]
    unit: dict[str, Any] = {"privacy_unit": "row"} if turn == 1 else {"privacy_unit": "a", "max_rows": 3}
    with dp.protect(table, budget=1, **unit) as session:
        assert not session.ledger.entries()
        session.sql("SELECT COUNT(*) FROM visits", epsilon=0.5)
