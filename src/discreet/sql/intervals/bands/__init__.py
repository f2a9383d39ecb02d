"""Intervals where noise selects or folds: bands for noisy numbers, carried through a statement."""
