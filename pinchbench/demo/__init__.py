"""The scripted model: a provider on loopback that needs no provider."""
