"""The README says what is so: its code and commands run, and the files and targets that it names are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

from discreet.policy import Policy
from tests.warm import programs

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _shell(script: str, folder: Path, warm: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a script; `discreet` and `python` begin with our modules loaded, if `warm`."""
    first = [str(programs())] if warm else []
    path = os.pathsep.join([*first, str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONUTF8": "1"}
    env.pop("DISCREET_POLICY", None)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env, capture_output=True, encoding="utf-8"
    )


def test_every_command_and_every_code_block_runs(tmp_path: Path) -> None:
    commands, (code,), (policy,) = _blocks("sh"), _blocks("python"), _blocks("toml")
    assert len(commands) == 4
    for at, script in enumerate(commands):
        result = _shell(script, tmp_path, warm=at > 0)
        assert result.returncode == 0, script + result.stderr
    (tmp_path / "code.py").write_text(code, "utf-8")
    result = _shell("python code.py", tmp_path)
    assert result.returncode == 0, result.stderr
    assert _shape(result.stdout) == _shape(_blocks("text")[0])
    (tmp_path / "own.toml").write_text(policy, "utf-8")
    result = _shell('discreet query -p own.toml "SELECT AVG(age) AS age FROM visits" -e 1', tmp_path)
    assert result.returncode == 0, result.stderr
    # What is compared above is worth something only if a failing line is seen.
    assert _shell(commands[0], tmp_path).returncode == 2


def _shape(printed: str) -> list[str]:
    """What is the same on every run: the words, without numbers, order of rows, widths and the date."""
    lines = (re.sub(r"[-\d.,:∞]+", "#", line) for line in printed.splitlines())
    words = (re.sub(r"\[#, #\]|± #", "±", re.sub(r"[ ─]+", " ", line)) for line in lines)
    return sorted(words)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_and_make_targets_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_policy_of_the_readme_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(_blocks("toml")[0], "utf-8")
    assert Policy.from_toml(path).tables["visits"].max_rows == 4


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"], *chain(*extras)]
    names = {re.split(r"[\[><=]", one)[0] for one in wanted} - {"discreet"}
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Why each dependency")[2]
    assert {name for name in names if f"`{name}`" not in table} == set()
