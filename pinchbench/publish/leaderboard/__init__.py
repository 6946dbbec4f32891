"""The public leaderboard: what may go there of a run, and how it gets there."""
