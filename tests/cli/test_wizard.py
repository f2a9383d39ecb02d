"""`discreet init --web`: what it refuses, and the way that it shows."""

from __future__ import annotations

import urllib.request
import webbrowser
from pathlib import Path

import pytest
from tests.server.conftest import listening

from discreet.cli import wizard
from discreet.cli.options import Usage
from discreet.server import start
from discreet.server.service import Service

COLUMNS = {"visits": [("patient_id", ""), ("age", "")]}


def test_a_file_that_exists_and_several_tables_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "visits.toml"
    place.write_text("mine")
    with pytest.raises(Usage, match="exists"):
        wizard.decide("csv:visits.csv", COLUMNS, place)
    with pytest.raises(Usage, match="one table"):
        wizard.policy_draft("duckdb:v.duckdb", {**COLUMNS, "other": []}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["visits.toml"]


def test_the_way_in_is_opened_in_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages: list[str] = []

    def opened(url: str) -> None:
        with urllib.request.urlopen(url, timeout=20) as answer:
            pages.append(answer.geturl())

    def served(service: Service, _: start.Listening, ready: object) -> None:
        with listening(service) as running:
            assert callable(ready)
            ready(running.url)

    monkeypatch.setattr(webbrowser, "open", opened)
    monkeypatch.setattr(start, "listen", served)
    wizard.decide("csv:visits.csv", COLUMNS, tmp_path / "visits.toml")
    assert pages
    assert pages[0].endswith(("/steward/new", "/sign-in"))  # this reader keeps no cookies
    way_back = f"discreet serve {tmp_path / 'visits.toml'} --new-token me"
    assert way_back in capsys.readouterr().err  # else nobody has a token after Ctrl+C
