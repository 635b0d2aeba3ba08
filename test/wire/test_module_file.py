# SPDX-License-Identifier: MIT

import os

import pytest

from support import module_files

CHANGING = ("write", "append", "touch", "mkdir", "remove")
Refused = module_files.CommandExecutionError


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "outside").write_text("safe\n")
    (tmp_path / "root/out").symlink_to(tmp_path / "other")
    (tmp_path / "root/link").symlink_to(tmp_path / "outside")
    return tmp_path / "root"


@pytest.fixture
def file(root):
    return module_with(root)


def module_with(root):
    return module_files.load("file", __opts__={"rest_fcgi": {"file_root": str(root)}})


def test_mkdir_and_remove_handle_folder_trees(file, root):
    assert file.mkdir(f"{root}/a/b/c", mode=750) is True and file.mkdir(f"{root}/a") is True
    assert (root / "a/b/c").stat().st_mode & 0o7777 == 0o750
    (root / "a/b/c/f").write_text("x")
    (root / "a/b/away").symlink_to(root.parent / "other")
    (root.parent / "other/kept").write_text("x")
    assert file.remove(f"{root}/a") is True
    assert not (root / "a").exists() and (root.parent / "other/kept").read_text() == "x"
    assert file.remove(f"{root}/a") is False
    (root / "file").write_text("")
    with pytest.raises(FileExistsError):
        file.mkdir(f"{root}/file")


def test_mkdir_sets_the_mode_without_setuid_bits(file, root):
    assert file.mkdir(f"{root}/m", mode="7750") is True
    assert (root / "m").stat().st_mode & 0o7777 == 0o1750
    for mode in ("9", "o" * 1000, "77777"):
        with pytest.raises(module_files.SaltInvocationError, match="expected octal digits"):
            file.mkdir(f"{root}/n", mode=mode)
    with pytest.raises(Refused, match="found user or group"):
        file.mkdir(f"{root}/n", user="root")


def test_remove_deletes_a_link_and_keeps_its_target(file, root):
    assert file.remove(f"{root}/link") is True and file.remove(f"{root}/out") is True
    assert (root.parent / "outside").read_text() == "safe\n" and (root.parent / "other").is_dir()


@pytest.mark.parametrize("function", CHANGING)
def test_no_path_changes_a_file_outside_file_root(file, root, function):
    change = getattr(file, function)
    for path in ("outside", "root", "root/", "root/.", "root2/f", "other/f"):
        with pytest.raises(Refused, match="expected one below rest_fcgi: embedded: file_root, "):
            change(f"{root.parent}/{path}")
    for path in ("root/../outside", "root/sub/../../outside", "root/.."):
        with pytest.raises(Refused, match="found .. in the path"):
            change(f"{root.parent}/{path}")
    with pytest.raises(OSError):
        change(f"{root}/out/f")
    if function in ("write", "append", "touch"):
        with pytest.raises(OSError, match="Errno 40"):
            change(f"{root}/link")
    assert (root.parent / "outside").read_text() == "safe\n" and os.listdir(root.parent / "other") == []


def test_special_files_are_neither_written_nor_read(file, root):
    os.mkfifo(root / "pipe")
    for change in (file.write, file.append, file.touch):
        with pytest.raises(OSError):
            change(f"{root}/pipe")
    with pytest.raises(IsADirectoryError):
        file.write(f"{root}/sub")
    for path in (f"{root}/pipe", "/dev/zero"):
        with pytest.raises(Refused, match="is not a regular file"):
            file.read(path)


def test_mkdir_creates_at_most_100_levels(file, root):
    with pytest.raises(Refused, match="nested folders, expected at most 100"):
        file.mkdir(str(root) + "/d" * 101)
    os.makedirs(str(root) + "/d" * 105)
    with pytest.raises(Refused, match="Could not remove .*Errno 40"):
        file.remove(f"{root}/d")


@pytest.mark.parametrize("function", CHANGING)
def test_changing_functions_name_file_root_if_it_is_unset(function):
    with pytest.raises(Refused, match=f"^file.{function} is off: set rest_fcgi: embedded: file_root to the folder"):
        getattr(module_with(""), function)("/tmp/x")
    with pytest.raises(FileNotFoundError):
        getattr(module_with("/no/such/root"), function)("/no/such/root/x")


def test_read_refuses_a_file_over_16_mib(file, root):
    (root / "large").touch()
    os.truncate(root / "large", (16 << 20) + 1)
    for read in (file.read, lambda path: file.contains(path, "x")):
        with pytest.raises(Refused, match="is too large to be read: more than 16777216 bytes"):
            read(f"{root}/large")
