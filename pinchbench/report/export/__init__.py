"""Runs written in the formats of other tools: tables, test reports, traces and logs."""
