"""Examines a machine before a run; runs no trial."""
