"""The inventory of a spare-parts depot. README.md has the rules."""

__version__ = "2.3.0"
