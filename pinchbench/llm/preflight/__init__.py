"""A single request to a model's endpoint before anything is set up for it."""
