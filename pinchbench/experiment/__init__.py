"""Experiments: variants of a run, made side by side and compared."""
