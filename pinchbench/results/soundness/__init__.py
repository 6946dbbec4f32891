"""Whether a measurement is sound."""
