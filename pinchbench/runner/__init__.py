"""The run itself: what is run in which order, and the task group that runs it."""
