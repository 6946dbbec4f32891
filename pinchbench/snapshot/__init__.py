"""Snapshots of workspaces: kept as the agent left them, for the graders, and restored where they can do no harm."""
