"""Grading: a trial's check in a process of its own, a judge that reads along, and one grade from both."""
