"""The audit log of a server: exported line by line, verified there, and no answer of another shape is believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from discreet.client import audit
from discreet.errors import InvalidParameter, LedgerCorrupt, NotAllowed, ServerError
from discreet.server.records.audit import verify_export
from tests.server.conftest import Running
from tests.server.conftest import run as serve


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve(tmp_path_factory.mktemp("service"))


def test_the_export_has_the_head_that_the_server_computes(service: Running) -> None:
    token = service.tokens["audrey"]
    count, head = audit.verified(service.url, token=token)
    found = verify_export(audit.exported(service.url, token))
    assert (found.number, f"{found.number}:{found.hash}") == (count, head)
    assert audit.verified(service.url, head, token) == (count, head)
    with pytest.raises(LedgerCorrupt, match="not unchanged"):
        audit.verified(service.url, f"1:{'0' * 64}", token)
    with pytest.raises(NotAllowed):
        audit.exported(service.url, service.tokens["ana"])


def test_without_a_token_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_TOKEN", raising=False)
    with pytest.raises(InvalidParameter, match="no token"):
        audit.exported("http://127.0.0.1:1")


@pytest.mark.parametrize("said", [b"[]", b"{}", b'{"verified": true, "lines": "x", "head": ""}', b"\xff"])
def test_an_answer_of_another_shape_is_no_verification(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: Any, **__: Any) -> bytes:
        return said

    monkeypatch.setattr("discreet.client.audit.call", call)
    with pytest.raises((ServerError, LedgerCorrupt)):
        audit.verified("http://127.0.0.1:1", token="t")
