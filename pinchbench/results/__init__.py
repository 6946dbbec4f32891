"""The files of a run: the journal, what is derived from it, and where they lie."""
