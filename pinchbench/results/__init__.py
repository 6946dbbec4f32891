"""The files of a run: the journal, the values derived from it, and their paths."""
