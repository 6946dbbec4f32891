"""What a run will do: suite, selection, plan, order and expected durations."""
