"""What an agent wrote and did, as lines and as a conversation."""
