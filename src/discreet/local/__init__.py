"""Data that stays where it is: nodes that answer for themselves, and estimates from their noisy answers.

Nobody is trusted with everybody's data. A node holds the values of one person (the local model) or of one
organisation (a federation), adds the noise itself, and keeps its own budget. An analyst sees noisy answers only. A
node that was not opened answers nothing.
"""

from discreet.local.federation import FederatedEstimate, FederatedNodes, federate
from discreet.local.heights import HeightExperiment, Point, height_experiment
from discreet.local.messages import Access, Choices, Node, Offer, Report
from discreet.local.node import LocalNode
from discreet.local.remote import RemoteNode, serve
from discreet.mechanisms.laplace_sum.half_width import half_width

__all__ = [
    "Access",
    "Choices",
    "FederatedEstimate",
    "FederatedNodes",
    "HeightExperiment",
    "LocalNode",
    "Node",
    "Offer",
    "Point",
    "RemoteNode",
    "Report",
    "federate",
    "half_width",
    "height_experiment",
    "serve",
]
