"""The ledger that a policy had under another name: beside a renamed or copied policy a new one begins at nothing.

A charge keeps the names of the private tables that it was for. So a ledger of the same tables, in the same folder, is
told when a new one is made: it may hold all that was spent on the same people. One whose own policy is still there, and
names other data, is another data set's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.escaping import name as shown_name
from discreet.ledger import Ledger
from discreet.ledger.sqlite.reading import ReadingStore
from discreet.policy import Policy
from discreet.release.guarantee import Guarantee
from discreet.session.sources.ledger_place import SUFFIX
from discreet.session.sources.policy_sources import places

MOST = 20
"""Of so many ledgers of a folder the charges are looked at, those that were written last."""
LAST = 16
"""Among so many of the last entries of a ledger a charge is looked for."""
WAIT = 0.5
"""Seconds to wait for a ledger that others write."""


def tell_of_earlier(place: str, policy: Policy) -> None:
    """Tell the log of a ledger beside a new one that has charges for the same tables.

    Args:
        place: of the new ledger, which was made just now.
        policy: whose it is.
    """
    for found in _others(Path(place)):
        if _tables(found) == _own(policy) and not _of_other_data(found, policy):
            logging.getLogger("discreet.ledger").warning(
                'charges for the same tables stand in another ledger, %s: if they count, write ledger = "%s" into the '
                "policy, or name it with --ledger",
                shown_name(str(found)), shown_name(found.name),
            )  # fmt: skip
            return


def _others(place: Path) -> list[Path]:
    """The other ledgers of a folder, the one that was written last first."""
    try:
        found = [
            (file.stat().st_mtime, Path(file.path))
            for file in os.scandir(place.parent)
            if file.name.endswith(SUFFIX) and file.name != place.name and file.is_file()
        ]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)[:MOST]]


def _own(policy: Policy) -> set[str]:
    return {name.lower() for name, table in policy.tables.items() if not table.public}


def _tables(place: Path) -> set[str]:
    """The private tables of the last charge of a ledger; none where it has no charge, or cannot be read."""
    try:
        with Ledger(ReadingStore(str(place), WAIT)) as ledger:
            newest = ledger.newest(LAST)
    except DiscreetError:
        return set()
    known = (Guarantee.read(entry.guarantee) for entry in reversed(newest) if entry.guarantee)
    last = next((guarantee for guarantee in known if guarantee is not None), None)
    return set() if last is None else {name.lower() for name in last.units}


def _of_other_data(place: Path, policy: Policy) -> bool:
    """Whether the policy that a ledger belongs to is still there, and names other data."""
    home = place.with_name(f"{place.name.removesuffix(SUFFIX)}.toml")
    try:
        there = Policy.from_toml(home) if home.is_file() else None
    except (DiscreetError, OSError):
        return False
    return there is not None and set(_urls(there)) != set(_urls(policy))


def _urls(policy: Policy) -> Iterator[str]:
    return (url for _, url in places(policy))
