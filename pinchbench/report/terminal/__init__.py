"""Views of runs for a terminal."""
