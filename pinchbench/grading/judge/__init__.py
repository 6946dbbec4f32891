"""The judge: prompt, evidence, reply and the ways to ask a model."""
