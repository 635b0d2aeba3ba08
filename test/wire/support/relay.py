# SPDX-License-Identifier: MIT

import contextlib
import socket
import threading


class Relay:
    """Relays TCP connections from `self.port` to `port` while `self.passes` is set."""

    def __init__(self, port):
        self._target = port
        self.passes = True
        self._lock = threading.Lock()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Cuts all open connections. Returns the number of cut connections."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    def close(self):
        self._listener.close()
        self.cut()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                if not self.passes:
                    here.close()
                    continue
                try:
                    there = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    here.close()
                    continue
                with self._lock:
                    self._open |= {here, there}
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
            if sink not in self._open:
                source.close()
                sink.close()
