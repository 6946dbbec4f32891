"""What the generators make their fixtures with."""
