"""The pages in a real browser: both journeys, at three widths, in dark and light, with nothing serious found by axe.

`DISCREET_SCREENSHOTS` names a folder for pictures of every page.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from discreet.server import pages
from tests.depth import DEEP
from tests.server.conftest import Running, listening, run
from tests.server.pages.test_wizard import began
from tests.server.visit import Visit
from tests.servers import PLAIN

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="playwright is not installed")
Axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
).Axe
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")
WIDTHS: tuple[int, ...] = (360, 820, 1400)
OTHERS = itertools.cycle(WIDTHS[1:])
AXE = Axe().axe_script
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe that read colours, all that a dark page has of its own."""
SERIOUS = """([part, asked]) => axe.run(part, asked).then(found => found.violations.flatMap(one => one.nodes
    .filter(() => ["serious", "critical"].includes(one.impact)).map(node => [one.id, node.html])))"""
QUESTION = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A browser with one page, as each new one takes a second of processor time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", PLAIN])
        yield opened.new_page()
        opened.close()


class Seat:
    """Somebody before a browser, who notes every error that its console says.

    Args:
        page: of the browser; what it knows of somebody before is forgotten.
        running: the service.
        who: signs in; empty for nobody.
    """

    def __init__(self, page: Page, running: Running, who: str = "") -> None:
        self.page, self._url = page, running.url
        page.context.clear_cookies()
        self.faults: list[str] = []
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        if not who:
            return
        name, _, value = Visit(running, who).cookie.partition("=")
        page.context.add_cookies([{"name": name, "value": value, "url": running.url}])

    def goto(self, path: str) -> None:
        """Go to a page of the service."""
        self.page.goto(self._url + path)

    def fits(self, name: str, scheme: Literal["light", "dark"] = "light") -> None:
        """See that nothing of the page runs over, and take its pictures.

        A page runs over where it is narrow: each is seen on a phone, and on one of the other widths in turn.

        Args:
            name: of its pictures.
            scheme: of colours.
        """
        folder = os.environ.get("DISCREET_SCREENSHOTS")
        self.page.emulate_media(color_scheme=scheme)
        widths = WIDTHS[:1]
        if folder or scheme == "light":
            widths = WIDTHS if folder or DEEP else (WIDTHS[0], next(OTHERS))
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 900})
            root = "document.documentElement"
            assert self.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), (name, width)
            if folder:
                path = Path(folder) / f"{name}-{width}-{scheme}.png"
                self.page.screenshot(path=path, full_page=True)

    def look(self, name: str, alike: str = "", new: str = "html") -> None:
        """See that the page is whole: nothing runs over, and axe finds nothing serious, dark and light.

        Args:
            name: of its pictures.
            alike: selects parts that axe need not look at, as others are made by the same lines.
            new: selects the part that no page before has, and that axe looks at; in a deep run at all.
        """
        part = {"exclude": [[alike]]} if alike else {"include": [["html" if DEEP else new]]}
        dark: dict[str, Any] = {"runOnly": COLOURS}
        schemes: list[tuple[Literal["light", "dark"], dict[str, Any]]] = [("light", {}), ("dark", dark)]
        for scheme, asked in schemes:
            self.fits(name, scheme)
            if not self.page.evaluate("'axe' in window"):
                self.page.evaluate(AXE)
            found = self.page.evaluate(SERIOUS, [part, {"resultTypes": ["violations"], **asked}])
            assert found == [], (name, scheme)
        assert self.faults == [], name


def test_from_the_form_to_the_answer(page: Page, running: Running) -> None:
    seat = Seat(page, running)
    seat.goto("/sign-in")
    seat.look("sign-in")
    page.fill("#token", running.tokens["ana"])
    page.click("main button")
    page.wait_for_selector("form[action='/sign-out']")
    seat.goto("/data/hospital/form")
    seat.look("form")
    page.select_option("#what", "average")
    page.select_option("#by1", "county")
    page.click("form.card button")
    page.wait_for_selector(".price:text-is('epsilon 0.1')")
    page.focus("#price")
    page.keyboard.press("End")
    page.wait_for_selector(".price:text-is('epsilon 1')")
    assert page.input_value("#precise") == "1"
    page.click("text=From better privacy")
    seat.look("form-preview", new="section.preview")
    assert running.call("GET", "/api/v1/datasets/hospital/budget", "ana").json["spent"] == "0"
    page.click("button.strong")
    page.wait_for_selector("figure img")
    seat.look("answer")
    assert running.call("GET", "/api/v1/datasets/hospital/budget", "ana").json["spent"] == "1"
    page.click("text=The card of this answer")
    page.wait_for_selector("dl.record")
    seat.look("card")


