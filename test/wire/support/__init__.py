# SPDX-License-Identifier: MIT
"""What the wire tests are written with: the responder, nginx, an HTTP client and a FastCGI client."""
