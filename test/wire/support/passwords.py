# SPDX-License-Identifier: MIT
"""Passwords as password files have them."""

import ctypes

YESCRYPT = b"$y$j9T$F5Jx5fExrKuPp53xLKQ..1"  # as Debian's `passwd` makes it, with 16 MiB; the salt matters to nobody here


def hashed(password, setting=YESCRYPT):
    """What libcrypt makes of it."""
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), setting).decode()
