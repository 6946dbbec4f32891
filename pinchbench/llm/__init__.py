"""Asking a model: the judge's and the simulated user's questions, the preflight, and the built-in demo model."""
