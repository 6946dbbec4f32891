"""The state folders of OpenClaw that slots work with."""
