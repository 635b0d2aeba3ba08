# SPDX-License-Identifier: MIT

import ctypes

YESCRYPT = b"$y$j9T$F5Jx5fExrKuPp53xLKQ..1"  # the setting of Debian's `passwd` uses 16 MiB of memory


def hashed(password, setting=YESCRYPT):
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), setting).decode()
