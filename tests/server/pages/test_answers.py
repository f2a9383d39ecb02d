"""Answers that were paid for: chart, files and card, for their analyst alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

from discreet.plots.releases import release as drawn_of
from discreet.plots.render import svg
from discreet.plots.theme import SIZES, Size
from discreet.server.pages.answers import NARROW, reserved
from tests import shared
from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def test_an_answer_as_chart_files_and_card(running: Running) -> None:
    visit = Visit(running, "ana")
    path = visit.send("/data/hospital/ask", query=COUNT, epsilon="0.5").headers["location"]
    seen = visit.get(path).data.decode()
    for said in ("dp.connect(", "curl -H", "SET discreet.epsilon = 0.5;"):
        assert said in seen
    assert "You have epsilon 19.5 left of 20." in seen
    assert 'width="340" height="167">' in seen  # room for the picture while it loads
    assert 'width="880" height="207" alt' in seen
    for link in re.findall(
        rf'(?:href|src|srcset)="({path}/[^"]+)"', seen + visit.get(f"{path}/card").data.decode()
    ):
        assert visit.get(link).status == 200, link
        assert Visit(running, "ben").get(link).status == 404, link
    assert b"not protected" in visit.get(f"{path}/card").data
    assert visit.get(f"{path}/card.json").json["epsilon"] == "0.5"
    assert visit.get(f"{path}/card.md").headers["content-disposition"] == 'attachment; filename="card.md"'


@pytest.mark.parametrize("measures", [1, 2])
def test_the_room_of_a_few_series(measures: int) -> None:
    ages = list(range(18, 60))
    data = pa.table({"age": ages * 2, "sex": ["F", "M"] * 42})
    counts = ", ".join(f"COUNT(*) AS n{at}" for at in range(measures))
    keys = {"age": ages, "sex": ["F", "M"]}
    with shared.protect(data, privacy_unit="row", keys=keys, budget=1) as session:
        release = session.sql(f"SELECT age, sex, {counts} FROM data GROUP BY ALL", 1)
    for name, size in (("wide", SIZES["slide"]), ("narrow", Size(*NARROW))):
        found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg(drawn_of(release, size=size)))
        assert found is not None
        assert [float(one) for one in found.groups()] == pytest.approx(reserved(release)[name], rel=0.1)


@pytest.mark.parametrize(
    ("keys", "measures"),
    [
        ([f"k{at}" for at in range(20)], 1), ([f"k{at}" for at in range(60)], 1), (list(range(20)), 1),
        (list("abc"), 3), (list(range(20)), 2),
    ],
)  # fmt: skip
def test_the_room_is_about_that_of_the_picture(keys: list[object], measures: int) -> None:
    """Bars of texts, more than are drawn, and points of numbers; several measures beside or below each other."""
    counts = ", ".join(f"COUNT(*) AS n{at}" for at in range(measures))
    with shared.protect(pa.table({"k": keys}), privacy_unit="row", keys={"k": keys}, budget=1) as session:
        release = session.sql(f"SELECT k, {counts} FROM data GROUP BY k", 1)
    for name, size in (("wide", SIZES["slide"]), ("narrow", Size(*NARROW))):
        found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg(drawn_of(release, size=size)))
        assert found is not None
        assert [float(one) for one in found.groups()] == pytest.approx(reserved(release)[name], rel=0.1)


def test_the_card_of_a_data_set_is_for_all_who_may_see_it(running: Running) -> None:
    for who, path in (("ana", "/data/hospital"), ("stella", "/steward")):
        visit = Visit(running, who)
        assert 'href="/data/hospital/card"' in visit.get(path).data.decode()
        seen = visit.get("/data/hospital/card").data.decode()
        assert "not protected" in seen
        links = re.findall(r'href="(/data/hospital/card/[^"]+)"', seen)
        assert [link.rpartition(".")[2] for link in links] == ["md", "json", "yaml"]
        for link in links:
            assert visit.get(link).status == 200
            assert Visit(running, "nobody").get(link).status == 404
    assert visit.get("/data/hospital/card/card.json").json["spent"].keys() == {"epsilon", "delta"}


def test_an_answer_tells_the_noise_from_the_error_of_sampling(running: Running) -> None:
    visit = Visit(running, "ana")
    path = visit.send("/data/hospital/ask", query=COUNT, epsilon="0.25").headers["location"]
    seen = visit.get(path).data.decode()
    assert "The intervals cover the noise only." in seen
    assert "the sampling error comes on top" in seen
    assert "<li>rows whose privacy unit is NULL, which are dropped</li>" in seen
    assert "hides adding or removing" not in seen.partition("Not covered either")[2]
    mock = visit.send("/data/hospital/mock", query=COUNT, epsilon="0.25").data.decode()
    assert "sampling error" not in mock
