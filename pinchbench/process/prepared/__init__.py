"""A process that has imported what calls need, and forks a guardian for each; on a call's answer the runner can rely.

Run as `python -s -P -X utf8 prepared/__main__.py FD LEVEL MODULE`. MODULE is imported and its `prepare` called, once. Then
each message on FD, a socket, brings the files of one call: the guardian's end of a conversation as in `process.guardian`,
then stdin, stdout and stderr. This process forks a guardian for it, which reads its job, forks again, and has
`main(argument, channel)` of the module called there with the job's only argument. When the guardian has exited, a byte is
sent on FD. So what is forked has seen no job, and what one job holds is in no other's memory.

`channel` is a socket on which the fork, and nobody else, can send its answer. On Linux the kernel says which process
has sent each byte, and only the fork's own count; it can't be opened by another process through `/proc`, and no program
that the fork starts inherits it. The answer is read up to the moment in which the fork has ended by itself, before the
rest of its tree is ended, and stands in the report as `answer`.

Imports take most of the time of a small check (20 CPU-ms with a fork, 180 with a Python of its own, measured).

The fork leads a session of its own, has the environment, the files and the folder of the job, and the signals of a
program that has just been started. It is killed when its guardian dies.
"""
