"""A visitor without a browser: cookies, forms and their seals."""

from __future__ import annotations

from urllib.parse import urlencode

from discreet.server.pages.site import seal_of
from tests.server.conftest import Answer, Running


class Visit:
    """One person's way through the pages; it follows nothing by itself."""

    def __init__(self, running: Running, who: str = "") -> None:
        self.running = running
        self.cookie = ""
        if who:
            answer = self.send("/sign-in", token=running.tokens[who], seal="")
            assert answer.status == 303, answer.data
            self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> Answer:
        """Get a page."""
        return self.running.call("GET", path, Cookie=self.cookie)

    def seal(self) -> str:
        """The seal of the forms, as tests/server/pages/test_browser.py sends it from the pages themselves."""
        return seal_of(self.cookie.partition("=")[2])

    def send(self, path: str, headers: dict[str, str] | None = None, /, **fields: str) -> Answer:
        """Send a form, with the right seal unless another is given."""
        fields.setdefault("seal", self.seal() if self.cookie else "")
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": self.cookie, **(headers or {})}
        return self.running.call("POST", path, "", None, urlencode(fields).encode(), **sent)
