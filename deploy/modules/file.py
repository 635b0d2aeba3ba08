# SPDX-License-Identifier: MIT
"""Files and folders.

Functions change files only below the folder of the setting file_root, and open each folder by its descriptor.
A symbolic link or a concurrent change of a folder cannot lead a function to another place."""

import contextlib
import glob
import grp
import hashlib
import os
import pwd
import re
import stat
import time

from salt.exceptions import CommandExecutionError, SaltInvocationError

LARGEST_READ = 16 << 20
MOST_NAMES = 100_000
DEEPEST = 100
BY_LENGTH = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
TYPES = {
    stat.S_IFDIR: "dir",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def file_exists(path):
    """
    Return whether a file exists.

    CLI Example:

        salt '*' file.file_exists /etc/passwd
    """
    return os.path.isfile(os.path.expanduser(path))


def directory_exists(path):
    """
    Return whether a folder exists.

    CLI Example:

        salt '*' file.directory_exists /etc
    """
    return os.path.isdir(os.path.expanduser(path))


def is_link(path):
    """
    Return whether a path is a symbolic link.

    CLI Example:

        salt '*' file.is_link /path/to/link
    """
    return os.path.islink(os.path.expanduser(path))


def path_exists_glob(path):
    """
    Return whether a path exists that matches a pattern.

    CLI Example:

        salt '*' file.path_exists_glob '/etc/pam*/pass*'
    """
    return any(True for _ in glob.iglob(os.path.expanduser(path)))


def access(path, mode):
    """
    Return whether the file may be read (``r``), written (``w``) or run (``x``), or whether the file exists (``f``).

    CLI Example:

        salt '*' file.access /path/to/file r
    """
    path = _absolute(path, "Path to link must be absolute.")
    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode not in modes and mode not in modes.values():
        raise SaltInvocationError("Invalid mode specified.")
    return os.access(path, modes.get(mode, mode))


def read(path, binary=False):
    """Return the content of a file. The file may have at most 16 MiB."""
    with _opened(path) as file:
        return _content(file)


def contains(path, text):
    """
    Return whether a file contains a text.

    CLI Example:

        salt '*' file.contains /etc/crontab mymaintenance.sh
    """
    if not os.path.exists(os.path.expanduser(path)):
        return False
    return str(text).strip() in read(path)


def get_hash(path, form="sha256", chunk_size=65536):
    """Return the hash of a file's content."""
    if not hasattr(hashlib, form):
        raise ValueError(f"Invalid hash type: {form}")
    with _opened(path) as file:
        hasher = getattr(hashlib, form)()
        for chunk in iter(lambda: file.read(chunk_size), b""):
            hasher.update(chunk)
    return hasher.hexdigest()


def check_hash(path, file_hash):
    """
    Return whether a file has this hash.

    CLI Example:

        salt '*' file.check_hash /etc/fstab md5:6f1ed002ab5595859014ebf0951522d9
    """
    if not isinstance(file_hash, str):
        raise SaltInvocationError("hash must be a string")
    form, mark, digits = file_hash.partition(":" if ":" in file_hash else "=")
    if not mark:
        digits = file_hash
        if len(digits) not in BY_LENGTH:
            known = ", ".join(f"{name} ({length})" for length, name in BY_LENGTH.items())
            raise SaltInvocationError(
                f"Hash {digits} (length: {len(digits)}) could not be matched to a supported hash type. "
                f"The supported hash types and lengths are: {known}"
            )
        form = BY_LENGTH[len(digits)]
    return get_hash(path, form) == digits


def stats(path, hash_type=None, follow_symlinks=True):
    """
    Return the status of a file. With ``hash_type``, the return has the hash of the file.

    CLI Example:

        salt '*' file.stats /etc/passwd
    """
    path = os.path.expanduser(path)
    status = _status(path, follow_symlinks)
    found = {
        "inode": status.st_ino,
        "uid": status.st_uid,
        "gid": status.st_gid,
        "group": _group(status.st_gid),
        "user": _user(status.st_uid),
        "atime": status.st_atime,
        "mtime": status.st_mtime,
        "ctime": status.st_ctime,
        "size": status.st_size,
        "mode": _mode(status),
    }
    if hash_type:
        found["sum"] = get_hash(path, hash_type)
    found["type"] = TYPES.get(stat.S_IFMT(status.st_mode), "file")
    found["target"] = os.path.realpath(path)
    return found


def get_user(path, follow_symlinks=True):
    """
    Return the name of a file's owner.

    CLI Example:

        salt '*' file.get_user /etc/passwd
    """
    return _user(_status(os.path.expanduser(path), follow_symlinks).st_uid)


def get_group(path, follow_symlinks=True):
    """
    Return the name of a file's group.

    CLI Example:

        salt '*' file.get_group /etc/passwd
    """
    return _group(_status(os.path.expanduser(path), follow_symlinks).st_gid)


def get_mode(path, follow_symlinks=True):
    """
    Return a file's permissions.

    CLI Example:

        salt '*' file.get_mode /etc/passwd
    """
    return _mode(_status(os.path.expanduser(path), follow_symlinks))


def readdir(path):
    """
    Return the names in a folder.

    CLI Example:

        salt '*' file.readdir /etc
    """
    path = _absolute(path, "Dir path must be absolute.")
    if not os.path.isdir(path):
        raise SaltInvocationError(f"A valid directory was not specified: {path}")
    names = [".", ".."]
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > MOST_NAMES:
                raise CommandExecutionError(f"{path} holds {MOST_NAMES} names or more, too many to list")
    return names


def readlink(path, canonicalize=False):
    """
    Return the target of a symbolic link.

    CLI Example:

        salt '*' file.readlink /path/to/link
    """
    path = _absolute(path, f"Path to link must be absolute: {path}")
    if not os.path.islink(path):
        raise SaltInvocationError(f"A valid link was not specified: {path}")
    return os.path.realpath(path) if canonicalize is True else os.readlink(path)


def write(path, *args, **kwargs):
    """
    Write lines to a file below ``file_root``. The lines replace the content of the file.

    CLI Example:

        salt '*' file.write /srv/files/motd 'With all thine offerings thou shalt offer salt.'
    """
    return _write(path, args, kwargs, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def append(path, *args, **kwargs):
    """
    Append lines to a file below ``file_root``.

    CLI Example:

        salt '*' file.append /srv/files/motd 'Salt is what makes things taste bad when it is not in them.'
    """
    return _write(path, args, kwargs, os.O_RDWR | os.O_APPEND)


def touch(name, atime=None, mtime=None):
    """Create a file below ``file_root``, or set its times. The times are in seconds since 1970, by default now."""
    try:
        now = None if atime is None and mtime is None else tuple(_seconds(moment) for moment in (atime, mtime))
    except ValueError:
        raise SaltInvocationError("atime and mtime must be integers") from None
    with _below_root(name, "touch") as (folder, last), _regular(folder, last, os.O_WRONLY | os.O_CREAT) as file:
        os.utime(file.fileno(), now)
    return True


def mkdir(dir_path, user=None, group=None, mode=None):
    """Create a folder below ``file_root``, with its missing parent folders."""
    if user or group:
        raise CommandExecutionError("file.mkdir: found user or group, expected neither: the folder gets the user of the process")
    if mode and not re.fullmatch("[0-7]{1,4}", str(mode)):
        raise SaltInvocationError(f"found the mode {mode}, expected octal digits")
    with _below_root(dir_path, "mkdir", make=True) as (folder, last):
        try:
            os.mkdir(last, dir_fd=folder)
        except FileExistsError:
            if not stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                raise
            return True
        if mode:  # uses a descriptor, because the name may now belong to another folder
            with _folder(last, folder) as made:
                os.fchmod(made, int(str(mode), 8) & 0o1777)
    return True


def remove(path, **kwargs):
    """Remove a file below ``file_root``, or a folder with its content."""
    with _below_root(path, "remove") as (folder, last):
        try:
            os.lstat(last, dir_fd=folder)
        except FileNotFoundError:
            return False
        try:
            _remove(folder, last, DEEPEST)
        except OSError as error:
            raise CommandExecutionError(f"Could not remove '{path}': {error}") from None
    return True


def _absolute(path, otherwise):
    path = os.path.expanduser(path)
    if not os.path.isabs(path):
        raise SaltInvocationError(otherwise)
    return path


@contextlib.contextmanager
def _opened(path):
    """Opens a regular file for reading. Other files are refused, because reading a device or pipe may never end."""
    path = os.path.expanduser(path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CommandExecutionError(f"{path} is not a regular file; other files cannot be read")
        yield file


def _content(file):
    content = file.read(LARGEST_READ + 1)
    if len(content) > LARGEST_READ:
        raise CommandExecutionError(f"{file.name} is too large to be read: more than {LARGEST_READ} bytes")
    return content.decode(errors="replace")


def _status(path, follow):
    """Returns the status of a path. Of a link whose target is missing, returns the status of the link."""
    for look in (os.stat, os.lstat) if follow else (os.lstat,):
        with contextlib.suppress(OSError):
            return look(path)
    raise CommandExecutionError(f"Path not found: {path}")


def _mode(status):
    return f"{stat.S_IMODE(status.st_mode):04o}"


def _user(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return uid


def _group(gid):
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return gid


def _seconds(moment):
    return time.time() if moment is None else int(moment)


@contextlib.contextmanager
def _folder(name, parent=None, follow=False):
    """Yields the descriptor of a folder."""
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | (0 if follow else os.O_NOFOLLOW), dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _below_root(path, function, make=False):
    """Yields the descriptor of the parent folder, and the last name, of a path below file_root."""
    root = __opts__["rest_fcgi"]["file_root"]
    if not root:
        raise CommandExecutionError(
            f"file.{function} is off: set rest_fcgi: embedded: file_root to the folder in which it may change files"
        )
    path = os.path.expanduser(path)
    prefix = root if root.endswith("/") else root + "/"
    names = [name for name in path[len(prefix) :].split("/") if name not in ("", ".")] if path.startswith(prefix) else []
    if not names:
        raise CommandExecutionError(f"found the path {path}, expected one below rest_fcgi: embedded: file_root, {root}")
    if len(names) > DEEPEST:
        raise CommandExecutionError(f"{path[:80]}...: found {len(names)} nested folders, expected at most {DEEPEST}")
    if ".." in names:
        raise CommandExecutionError(f"{path}: found .. in the path, expected a path without it")
    with contextlib.ExitStack() as opened:
        try:
            folder = opened.enter_context(_folder(root, follow=True))
            for name in names[:-1]:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                folder = opened.enter_context(_folder(name, folder))
            yield folder, names[-1]
        except OSError as error:  # Python's error has only the last name of the path
            raise type(error)(error.errno, error.strerror, path) from None


@contextlib.contextmanager
def _regular(folder, name, flags):
    """Opens a regular file for writing. With O_NONBLOCK, opening a pipe does not wait for a reader."""
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    descriptor = os.open(name, flags & ~os.O_TRUNC, 0o666, dir_fd=folder)
    with open(descriptor, "rb+" if flags & os.O_RDWR else "wb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument", name)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        yield file


def _write(path, args, kwargs, flags):
    lines = kwargs.get("args", args)
    lines = list(lines) if isinstance(lines, (list, tuple)) else [lines]
    text = "".join(f"{line}\n" for line in lines).encode()
    with _below_root(path, "append" if flags & os.O_APPEND else "write") as (folder, last):
        with _regular(folder, last, flags) as file:
            size = os.fstat(file.fileno()).st_size
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":  # the last line has no newline
                text = b"\n" + text
            while text:
                text = text[file.write(text) :]
    return f'Wrote {len(lines)} lines to "{path}"'


def _remove(parent, name, levels):
    try:
        os.unlink(name, dir_fd=parent)
        return
    except (IsADirectoryError, PermissionError):
        pass
    if not levels:
        raise OSError(40, "Too many folders below each other", name)
    with _folder(name, parent) as folder:
        for inside in os.listdir(folder):
            _remove(folder, inside, levels - 1)
    os.rmdir(name, dir_fd=parent)
