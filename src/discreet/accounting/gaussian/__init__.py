"""Gaussian noise priced tightly: its exact privacy curve, and how the discrete one lies below it."""
