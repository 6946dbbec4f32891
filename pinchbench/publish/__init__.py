"""Where results go: bundles, the leaderboard, OpenTelemetry. Optional: the core never imports it."""
