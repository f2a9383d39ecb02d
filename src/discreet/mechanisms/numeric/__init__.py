"""Mechanisms that release numbers: values with noise that fits their sensitivity."""
