"""The wire: a proxy between OpenClaw and the model, its recordings and their replay."""
