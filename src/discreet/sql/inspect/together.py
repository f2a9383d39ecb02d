"""The strategy of a workload told to a person: which marginals are measured, and how much is saved."""

from __future__ import annotations

import math

from discreet.rational import show
from discreet.sql.inspect.diagram import Fact, Json
from discreet.sql.inspect.wording import words
from discreet.sql.plan.plan import QueryPlan, ScopePlan, Workload


def told(plan: QueryPlan) -> tuple[str, ...]:
    """A few lines on each workload of a plan."""
    return tuple(
        line for workload in plan.workloads for line in (_measured(workload), _saved(plan, workload))
    )


def facts_of(plan: QueryPlan) -> list[Fact]:
    """The same as facts of the plan."""
    return [
        Fact("together", f"{_measured(workload)}\n{_saved(plan, workload)}", _data(plan, workload), many=True)
        for workload in plan.workloads
    ]


def keys_of(release: ScopePlan) -> str:
    """The keys of a release in words."""
    return ", ".join(words(key.expression) for key in release.keys) or "all rows"


def deviations(release: ScopePlan) -> tuple[float, float]:
    """The standard deviation of the noise of an estimated table in rows, and that of the table measured apart."""
    estimated = release.estimated
    assert estimated is not None
    unit = float(estimated.scales[0]) / release.measures[0].row_sensitivity
    return unit * math.sqrt(estimated.variance), unit * math.sqrt(2 * estimated.strategy.even)


def _measured(workload: Workload) -> str:
    tables = len(workload.tables)
    listed = "; ".join(f"{keys_of(one)}: epsilon {show(one.epsilon)}" for _, one in workload.marginals)
    return f"{tables} tables of the same rows, estimated from what is measured of them: {listed}"


def _saved(plan: QueryPlan, workload: Workload) -> str:
    listed = []
    for release in _tables(plan, workload):
        own, apart = deviations(release)
        listed.append(f"{keys_of(release)} {own:.3g} instead of {apart:.3g}")
    return f"standard deviation of the noise, in rows: {'; '.join(listed)}"


def _data(plan: QueryPlan, workload: Workload) -> Json:
    measured: list[Json] = [
        {"keys": keys_of(one), "cells": one.cells, "epsilon": show(one.epsilon, 12)}
        for _, one in workload.marginals
    ]
    tables: list[Json] = [
        {"table": one.name, "keys": keys_of(one), "standard_deviation": own, "apart": apart}
        for one in _tables(plan, workload)
        for own, apart in [deviations(one)]
    ]
    return {"measured": measured, "tables": tables}


def _tables(plan: QueryPlan, workload: Workload) -> list[ScopePlan]:
    return [release for release in plan.releases if release.name in workload.tables]
