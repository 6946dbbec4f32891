"""A run in one file that others can check."""
