import subprocess
import sys

import msgspec
import pytest

from pinchbench.decoding import convert, decode_json

# A type's description takes long enough for another thread to use it half made: msgspec alone crashes within seconds.
TWO_THREADS = """
import sys, threading
from dataclasses import make_dataclass
from pinchbench.decoding import convert, json_decoder

sys.setswitchinterval(1e-6)
for number in range(400):
    inner = make_dataclass("Inner", [("count", int), ("counts", dict[str, int])])
    outer = make_dataclass("Outer", [("first", inner), ("others", tuple[inner, ...])])
    both = threading.Barrier(2)
    found = []

    def use(read):
        both.wait()
        found.append(read())

    value = {"first": {"count": 1, "counts": {"a": 1}}, "others": []}
    text = b'{"first": {"count": 1, "counts": {"a": 1}}, "others": []}'
    ways = lambda: convert(value, outer), lambda: json_decoder(outer).decode(text)
    threads = [threading.Thread(target=use, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == outer(inner(1, {"a": 1}), ()), found
"""


def test_two_threads_can_use_a_type_for_the_first_time_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", TWO_THREADS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_is_of_any_kind_unless_one_is_given() -> None:
    assert decode_json(b'{"a": [1, null]}') == {"a": [1, None]}
    with pytest.raises(msgspec.ValidationError):
        decode_json("[1]", dict[str, int])


def test_a_hook_may_convert_what_it_is_given() -> None:
    assert convert({"a": "5"}, dict[str, complex], dec_hook=lambda _, text: complex(convert(text, str))) == {"a": 5}
