"""What a person sees of a run: live lines while it goes on, tables at its end."""
