# SPDX-License-Identifier: MIT
"""Salt's own rest_wsgi on a loopback port: rest_wsgi.py PORT MASTER_FILE, with Salt's Python.

The server of rest_wsgi passes text where PEP 3333 requires bytes. This program encodes the text, because otherwise
every answer would be 500.
"""

import os
import sys
from wsgiref.simple_server import make_server

from salt.netapi import rest_wsgi


def application(environ, start_response):
    return [part.encode() for part in rest_wsgi.application(environ, start_response)]


port, os.environ["SALT_MASTER_CONFIG"] = sys.argv[1:]
make_server("127.0.0.1", int(port), application).serve_forever()