def test_the_editor_completes_by_the_keyboard_and_shows_the_place_of_a_fault(
    page: Page, running: Running
) -> None:
    seat = Seat(page, running, "ana")
    seat.goto("/data/hospital")
    page.focus("#query")
    page.keyboard.type("SELECT cou")
    page.wait_for_selector("#completions li")
    seat.look("completion")
    page.focus("#query")
    page.keyboard.type("n")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(" FROM visits")
    page.keyboard.press("Escape")
    assert page.input_value("#query") == "SELECT county FROM visits"
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".fault pre")
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.evaluate("document.activeElement.selectionStart") == len("SELECT ")
    seat.look("fault", new=".fault")
    page.fill("#query", "")
    page.focus("#query")
    page.keyboard.type("SELECT coun")
    page.wait_for_selector("#completions li")
    page.keyboard.press("Tab")
    assert page.input_value("#query") == "SELECT county"
    page.keyboard.press("Tab")  # no trap: the list is closed
    assert page.evaluate("document.activeElement.id") != "query"


def test_a_click_on_a_button_beside_open_completions_presses_it(page: Page, running: Running) -> None:
    Seat(page, running, "ana").goto("/data/hospital")
    page.focus("#query")
    page.keyboard.type(f"{QUESTION} ORDER BY n DESC")
    page.wait_for_selector("#completions li")
    assert page.inner_text("p[role=status]") == "1 completion"
    ends: list[Any] = [page.locator(name).bounding_box() for name in ("#query", "#completions")]
    assert ends[1]["y"] >= ends[0]["y"] + ends[0]["height"], "the list hides the question"
    page.click("button:has-text('Preview')")
    page.wait_for_selector("#previewed")


@pytest.fixture
def scriptless(page: Page) -> Iterator[Page]:
    """The browser runs no scripts of pages."""
    setting = page.context.new_cdp_session(page)
    setting.send("Emulation.setScriptExecutionDisabled", {"value": True})
    yield page
    setting.detach()


def test_a_slider_without_a_script_is_a_row_of_prices(scriptless: Page, running: Running) -> None:
    page = scriptless
    Seat(page, running, "ben").goto("/data/hospital")
    page.fill("#query", QUESTION)
    page.click("text=Preview, free")
    page.click('#prices button[value="0.05"]')
    page.wait_for_selector(".price:text-is('epsilon 0.05')")
    assert not page.is_visible("#slider")
    page.click("button.strong")
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody tr").count() == 3
    assert running.call("GET", "/api/v1/datasets/hospital/budget", "ben").json["spent"] == "0.05"


def test_from_a_file_to_the_first_answer_in_three_decisions_and_three_clicks(
    page: Page, tmp_path: Path
) -> None:
    with listening(began(tmp_path)) as running:
        seat = Seat(page, running)
        clicks = []
        seat.goto(f"/begin/{running.service.secret}")
        seat.look("wizard")
        # A file may have a long name, which has no place to break.
        page.evaluate("document.querySelector('h1').textContent = 'a_file_of_one_name_'.repeat(9)")
        seat.fits("wizard-of-a-long-name")
        page.click("button.strong")
        assert page.url.endswith("/steward/new")
        assert not (tmp_path / "visits.toml").exists()  # nothing is decided yet
        page.select_option("select[name=unit]", "patient_id")
        page.fill("input[name=max_rows]", "1")
        page.fill("input[name=epsilon]", "1")
        page.fill("input[name=values2]", "A, B")
        page.select_option("select[name=rule2]", "keys")
        for button in ("button.strong", "form.card button", "button.strong"):
            with page.expect_navigation():
                page.click(button)
            clicks.append(button)
        page.wait_for_selector("h1:text-is('Answer')")
        seat.look("wizard-answer", new="h1")  # the template of "answer"
        assert len(clicks) == 3
        assert (tmp_path / "visits.toml").exists()


