"""Private learning: students of noisy teachers."""

from discreet.learning.arrays import PrivateArrays
from discreet.learning.moments import data_independent
from discreet.learning.pate import Labels, pate

__all__ = ["Labels", "PrivateArrays", "data_independent", "pate"]
