"""OpenClaw: its installs, homes, gateways and sessions, and the runs of its agent."""
