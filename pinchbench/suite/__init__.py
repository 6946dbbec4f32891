"""Task files, the folder that holds them, and the selection of tasks for a run."""
