# SPDX-License-Identifier: MIT
"""Password hashes for password files."""

import ctypes

YESCRYPT = b"$y$j9T$F5Jx5fExrKuPp53xLKQ..1"  # the setting of Debian's `passwd`, with 16 MiB; the salt is arbitrary


def hashed(password, setting=YESCRYPT):
    """Returns the hash of libcrypt."""
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), setting).decode()
