"""What requests and replies say, by the protocol in which a provider is asked (pure)."""
