"""What must hold of a crowd's ledger and histories whatever became of its servers, its database and its disk."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from benchmarks.crowd import AT, EPSILON, NAME, Analyst, Crowd

from discreet.accounting.loss import Loss
from discreet.server.service import Service, ServiceSettings
from discreet.server.start import open_service


def see_history(crowd: Crowd) -> int:
    """See that every settled answer can be fetched, from either server; how many charges bought nothing."""

    def unanswered(one: Analyst) -> int:
        for server in crowd.servers:
            releases = json.loads(fetched(one, server.port, f"{AT}/releases"))["releases"]
        found = {}
        for at, release in enumerate(releases):
            if release["answered"]:
                data = fetched(
                    one, crowd.servers[at % len(crowd.servers)].port, f"{AT}/releases/{release['key']}"
                )
                found[release["asked"]["query"]] = json.loads(data)["rows"]
        assert all(found[query] == rows for query, rows in one.answered.items())
        return sum(release["charges"] - release["answered"] for release in releases)

    with ThreadPoolExecutor(len(crowd.analysts)) as pool:
        return sum(pool.map(unanswered, crowd.analysts))


def fetched(one: Analyst, port: int, path: str) -> bytes:
    """An answer, with the patience that the service asks for."""
    for _ in range(200):
        status, data = one.call(port, "GET", path)
        if status not in (0, 429):  # the first call may meet a connection to a server that was killed
            break
        time.sleep(0.1)
    assert status == 200, data
    return data


def see_ledger(crowd: Crowd, ledger_url: str, budget: Fraction, each: Fraction, unanswered: int) -> int:
    """See that the chains verify, everything answered was charged, and no budget is exceeded; how many charges.

    Args:
        crowd: that asked; its servers may have ended.
        ledger_url: of its ledger; empty for files.
        budget: epsilon of the data set.
        each: epsilon of each analyst.
        unanswered: how many charges that bought nothing the analysts were told of; there are no others.
    """
    service = open_service([crowd.policy], ServiceSettings(), ledger_url)
    try:
        charges, settled = _seen(crowd, service, budget, each)
    finally:
        service.close()
    assert charges - settled == unanswered, (
        "a charge that bought nothing is not in the history of its analyst"
    )
    return charges


def _seen(crowd: Crowd, service: Service, budget: Fraction, each: Fraction) -> tuple[int, int]:
    ledger = service.datasets[NAME].session.ledger
    entries = ledger.entries()
    assert ledger.verify() == len(entries)
    assert service.state.verify() == service.state.head()
    charges = [entry for entry in entries if entry.kind == "charge"]
    spent = ledger.spent("the data set")
    assert spent.epsilon <= budget
    whole = [entry for entry in charges if any(line.account == "the data set" for line in entry.postings)]
    assert spent == Loss(Fraction(EPSILON) * len(whole))
    for one in crowd.analysts:
        own = ledger.entries(f"analyst {one.name}")
        paid = [entry for entry in own if entry.kind == "charge"]
        assert ledger.spent(f"analyst {one.name}").epsilon <= each
        settled = {entry.settles for entry in own}
        assert len(one.answered) <= sum(entry.number in settled for entry in paid)
        assert len(one.answered) * Fraction(EPSILON) <= ledger.spent(f"analyst {one.name}").epsilon
    settled = {entry.settles for entry in entries}
    return len(charges), sum(entry.number in settled for entry in charges)
