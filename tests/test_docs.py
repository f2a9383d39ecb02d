"""The pages under docs/ say what is so: examples run, refusals are as shown, all that is made is up to date."""

from __future__ import annotations

import importlib.util
import math
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.policy import Policy
from discreet.session import Session
from tests.depth import DEEP, few
from tests.test_readme import ROOT, _blocks, _shell
from tests.warm import programs

DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md") if not path.name.endswith(".in.md"))
REFUSED, DELTA = "-- refused\n", "-- delta\n"
DRAWN = (
    "--adaptive -o map.png",  # tests/cli/commands/structures/test_map.py: test_adaptive_and_smooth
    "-o hexagons.png",  # test_hexagons_and_people
    "-o map.html",  # test_a_map_in_every_form
    "-o degrees.svg",  # tests/cli/commands/structures/test_graph.py: test_files_of_all_kinds
    "--delta 1e-6 --output both.svg",  # tests/cli/commands/test_plan.py: test_stream
    "--report report.html",  # tests/cli/commands/structures/test_synthesize.py: test_rows_and_report
    "plot neighbours -o neighbours.png",  # tests/cli/commands/test_plot.py: test_the_names_are_listed_and_one_is_drawn
    "experiment heights --rounds 20",  # test_the_heights_print_their_curve
    "experiment nest",  # test_the_attack_on_a_nest_says_how_often_it_was_right
    "--epsilon 1 --output errors.svg",  # test_the_picture_of_streams_is_up_to_date
    "--window 28",  # tests/cli/commands/test_plan.py: test_stream_names_no_option_that_plan_lacks
    "discreet pate --teachers",  # tests/cli/commands/structures/test_pate.py: test_the_table_and_the_picture
)
"""Parts of commands that take seconds, and the tests that ask the same."""


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


REFERENCE = _load(DOCS / "reference.py")
CHOOSING = _load(DOCS / "figures" / "choosing.py")


def _sql() -> list[tuple[str, str]]:
    return [(page, sql) for page in PAGES for sql in _blocks("sql", (DOCS / page).read_text("utf-8"))]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with REFERENCE.session() as opened:
        yield opened


@pytest.fixture(scope="module")
def mock(session: Session) -> Iterator[Callable[[], Session]]:
    """Gives a session over invented tables with budget for one more question: tables take longer than an answer."""
    with ExitStack() as stack:
        made: list[Session] = []

        def given() -> Session:
            if not made or made[-1].budget.left < 1:
                made.append(stack.enter_context(session.mock(rows=5000)))
            return made[-1]

        yield given


def test_there_are_pages_and_examples_of_both_kinds() -> None:
    assert {"bounds.md", "sql.md"} <= set(PAGES)
    assert len([sql for _, sql in _sql() if sql.startswith(REFUSED)]) >= 10
    assert len([sql for _, sql in _sql() if not sql.startswith(REFUSED)]) >= 15


@pytest.mark.parametrize(("page", "sql"), _sql())
def test_every_query_is_answered_or_refused_as_it_says(
    mock: Callable[[], Session], page: str, sql: str
) -> None:
    asked = mock()
    if sql.startswith(REFUSED):
        with pytest.raises(QueryRefused) as caught:
            asked.sql(sql.removeprefix(REFUSED), epsilon=1)
        assert caught.value.fix
        assert caught.value.picture, "it points at no place"
        assert caught.value.text in (DOCS / page).read_text("utf-8")
    else:
        needs = sql.startswith(DELTA)
        release = asked.sql(sql.removeprefix(DELTA), epsilon=1, delta=1e-7 if needs else None)
        assert (release.delta > 0) == needs
        assert len(release) > 0
        free = "information_schema" in sql  # which reads nothing private
        assert (release.epsilon == 0) == free
        assert free or release.low, "no column of it has an interval"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert _shell("discreet demo --keep hospital", folder).returncode == 0
    return folder / "hospital"


def _lighter(command: str) -> str:
    """A command whose lines of `DRAWN` see their options only, unless the run is deep."""
    if DEEP:
        return command
    lines = command.splitlines()
    return "\n".join(f"{one} --help" if any(part in one for part in DRAWN) else one for one in lines)


@pytest.mark.parametrize("page", PAGES)
def test_every_policy_command_and_code_block_runs(
    page: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = (DOCS / page).read_text("utf-8")
    for at, policy in enumerate(_blocks("toml", text)):
        (tmp_path / f"{at}.toml").write_text(policy, "utf-8")
        assert Policy.from_toml(tmp_path / f"{at}.toml").tables
    code, commands = "".join(_blocks("python", text)), _blocks("sh", text)
    if not DEEP:  # tests/learning/test_teachers.py asks other processes, which take seconds to start
        code = code.replace('backend="loky"', 'backend="threading"')
    if "hospital/" in text:
        shutil.copytree(request.getfixturevalue("hospital"), tmp_path / "hospital")
    for script in [*commands, *(["python code.py"] if code else [])]:
        (tmp_path / "code.py").write_text(code, "utf-8")
        result = _shell(_lighter(script), tmp_path)
        assert result.returncode == 0, script + result.stderr
    if commands and ("SELECT" in commands[0] or "discreet plot" in commands[0]):
        # What is checked above is worth something only if a failing line is seen.
        wrong = (
            commands[0]
            .replace("SELECT", "SELEKT")
            .replace("discreet plot neighbours", "discreet plot neighbour")
        )
        assert _shell(wrong, tmp_path).returncode == 2


def test_an_option_that_is_not_there_is_seen_in_a_line_that_only_a_deep_run_runs(tmp_path: Path) -> None:
    for option, code in (("--adaptive", 0), ("--adaptve", 2)):
        assert _shell(f"discreet map x --cell 1km {option} -o map.png --help", tmp_path).returncode == code


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        linked = DOCS / (target or page)
        assert linked.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", linked.read_text("utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads], (
                anchor
            )


