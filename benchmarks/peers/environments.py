"""An environment for each peer, made once from its pinned requirements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venv-peers"
REQUIREMENTS = Path(__file__).parent / "requirements"


class CannotInstall(Exception):
    """The environment could not be made; the text is the installer's last word."""


def python_of(name: str | None) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing or its requirements changed.

    Args:
        name: of a file in requirements/; None for the environment that runs this.

    Raises:
        CannotInstall: with the reason.
    """
    if name is None:
        return Path(sys.executable)
    wanted = (REQUIREMENTS / f"{name}.txt").read_text("utf-8")
    folder = HOME / name
    python, made = folder / "bin" / "python", folder / "made.txt"
    if made.exists() and made.read_text("utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    # Our own pip installs there: a copy of it in each environment takes seconds to make.
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
    # Whole lists, some of which leave out what a peer asks for and this use of it does not need.
    alone = ["--no-deps"] if wanted.startswith("# no-deps") else []
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    _run([*pip, "install", *alone, "-r", str(REQUIREMENTS / f"{name}.txt")], folder)
    made.write_text(wanted, "utf-8")
    return python


def _run(command: list[str], folder: Path) -> None:
    # Our own constraints are not those of a peer.
    quiet = {"PIP_CONSTRAINT": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, env={**os.environ, **quiet}, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotInstall(last_word(done.stderr))


def last_word(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1]
