"""Privacy loss: the cost of a release, the cost of several together, and the accountants that keep count.

A loss is a value: `Loss` (epsilon and delta, exact; pure when delta is 0), `ZCDP`, or a `LossDistribution`. An event
describes a release, and an accountant prices it. Every rounding is toward more loss.

The ledger needs losses and their sums; everything else loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.accounting.loss import UNIT, Loss
from discreet.accounting.tally import RULES, Rule, Tally, admits, price, rule_of
from discreet.imports import lazy_names

if TYPE_CHECKING:
    from discreet.accounting.accountants import (
        ACCOUNTANTS,
        Accountant,
        AdvancedAccountant,
        PLDAccountant,
        PureAccountant,
        ZCDPAccountant,
    )
    from discreet.accounting.composition import advanced, group, parallel, sequential
    from discreet.accounting.distribution import LossDistribution
    from discreet.accounting.events import (
        Composed,
        Concentrated,
        Converted,
        DiscreteGaussianNoise,
        Event,
        GaussianNoise,
        GaussianPrivate,
        Grouped,
        LaplaceNoise,
        Neighbours,
        Parallel,
        Released,
        Repeated,
        ReplaceOne,
        Sampled,
    )
    from discreet.accounting.filters import Filter, Odometer
    from discreet.accounting.gaussian.gdp import GDP, gdp_of
    from discreet.accounting.homogeneous import Homogeneous
    from discreet.accounting.personal import (
        CountError,
        PersonalGroup,
        count_error,
        keep,
        keep_probability,
        minimum,
    )
    from discreet.accounting.pricing import loss_of, zcdp_of
    from discreet.accounting.sampling import amplified, before_sampling
    from discreet.accounting.zcdp import ZCDP

__all__ = [
    "ACCOUNTANTS",
    "GDP",
    "RULES",
    "UNIT",
    "ZCDP",
    "Accountant",
    "AdvancedAccountant",
    "Composed",
    "Concentrated",
    "Converted",
    "CountError",
    "DiscreteGaussianNoise",
    "Event",
    "Filter",
    "GaussianNoise",
    "GaussianPrivate",
    "Grouped",
    "Homogeneous",
    "LaplaceNoise",
    "Loss",
    "LossDistribution",
    "Neighbours",
    "Odometer",
    "PLDAccountant",
    "Parallel",
    "PersonalGroup",
    "PureAccountant",
    "Released",
    "Repeated",
    "ReplaceOne",
    "Rule",
    "Sampled",
    "Tally",
    "ZCDPAccountant",
    "admits",
    "advanced",
    "amplified",
    "before_sampling",
    "count_error",
    "gdp_of",
    "group",
    "keep",
    "keep_probability",
    "loss_of",
    "minimum",
    "parallel",
    "price",
    "rule_of",
    "sequential",
    "zcdp_of",
]

_NAMES = {
    "accountants": "ACCOUNTANTS Accountant AdvancedAccountant PLDAccountant PureAccountant ZCDPAccountant",
    "composition": "advanced group parallel sequential",
    "distribution": "LossDistribution",
    "events": "Composed Concentrated Converted DiscreteGaussianNoise Event GaussianNoise GaussianPrivate Grouped "
    "LaplaceNoise Neighbours Parallel Released Repeated ReplaceOne Sampled",
    "filters": "Filter Odometer",
    "gaussian.gdp": "GDP gdp_of",
    "homogeneous": "Homogeneous",
    "personal": "CountError PersonalGroup count_error keep keep_probability minimum",
    "pricing": "loss_of zcdp_of",
    "sampling": "amplified before_sampling",
    "zcdp": "ZCDP",
}
__getattr__, __dir__ = lazy_names(__name__, _NAMES, __all__)
