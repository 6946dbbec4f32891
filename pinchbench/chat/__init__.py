"""Questions to a model as such: a conversation in, one message out, over an OpenAI-compatible endpoint."""
