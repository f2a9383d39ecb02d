"""Mechanisms that choose by rank together with what surrounds the choice."""
