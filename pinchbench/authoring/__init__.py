"""Writing tasks: play their solutions and attack their checks."""
