"""Unix processes: run them under guardians, follow their output, and end all that they started."""
