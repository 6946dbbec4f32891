"""Which trial starts when, and when a run stops (pure)."""
