"""Where results go: the leaderboard, notifications, OpenTelemetry. Optional: the core never imports it."""
