"""Deciding whether a run is good enough: minimum scores and baselines."""
