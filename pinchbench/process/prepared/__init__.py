"""The guardian whose job is a call in a fork of itself, on whose answer the runner can rely.

Run as `python -s -P -X utf8 prepared/__main__.py FD LEVEL MODULE`; FD and LEVEL are those of `process.guardian`, and so are
the lines that go both ways. MODULE is imported and its `prepare` called; then this process forks, and in the fork `main(argument,
channel)` of the module is called with the job's only argument.

`channel` is a socket on which the fork, and nobody else, can send its answer. On Linux the kernel says which process
has sent each byte, and only the fork's own count; it can't be opened by another process through `/proc`, and no program
that the fork starts inherits it. The answer is read up to the moment in which the fork has ended by itself, before the
rest of its tree is ended, and stands in the report as `answer`.

The fork leads a session of its own, has the environment, the files and the folder of the job, and the signals of a
program that has just been started. It is killed when its guardian dies.
"""
