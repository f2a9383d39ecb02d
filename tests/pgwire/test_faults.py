from __future__ import annotations

import inspect

from discreet import errors
from discreet.errors import DiscreetError
from discreet.pgwire.faults import state_of
from tests.servers import connect, postgres

OTHERS = {"DiscreetError", "EntropyError", "Exhausted", "MissingExtra", "NodeError", "ServerError",
          "StreamError", "UnsupportedEvent"}  # fmt: skip
"""Errors that the service says in fixed words, or never says."""


def test_every_error_has_a_state_that_postgresql_knows() -> None:
    kinds = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, DiscreetError)]
    states = {kind.__name__: state_of(kind.__new__(kind)) for kind in kinds}
    assert {name for name, state in states.items() if state == "XX000"} == OTHERS
    with connect(postgres()) as connection:
        for state in set(states.values()):
            connection.execute(f"DO $$ BEGIN PERFORM 1; EXCEPTION WHEN SQLSTATE '{state}' THEN NULL; END $$")
