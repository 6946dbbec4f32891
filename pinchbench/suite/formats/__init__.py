"""The readers of the task formats, one module each."""
