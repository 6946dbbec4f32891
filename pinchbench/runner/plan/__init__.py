"""What a run will do: suite, selection, plan, order and expected durations, and what it takes from an earlier run."""
