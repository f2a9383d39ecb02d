"""Privacy loss: what a release costs, what releases cost together, and who keeps count.

A loss is a value: `Loss` (epsilon and delta, exact; pure when delta is 0), `ZCDP`, or a `LossDistribution`. An event
says what was released, an accountant what it costs. Every rounding is toward more loss.
"""

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
    Event,
    GaussianNoise,
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
from discreet.accounting.homogeneous import Homogeneous
from discreet.accounting.loss import UNIT, Loss
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
from discreet.accounting.tally import RULES, Rule, Tally, admits, price, rule_of
from discreet.accounting.zcdp import ZCDP

__all__ = [
    "ACCOUNTANTS",
    "RULES",
    "UNIT",
    "ZCDP",
    "Accountant",
    "AdvancedAccountant",
    "Composed",
    "Concentrated",
    "CountError",
    "Event",
    "Filter",
    "GaussianNoise",
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
