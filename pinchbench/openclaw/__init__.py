"""Everything about OpenClaw: finding it, its private homes, its sessions, and running its agent."""
