# SPDX-License-Identifier: MIT
"""Salt's own rest_wsgi on a port of loopback: rest_wsgi.py PORT MASTER_FILE, with Salt's Python.

What it serves with hands text where PEP 3333 wants bytes, so that each answer is 500 on Python 3. Here they are bytes.
"""

import os
import sys
from wsgiref.simple_server import make_server

from salt.netapi import rest_wsgi


def application(environ, start_response):
    return [part.encode() for part in rest_wsgi.application(environ, start_response)]


port, os.environ["SALT_MASTER_CONFIG"] = sys.argv[1:]
make_server("127.0.0.1", int(port), application).serve_forever()
