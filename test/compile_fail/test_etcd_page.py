# SPDX-License-Identifier: MIT
"""What the page of the etcd client says of its code."""

import re
import subprocess

from test_compile_fail import COMPILER, TOP

PAGE = (TOP / "src/etcd/README.md").read_text()
CLIENT = (TOP / "include/rest_fcgi/etcd/client.h").read_text()


def test_the_example_compiles(tmp_path):
    (example,) = re.findall(r"^```cpp\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.cc").write_text(example)
    argv = [*COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", f"-I{TOP / 'include'}", tmp_path / "example.cc"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_has_each_call_of_the_client_and_no_other():
    _, _, public = CLIENT.partition("class Client {")
    public, _, _ = public.partition("\n};")
    calls = set(re.findall(r"\b(\w+)\([^()]*\bDeadline deadline", public))
    assert calls
    assert set(re.findall(r"`Client::(\w+)`", PAGE)) == calls
