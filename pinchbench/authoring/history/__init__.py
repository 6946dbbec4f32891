"""Tasks made of a user's own conversations with OpenClaw."""
