from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("form", "begins"), [("markdown", "# Card"), ("yaml", "curator: null"), ("json", '{\n  "curator": null')]
)
def test_the_card_of_a_deployment_is_free(folder: Path, run: Run, form: str, begins: str) -> None:
    result = run("card", "--form", form)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(begins)
    assert "patient" in result.stdout
    assert str(folder) not in result.stdout
    if form == "json":
        assert json.loads(result.stdout)["spent"] == {"epsilon": "0", "delta": "0"}
