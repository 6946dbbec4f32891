"""Comparing runs with each other (pure)."""
