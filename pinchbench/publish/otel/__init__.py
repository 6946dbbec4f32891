"""OpenTelemetry traces of runs: trials, model calls and scores, sent to a collector by OTLP over HTTP."""
