"""The scripted model: a built-in provider on loopback that needs no account or network."""
