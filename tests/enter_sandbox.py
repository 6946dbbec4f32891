"""Run a program in a sandbox: `python -I -S enter_sandbox.py PACKAGES FD`.

FD is a file descriptor with a JSON object of `plan`, `argv` and `env`; PACKAGES is the folder of this package. The exit
code is that of the program, or 128 + n after a signal n.
"""

from __future__ import annotations

import json
import os
import signal
import sys

if __name__ == "__main__":  # an isolated Python has only the standard library on its path
    sys.path.append(sys.argv[1])

from pinchbench.sandbox.enter import PASSED_ON, EnterError, start
from pinchbench.sandbox.kernel import CANNOT_START


def main() -> None:
    """Run one program; see the module's docstring."""
    with os.fdopen(int(sys.argv[2]), "rb") as file:
        job = json.load(file)
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until there is a process to pass them on to
    try:
        entered = start(job["plan"], job["argv"], job["env"])
    except (EnterError, OSError) as error:
        sys.stderr.write(f"The sandbox can't be entered: {error}\n")
        sys.exit(CANNOT_START)
    for number in PASSED_ON:
        signal.signal(number, lambda received, _: os.kill(entered.pid, received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    _, status = os.waitpid(entered.pid, 0)
    entered.read_report()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
