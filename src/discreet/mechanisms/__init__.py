"""Mechanisms: noise matched to a sensitivity, with the guarantee that follows."""
