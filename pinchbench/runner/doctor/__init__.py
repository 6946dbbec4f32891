"""`doctor`: everything that a run needs, looked at before it is needed."""