def _printed(program: str, *args: str) -> str:
    done = subprocess.run(
        [programs() / program, *args], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", ["bounds", "max_rows"])
def test_the_pictures_are_up_to_date(name: str) -> None:
    assert _printed("python", "docs/figures/choosing.py", name) == (
        DOCS / "figures" / f"{name}.svg"
    ).read_text("utf-8")


# A deep run draws the totals, too, by the same script.
@pytest.mark.parametrize("name", few(["quantiles", "totals", "noise"], 2))
def test_the_pictures_of_accuracy_are_up_to_date(name: str) -> None:
    made = _printed("python", "docs/figures/accuracy.py", name)
    assert made == (DOCS / "figures" / f"{name}.svg").read_text("utf-8")


@pytest.mark.parametrize(("script", "picture"), [("learning", "learning"), ("synthetic", "synthetic_models")])
def test_the_pictures_of_models_are_up_to_date(script: str, picture: str) -> None:
    made = _printed("python", f"docs/figures/{script}.py")
    assert made == (DOCS / "figures" / f"{picture}.svg").read_text("utf-8"), "run `make docs`"


def test_the_picture_of_streams_is_up_to_date(tmp_path: Path) -> None:
    made = tmp_path / "streams.svg"
    _printed("discreet", "plan", "--stream", "365", "--epsilon", "1", "--output", str(made))
    assert made.read_text("utf-8") == (DOCS / "figures" / "streams.svg").read_text("utf-8")


def test_the_reference_is_up_to_date() -> None:
    # Those of its queries that are answered are asked in test_every_query_is_answered_or_refused_as_it_says.
    page = REFERENCE.page((DOCS / "sql.in.md").read_text("utf-8"), answered=DEEP)
    assert page == (DOCS / "sql.md").read_text("utf-8"), "run `make docs`"
    for lines in REFERENCE.fn.TABLE.values():
        for line in lines:
            if line.usage:
                usage = REFERENCE.PARTS.sub("part", line.usage)
                assert REFERENCE._cell(usage) in REFERENCE.PARTS.sub("part", page), usage


def test_a_query_that_is_accepted_cannot_be_shown_as_refused() -> None:
    with pytest.raises(AssertionError, match="not refused any more"):
        REFERENCE.page("```sql\n-- refused\nSELECT COUNT(*) AS n FROM visits\n```\n<!-- functions -->")


# The formulas behind the pictures, against real answers. Each test compares the root mean square error of 400
# answers with the formula. Noise alone: a relative error of the estimate of about sqrt(5 / (4 * 400)) = 6 % (the
# kurtosis of a Laplace variable is 6), so 35 % is more than 6 deviations, and a factor of sqrt(2) is caught.
ANSWERS = 400
TOLERANCE = 0.35


@pytest.mark.parametrize("hi", [4000.0, 12_000.0, 40_000.0])
def test_the_picture_of_bounds_is_what_answers_do(hi: float) -> None:
    people = CHOOSING.PEOPLE
    logs = statistics.NormalDist(CHOOSING.MU, CHOOSING.SIGMA)
    costs = np.exp([logs.inv_cdf((number + 0.5) / people) for number in range(people)])
    groups = np.repeat(np.arange(ANSWERS), people)
    table = pa.table({"g": groups, "cost": np.tile(costs, ANSWERS)})
    keys = list(range(ANSWERS))
    with dp.protect(table, privacy_unit="row", bounds={"cost": (0, hi)}, keys={"g": keys}, budget=1) as asked:
        release = asked.sql("SELECT g, AVG(cost) AS cost FROM data GROUP BY g", epsilon=CHOOSING.EPSILON)
    errors = np.array(release.to_dict()["cost"]) - CHOOSING.mean()
    # 500 quantiles leave out the far tail: their mean is a little below that of the whole distribution.
    assert math.sqrt(float(np.mean(errors**2))) == pytest.approx(
        CHOOSING.PICTURES["bounds"].total(hi), rel=TOLERANCE
    )


# A deep run asks the cap between them, too.
@pytest.mark.parametrize("cap", few([2, 9, 25], 2))
def test_the_picture_of_max_rows_is_what_answers_do(cap: int) -> None:
    # Numbers of visits at the quantiles of the geometric distribution; g tells the people of each answer apart.
    ranks = (np.arange(CHOOSING.UNITS) + 0.5) / CHOOSING.UNITS
    visits = np.ceil(np.log1p(-ranks) / math.log(1 - CHOOSING.LEAVE)).astype(np.int64)
    answers = ANSWERS // 4  # 100: 12 %, so that 75 % is 6 deviations
    who = np.repeat(np.arange(answers * CHOOSING.UNITS), np.tile(visits, answers))
    table = pa.table({"who": who, "g": who // CHOOSING.UNITS})
    keys = list(range(answers))
    with dp.protect(table, privacy_unit="who", max_rows=cap, keys={"g": keys}, budget=1) as asked:
        release = asked.sql("SELECT g, COUNT(*) AS n FROM data GROUP BY g", epsilon=CHOOSING.COUNT_EPSILON)
    errors = np.array(release.to_dict()["n"]) - visits.sum()
    assert math.sqrt(float(np.mean(np.square(errors)))) == pytest.approx(
        CHOOSING.PICTURES["max_rows"].total(cap), rel=0.75
    )
