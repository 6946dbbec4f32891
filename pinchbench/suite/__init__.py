"""Task files, the folder they stand in, and which of them a run asks for."""
