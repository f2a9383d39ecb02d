"""Sums over the groups of a release: every public group is in them, with its noise, whether anybody is in it or not.

Told from the plan alone. How many of the groups are empty is a fact about people, and is not said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from discreet.release.noisy_schema import aggregate_number
from discreet.sql.intervals.simultaneous import names_of
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.once import once

MANY = 50
"""Over fewer groups than this nothing is said: everybody who asks for a share of a few states means it."""
VERBS: dict[type[exp.Expr], str] = {exp.Sum: "adds up", exp.Avg: "averages", exp.Count: "counts"}


def added_up(plan: QueryPlan) -> tuple[str, ...]:
    """The warnings about numbers that are aggregated over many groups of a release."""
    if any(release.discovery is not None for release in plan.releases):
        return ()  # groups that were found are not empty
    return tuple(dict.fromkeys(_said(plan)))


def _said(plan: QueryPlan) -> Iterator[str]:
    releases = tuple(release.name for release in plan.releases)
    for name, verb, number in _totals(plan.post, releases):
        cells = plan.releases[number].cells
        if cells >= MANY:
            yield (
                f"{name} {verb} the noisy numbers of {cells:,} groups, those without rows among them, and the noise of "
                "each is in it: a number asked of the rows themselves, by fewer keys, has the noise of one number"
            )


@once
def _totals(post: exp.Query, releases: tuple[str, ...]) -> tuple[tuple[str, str, int], ...]:
    """The columns that aggregate noisy numbers: the name of each, its verb, and the number of the release."""
    behind = {name.lower(): release for name, (release, _) in names_of(post, releases).items()}
    out = []
    for select in post.find_all(exp.Select):
        if _chosen(select, releases):
            continue
        for item in select.expressions:
            for node in item.find_all(exp.AggFunc):
                if node.find_ancestor(exp.Select) is not select or isinstance(node, exp.Min | exp.Max):
                    continue
                columns = (column.name.lower() for column in node.find_all(exp.Column))
                release = next((behind[name] for name in columns if name in behind), None)
                if release is not None:
                    out.append((item.alias_or_name, VERBS.get(type(node), "is taken over"), release))
    return tuple(out)


def _chosen(select: exp.Select, own: Collection[str]) -> bool:
    """Whether the aggregated rows were filtered before by noisy numbers, which leaves out most that are empty."""
    sources = [select, *(inner for inner in select.find_all(exp.Select) if inner is not select)]
    return any(
        aggregate_number(column.name) is not None and column.table in own
        for source in sources
        if source.args.get("where") is not None
        for column in source.args["where"].find_all(exp.Column)
    )
