"""Grading: a trial's check in its own process, a judge that evaluates in parallel, and one grade from both."""
