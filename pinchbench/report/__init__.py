"""Reports for people: a live view during a run, tables at its end, and HTML pages."""
