"""An ordinary user before a read-only ledger; run as `python reading.py FOLDER`, prints what was seen as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import discreet as dp
import discreet.ledger.sqlite.reading
import discreet.ledger.sqlite.store
from discreet.errors import LedgerError


def main(folder: Path) -> None:
    os.chdir(folder)
    looked({"ledger": ":memory:"})  # loads what the user may not be allowed to load
    looked({"ledger": folder.parent / f"{folder.name}.db"})
    if os.getuid() == 0:
        os.setuid(65534)
    print(json.dumps(looked({})))


def looked(more: dict[str, Any]) -> dict[str, object]:
    seen: dict[str, object] = {}
    with dp.protect("visits.parquet", privacy_unit="row", budget=9, **more) as session:
        for _ in range(1 if not more else 2):  # a replay loads more than an answer
            again = session.sql("SELECT COUNT(*) AS n FROM visits", 1)
        seen["replayed"] = again.replayed
        seen["spent"] = str(session.budget.spent)
        seen["entries"] = session.ledger.verify()
        seen["preview"] = str(session.preview("SELECT COUNT(*) AS n FROM visits", 2).epsilon)
        try:
            session.sql("SELECT COUNT(*) AS n FROM visits WHERE a > 1", 1)
        except LedgerError as error:
            seen["refused"] = [str(error.charged), error.fix]
    return seen


if __name__ == "__main__":
    main(Path(sys.argv[1]))
