"""The append-only truth of a run, and what it says."""
