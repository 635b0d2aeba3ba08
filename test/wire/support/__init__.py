# SPDX-License-Identifier: MIT
"""Support for the wire tests."""
