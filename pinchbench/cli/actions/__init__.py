"""What the commands do: a module of this package is imported when one of its commands runs."""
