# SPDX-License-Identifier: MIT
"""What examples for Salt call besides the functions of ``test`` that rest_fcgi has of its own."""

import builtins
import time


def fib(num):
    """
    Return the Fibonacci number at place ``num``, and the seconds that it took.

    CLI Example:

        salt '*' test.fib 30
    """
    num = int(num)
    if num < 0:
        raise ValueError("Negative number is not allowed!")
    start = time.time()
    number, following = 0, 1
    for _ in range(num):
        number, following = following, number + following
    return number, time.time() - start


def raise_exception(name, *args, **kwargs):
    """
    Raise the named exception of Python's or of ``salt.exceptions`` with these arguments.

    CLI Example:

        salt '*' test.raise_exception TypeError 'An integer is required'
        salt '*' test.raise_exception salt.exceptions.CommandExecutionError 'Something went wrong'
    """
    import salt.exceptions  # here, since it takes its time where it is Salt's own

    module, _, short = name.rpartition(".")
    kind = getattr(salt.exceptions if module == "salt.exceptions" else builtins, short, None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return False
    raise kind(*args, **{key: value for key, value in kwargs.items() if not key.startswith("__")})
