"""Unix processes: run one under a guardian, follow what it writes, leave nobody alive."""
