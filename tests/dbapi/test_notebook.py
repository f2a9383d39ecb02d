from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.client.session import RemoteSession
from discreet.dbapi import notebook as magics
from tests.server.conftest import make_hospital
from tests.session.kernel import kernel

QUESTION = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"


COMPLETING = """
from IPython.core.completer import provisionalcompleter
cell = "%%discreet\\nSELECT cou"
with provisionalcompleter():
    print([one.text for one in get_ipython().Completer.completions(cell, len(cell))])
"""


def test_a_cell_shows_its_answer_and_the_chart_below(tmp_path: Path) -> None:
    path = make_hospital(tmp_path)
    with kernel() as notebook:
        assert (
            "not connected"
            in notebook.run("%load_ext discreet\n").error + notebook.run(f"%%discreet\n{QUESTION}").traceback
        )
        shown = notebook.run(f"%discreet {path} --epsilon 0.5")
        assert "50 left" in json.dumps(shown.bundles)
        shown = notebook.run(f"%%discreet --as answer\nSET discreet.confidence = 0.9;\n{QUESTION}")
        assert shown.error == "", shown.traceback
        assert len(shown.bundles) == 2
        assert "<table" in shown.bundles[0]["text/html"]
        assert any("vega" in kind or "svg" in kind or "png" in kind for kind in shown.bundles[1])
        kept = notebook.run("print(answer.confidence, answer.columns)")
        assert kept.streams.strip() == "0.9 ['county', 'n']"
        assert len(notebook.run(f"%%discreet --no-chart\n{QUESTION}").bundles) == 1
        assert "49.5 left" in str(notebook.run(f"%%discreet --preview --epsilon 0.25\n{QUESTION}").bundles)
        refused = notebook.run("%%discreet\nSELECT age FROM visits")
        assert refused.error == "QueryRefused"
        assert notebook.run("%%discreet --nothing\nSELECT 1").error == "InvalidParameter"
        helped = notebook.run("print(get_ipython().magics_manager.magics['cell']['discreet'].__doc__)")
        assert "%%discreet --epsilon 0.05 --as answer" in helped.streams
        words = notebook.run(COMPLETING)
        assert "county" in words.streams


class Far(RemoteSession):
    budget: Any = "what is left"

    def __init__(self) -> None:
        pass


def test_whoever_connects_to_a_server_sees_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    session, shown = Far(), list[object]()
    monkeypatch.setattr(magics, "connect", lambda *_, **__: SimpleNamespace(session=session))
    monkeypatch.setattr(magics, "_show", shown.append)
    monkeypatch.setattr(magics, "Words", SimpleNamespace(of=lambda _: None))
    magics.Notebook(SimpleNamespace(user_ns={})).magic("https://stats.example.org")
    assert shown == [session, "what is left"]
