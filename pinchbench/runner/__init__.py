"""The run itself: what is tried in which order, and the nursery that drives it."""
