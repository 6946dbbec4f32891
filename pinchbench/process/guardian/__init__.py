"""The process that owns a trial's process tree: starts the agent, and ends everything it started.

Run as `python -I -S guardian/__main__.py FD LEVEL`, one for each turn; standard library only, so that it starts in
milliseconds, and beside a small entry only what Python has compiled before.
Its working folder, stdin, stdout and stderr are the agent's. FD is one end of a socket pair whose other end only the
runner holds. Lines go both ways:

    runner → guardian   {"argv": […], "env": {…}, "grace_s": …, …}  what to run (see `line.Job`)
                        `stop`   SIGTERM to the agent, the grace, then SIGKILL for whoever is left
                        `kill`   SIGKILL now
                        (end of file: the runner is gone, `kill -9` included; a short grace)
    guardian → runner   {"event": "started", "pid": …, "at": …}, when on the monotonic clock, or {"event": "failed", …}
                        {"event": "ended", …}  when nobody is left; the guardian exits after it

On Linux the guardian is a subreaper: an orphan falls to it whatever session or environment it chose, so
"has no children" means "nobody is left". Elsewhere (level `session`) it finds the trial's processes by the
marker in their environment, which a child that cleared its environment escapes.
"""
