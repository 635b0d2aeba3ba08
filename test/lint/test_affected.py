# SPDX-License-Identifier: MIT
import affected
import pytest


@pytest.fixture
def tree(tmp_path):
    files = {
        "include/rest_fcgi/a/seam.h": "",
        "src/a/own.h": '#include "rest_fcgi/a/seam.h"\n',
        "src/a/one.cc": '#include "a/own.h"\n',
        "src/a/two.cc": "#include <vector>\n",
        "src/b/three.cc": '#include "rest_fcgi/a/seam.h"\n#include "a/gone.h"\n',
        "test/a/fixture.h": '#include "a/own.h"\n',
        "test/a/one_test.cc": '#include "fixture.h"\n',
        "test/a/two_test.cc": '#include "../a/fixture.h"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


TESTS = ["test/a/one_test.cc", "test/a/two_test.cc"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["README.md", ""], []),
        (["src/a/two.cc"], ["src/a/two.cc"]),
        (["src/a/own.h"], ["src/a/one.cc", *TESTS]),
        (["include/rest_fcgi/a/seam.h"], ["src/a/one.cc", "src/b/three.cc", *TESTS]),
        (["src/a/gone.h"], ["src/b/three.cc"]),
        (["test/a/fixture.h", "src/a/was.cc"], TESTS),
        ([".clang-tidy"], ["src/a/one.cc", "src/a/two.cc", "src/b/three.cc", *TESTS]),
    ],
)
def test_files_that_include_a_changed_file_are_affected(tree, names, found):
    assert affected.affected(tree, names) == found
