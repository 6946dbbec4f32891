"""What a run needs before its first trial: OpenClaw, homes, sandbox, wire, judge, folders."""
