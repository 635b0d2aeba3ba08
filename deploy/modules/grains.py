# SPDX-License-Identifier: MIT

import copy
import fnmatch

from salt.exceptions import SaltException


def filter_by(lookup_dict, grain="os_family", merge=None, default="default", base=None):
    """
    Return the value of ``lookup_dict`` whose key matches the minion's grain. The key may be a pattern. If no key
    matches, return the value of ``default``. The map ``merge`` is merged over this value.

    CLI Example:

        salt '*' grains.filter_by '{Debian: apache2, RedHat: httpd}'
    """
    grains = __salt__["grains.get"](grain, [])
    found = None
    for one in grains if isinstance(grains, list) else [grains]:
        found = next((value for key, value in lookup_dict.items() if _matches(str(one), str(key))), None)
        if found is not None:
            break
    if found is None:
        found = lookup_dict.get(default)
    below = lookup_dict.get(base) if base else None
    if found is None:
        found = below
    elif isinstance(below, dict):
        if not isinstance(found, dict):
            raise SaltException("filter_by default and look-up values must both be dictionaries.")
        found = _merged(below, found)
    if merge and not isinstance(merge, dict):
        raise SaltException("filter_by merge argument must be a dictionary.")
    return found if not merge else merge if found is None else _merged(found, merge)


def _matches(value, pattern):
    return value == pattern or fnmatch.fnmatchcase(value, pattern)


def _merged(below, above):
    """Returns a map with the members of both maps. Nested maps are merged recursively."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    merged = copy.deepcopy(below)
    for key, value in above.items():
        are_maps = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merged(merged[key], value) if are_maps else copy.deepcopy(value)
    return merged
