"""What is done with an earlier run: resume, regrade, replay."""
