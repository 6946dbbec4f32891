"""What a trial can see and reach: the levels of isolation, their description, and their enforcement."""
