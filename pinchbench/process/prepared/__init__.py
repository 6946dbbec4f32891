"""The prepared process, which has imported a module in advance and forks a guardian for each call of it.

Run as `python -s -P -X utf8 prepared/__main__.py FD LEVEL MODULE`. It imports MODULE and calls its `prepare` once. Each
message on the socket FD then contains the file descriptors of one call: the guardian's end of a connection as in
`process.guardian`, then stdin, stdout and stderr. The prepared process forks a guardian for the call. The guardian
reads its job and forks again, and that fork calls the module's `main(argument, channel)` with the job's only argument.
When the guardian has exited, the prepared process sends a byte on FD. Since it never reads a job itself, no data of one
job is in the memory of another.

`channel` is a socket on which only the fork can send its answer, so that the runner can trust it. On Linux the kernel
reports the sender of each byte, and only bytes of the fork itself are accepted. Other processes can't open the socket
through `/proc`, and programs that the fork starts don't inherit it. The answer is read until the fork has exited by
itself, before the rest of its tree is ended, and is the member `answer` of the report.

With the plan of a sandbox in its job, the fork is the second process of new namespaces (see `sandbox.enter`). Nobody
else there exists when it sends its first byte, from which its guardian learns its process id.

Imports take most of the time of a small check (20 CPU-ms with a fork, 180 CPU-ms with a separate Python, measured).

The fork leads its own session. It has the environment, the files and the working directory of the job, and the signal
handlers of a newly started program. It is killed when its guardian dies.
"""
