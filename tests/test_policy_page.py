"""docs/policy.md names every key of a policy, with its values, and the policy on it loads."""

from __future__ import annotations

import re
import tomllib
from inspect import isclass
from typing import get_args

import pytest
from pydantic import BaseModel

from discreet.accounting.tally import RULES
from discreet.policy import Policy
from discreet.policy.declarations import About, Budget, ColumnPolicy, TablePolicy
from discreet.policy.personal import Personal
from discreet.policy.values import KeyReference
from tests.test_readme import ROOT, _blocks

PAGE = (ROOT / "docs" / "policy.md").read_text("utf-8")
MODELS: dict[type[BaseModel], str] = {
    Policy: "The whole policy",
    Budget: "`[budget]`",
    About: "`[about]`",
    TablePolicy: "`[tables.NAME]`",
    Personal: "`[tables.NAME.personal]`",
    ColumnPolicy: "`[tables.NAME.columns]`",
}


def keys_of(page: str, title: str) -> set[str]:
    """The keys in the first table of a section."""
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    (own,) = (text for text in section if text.splitlines()[0] == title)
    return set(re.findall(r"^\| `(\w+)` \|", own.partition("\n### ")[0], re.MULTILINE))


def missing(page: str) -> list[str]:
    return [
        f"{title}: {name}"
        for model, title in MODELS.items()
        for name in model.model_fields
        if name not in keys_of(page, title)
    ]


def test_every_key_of_the_model_is_on_the_page() -> None:
    assert missing(PAGE) == []


def test_every_model_has_its_section() -> None:
    """A model inside a model is found, so that none can be added without a section."""
    found: list[type[BaseModel]] = [Policy]
    seen: set[type[BaseModel]] = set()
    while found:
        model = found.pop()
        seen.add(model)
        for field in model.model_fields.values():
            inner = [field.annotation, *get_args(field.annotation)]
            found += [one for one in inner if isclass(one) and issubclass(one, BaseModel) and one not in seen]
    assert seen == {*MODELS, KeyReference}
    assert all(f"{name} = " in PAGE for name in KeyReference.model_fields)


@pytest.mark.parametrize("key", ["neighbours", "accountant", "max_rows", "keys", "random_dp"])
def test_a_key_without_a_line_is_found(key: str) -> None:
    """Planted: the line of one key is taken out."""
    (line,) = re.findall(rf"^\| `{key}` \|.*\n", PAGE, re.MULTILINE)
    assert [each.rpartition(" ")[2] for each in missing(PAGE.replace(line, ""))] == [key]


def test_values_that_are_names_are_all_there() -> None:
    neighbours = get_args(Policy.model_fields["neighbours"].annotation)
    for name in (*neighbours, *RULES):
        assert f'`"{name}"`' in PAGE


def test_the_policy_on_the_page_loads_and_writes_itself_back() -> None:
    (text,) = _blocks("toml", PAGE)
    policy = Policy(**tomllib.loads(text))
    assert Policy(**tomllib.loads(policy.to_toml())) == policy
    named = {key for table in policy.tables.values() for key in table.model_fields_set}
    assert named == set(TablePolicy.model_fields)
    assert policy.model_fields_set == set(Policy.model_fields)


def test_the_readme_leads_there() -> None:
    assert "docs/policy.md" in (ROOT / "README.md").read_text("utf-8")
