"""Export of runs to the formats of other tools: tables, test reports, trajectories, logs and training data."""
