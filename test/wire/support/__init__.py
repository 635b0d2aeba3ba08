# SPDX-License-Identifier: MIT
"""Support for the wire tests: the responder, web servers, HTTP and FastCGI clients, and real Salts."""