def test_several_statements_and_the_answers_of_before(page: Page, running: Running) -> None:
    seat = Seat(page, running, "ana")
    seat.goto("/data/hospital")
    page.fill(
        "#query", f"-- by county\n{QUESTION};\n-- all\nSELECT COUNT(*) AS n, AVG(age) AS age FROM visits"
    )
    page.keyboard.press("Escape")
    page.click("button:has-text('Preview')")
    page.wait_for_selector(".preview .price")
    seat.look("workload-preview", new="section.preview")
    page.click("button.strong")
    page.wait_for_selector("h1:text-is('2 answers')")
    seat.look("workload")
    seat.goto("/data/hospital/answers")
    seat.look("history")


def test_numbers_of_a_wide_answer_stay_on_one_line(page: Page, running: Running) -> None:
    seat = Seat(page, running, "ana")
    seat.goto("/data/hospital")
    counts = ", ".join(f"1000000 * COUNT(*) AS n{at}" for at in range(8))
    page.fill("#query", f"SELECT {counts} FROM visits")
    page.keyboard.press("Escape")
    page.click("button:has-text('Preview')")
    page.click("button.strong")
    page.wait_for_selector("h1:text-is('Answer')")
    page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    assert page.eval_on_selector("td.right", "one => one.clientHeight") < 40
    seat.look("wide-answer")


def test_pages_of_stewards(page: Page, running: Running) -> None:
    seat = Seat(page, running, "stella")
    for path in (
        "/steward",
        "/steward/policy/hospital",
        "/steward/people",
        "/steward/audit",
        "/data",
        "/data/hospital",
    ):
        seat.goto(path)
        seat.look(path.strip("/").replace("/", "-"))
    seat.goto("/api")
    seat.look("api", alike="section:nth-of-type(n+9)")
    for path, button in (("/steward", "Verify the ledger"), ("/steward/audit", "Verify")):
        seat.goto(path)
        page.click(f"main button:has-text('{button}')")
        page.wait_for_selector("h1")
        # One template makes both.
        seat.look(f"{path.strip('/').replace('/', '-')}-verified", new="html" if path == "/steward" else "h1")
    seat.goto("/nowhere")
    seat.faults.clear()  # that the page is missing is its status
    seat.look("missing")


def test_a_fault_that_is_planted_is_found(page: Page, running: Running) -> None:
    seat = Seat(page, running, "ana")
    seat.goto("/data/hospital")
    page.evaluate("document.querySelector('label[for=epsilon]').remove()")
    with pytest.raises(AssertionError, match="label"):
        seat.look("planted")
    seat.goto("/data/hospital")
    page.evaluate("document.querySelector('h1').style.color = '#222'")
    with pytest.raises(AssertionError, match="dark"):
        seat.look("planted")
    seat.goto("/data/hospital")
    page.evaluate("document.querySelector('main').append(document.createElement('script'))")
    page.evaluate("document.querySelector('main script').append('alert(1)')")  # the policy of contents
    assert seat.faults


def test_no_interval_of_a_wide_answer_stands_beyond_the_edge_of_a_phone(page: Page) -> None:
    """A number whose interval has to be scrolled to looks exact."""
    style = (Path(pages.__file__).parent / "style.css").read_text()
    cells = "<td class=right>16</td>" + 3 * "<td class=right>20,665 [11,216, 29,285]</td>"
    page.goto("about:blank")  # where no policy of contents forbids the style
    page.set_viewport_size({"width": 390, "height": 900})
    page.set_content(f"<style>{style}</style><main><div class=scroll><table><tr>{cells}</table></div></main>")
    assert page.evaluate("document.querySelector('td:last-child').getBoundingClientRect().right") <= 390
