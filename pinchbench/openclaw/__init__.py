"""OpenClaw: its installs, homes and sessions, and the runs of its agent."""
