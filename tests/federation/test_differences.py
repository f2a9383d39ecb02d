from __future__ import annotations

import pyarrow as pa

import discreet as dp
from discreet.federation.differences import NodeDeclarations, declared, differences, worded
from tests.federation.wards import PEOPLE, WARDS, ward


def _declared(wards: list[str]) -> NodeDeclarations:
    tables = {"data": PEOPLE["west"], "wards": pa.table({"name": wards})}
    keys = {"ward": "wards.name", "age": [*range(8)]}
    with dp.protect(
        tables, table="data", privacy_unit="row", keys=keys, budget=1, public=["wards"]
    ) as session:
        return declared(session)


def test_nodes_alike_have_no_differences() -> None:
    assert differences("north", _declared(WARDS), "south", _declared(WARDS)) == []


def test_public_tables_are_compared_by_their_contents() -> None:
    assert differences("north", _declared(WARDS), "south", _declared(["a", "b", "x"])) == [
        "the public table wards has another content in south than in north"
    ]


def test_keys_behind_those_that_are_shown_are_compared() -> None:
    one, other = (declared(ward(PEOPLE["west"], keys={"day": [*range(9), last]})) for last in (10, 11))
    assert differences("x", one, "y", other) == ["data.day: the lists of keys are not the same"]


def test_only_some_differences_are_named() -> None:
    assert worded(["one: 1", "two: 2"]) == "one: 1; two: 2"
    assert worded(list("abcde")) == "a; b; c; 2 more"
