"""Export of runs to the formats of other tools: tables, test reports, traces and logs."""
