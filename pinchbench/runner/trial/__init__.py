"""One attempt of a trial: workspace, services, agent, simulated user, evidence."""
