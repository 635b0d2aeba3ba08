# SPDX-License-Identifier: MIT
"""Fires events on the event bus of a real master."""

import socket
import struct


def packed(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(packed(key) + packed(value[key]) for key in value)


class Firing:
    """A connection to the master's event socket in `sock_dir`."""

    def __init__(self, sock_dir):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"{sock_dir}/master_event_pull.ipc")

    def fire(self, tag, data):
        frame = packed({"head": {}, "body": tag.encode() + b"\n\n" + packed(data)})
        self._socket.sendall(struct.pack(">I", len(frame)) + frame)

    def close(self):
        self._socket.close()
