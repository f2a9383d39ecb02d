"""The scripts inside a picture as a page, made once in a run: each process would take two seconds for them."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

PLACE = "DISCREET_TEST_SCRIPTS"
"""The variable that names the folder in which all processes of a run find them."""


def make_once(folder: Path) -> None:
    """Let the renderer of this process keep its scripts in a folder, and those of processes that it starts."""
    os.environ[PLACE] = str(folder)
    if importlib.util.find_spec("vl_convert") is None:
        return
    import vl_convert

    make = vl_convert.javascript_bundle

    def made(snippet: str | None = None, **version: Any) -> str:
        kept = folder / f"vega-{version.get('vl_version')}.js"
        if snippet is not None:
            return make(snippet, **version)
        if not kept.exists():
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
                file.write(make(**version))
            Path(file.name).replace(kept)  # whole, as another process may read it
        return kept.read_text("utf-8")

    vl_convert.javascript_bundle = made  # type: ignore[assignment]
