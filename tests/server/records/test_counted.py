"""Requests are counted by address and outcome; of questions that are charged a failure is no outcome of its own."""

from __future__ import annotations

from types import SimpleNamespace

from discreet.server.records.counted import RequestCounts


def test_outcomes() -> None:
    counted = RequestCounts()
    for path in ("/x", "/x/query"):
        for status in (200, 303, 401, 409, 502):
            counted.add(SimpleNamespace(path=path), status)
    counted.add(None, 404)
    assert counted.lines() == [
        'discreet_requests_total{address="/x",outcome="failed"} 1',
        'discreet_requests_total{address="/x",outcome="refused"} 2',
        'discreet_requests_total{address="/x",outcome="served"} 2',
        'discreet_requests_total{address="/x/query",outcome="refused"} 2',
        'discreet_requests_total{address="/x/query",outcome="served"} 3',
        'discreet_requests_total{address="other",outcome="refused"} 1',
    ]
