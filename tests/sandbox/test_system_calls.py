"""The filter refuses the calls that reach what is not a trial's own, and leaves the rest to programs."""

import json
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import kernel, system_calls
from sandbox_programs import Trial

ROOT = Path(pinchbench.__file__).parents[1]
# Without the filter, each call fails for another reason than EPERM, or changes nothing.
PROGRAM = """
import ctypes, errno, json, os, resource, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox import kernel, system_calls as calls
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
calls.refuse_other_processes()
NOBODY = 4_000_000
def error_of(name, *arguments):
    number = calls._number(name) if isinstance(name, str) else name
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in (number, *arguments)]
    if kernel.LIBC.syscall(*words) >= 0:
        return "done"
    return errno.errorcode[ctypes.get_errno()]
limits = (ctypes.c_ulong * 2)(*resource.getrlimit(resource.RLIMIT_NOFILE))
found = {name: error_of(name, -1, -1, -1, -1, -1) for name in calls.NUMBERS}
found |= {
    "own limits": error_of("prlimit64", 0, resource.RLIMIT_NOFILE, limits, None),
    "read limits by a number": error_of("prlimit64", os.getpid(), resource.RLIMIT_NOFILE, None, limits),
    "limits of a process": error_of("prlimit64", NOBODY, resource.RLIMIT_NOFILE, limits, None),
    "limits of a process, with more bits": error_of("prlimit64", NOBODY | 1 << 40, 7, limits, None),
    "limits at a high address": error_of("prlimit64", NOBODY, resource.RLIMIT_NOFILE, 1 << 40, None),
    "own priority": error_of("setpriority", os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "priority of a process": error_of("setpriority", os.PRIO_PROCESS, NOBODY, 0),
    "priority of a user": error_of("setpriority", os.PRIO_USER, NOBODY, 0),
    "own affinity": error_of("sched_setaffinity", 0, 8, ctypes.byref(ctypes.c_ulong((1 << 64) - 1))),
    "affinity of a process": error_of("sched_setaffinity", NOBODY, 8, ctypes.byref(ctypes.c_ulong(1))),
    "disk priority of all of one's processes": error_of("ioprio_set", 3, 0, -1),
    "a call of x32": error_of(0x40000000 | 39),
    "an unknown call": error_of(4095),
}
print(json.dumps(found))
"""


def test_what_reaches_other_processes_is_refused_and_what_is_ones_own_is_not(trial: Trial) -> None:
    found = json.loads(trial.run_outside(PROGRAM, ROOT))
    assert {name: found.pop(name) for name in system_calls.NUMBERS} == dict.fromkeys(system_calls.NUMBERS, "EPERM")
    assert found == {
        "own limits": "done",
        "read limits by a number": "done",
        "limits of a process": "EPERM",
        "limits of a process, with more bits": "EPERM",
        "limits at a high address": "EPERM",
        "own priority": "done",
        "priority of a process": "EPERM",
        "priority of a user": "EPERM",
        "own affinity": "done",
        "affinity of a process": "EPERM",
        "disk priority of all of one's processes": "EPERM",
        "a call of x32": "EPERM" if kernel.IS_X86_64 else "ENOSYS",
        "an unknown call": "ENOSYS",
    }


def test_in_namespaces_keyrings_are_refused_and_tracing_is_not(trial: Trial) -> None:
    program = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
    number = system_calls.NUMBERS["keyctl"][0 if kernel.IS_X86_64 else 1]
    program += f"print(libc.syscall({number}, 0, -4, 1), ctypes.get_errno(), libc.ptrace(0, 0, 0, 0))"
    assert trial.run([str(trial.python), "-I", "-S", "-c", program]).stdout == "-1 1 0\n"


@pytest.mark.skipif(not Path("/usr/include/asm-generic/unistd.h").exists(), reason="needs the kernel's headers")
@pytest.mark.parametrize(("header", "column"), [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)])
def test_the_numbers_are_those_of_the_kernels_headers(header: str, column: int) -> None:
    file = Path("/usr/include", header)
    if not file.exists():
        pytest.skip("these are the headers of another architecture")
    words = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    named = {
        one[1].removeprefix("__NR3264_").removeprefix("__NR_"): int(one[2])
        for one in words
        if len(one) >= 3 and one[0] == "#define" and one[1].startswith("__NR") and one[2].isdigit()
    }
    expected = {name: numbers[column] for name, numbers in system_calls.NUMBERS.items()}
    assert {name: number for name, number in named.items() if name in expected} == {
        name: number for name, number in expected.items() if name in named
    }
    assert len(named.keys() & expected.keys()) > 20  # older headers do not have the latest calls
