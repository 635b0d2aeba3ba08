# SPDX-License-Identifier: MIT

import builtins
import time


def fib(num):
    """
    Return the Fibonacci number at index ``num``, and the seconds that the calculation took.

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
    Raise the named exception of Python or of ``salt.exceptions`` with the arguments.

    CLI Example:

        salt '*' test.raise_exception TypeError 'An integer is required'
        salt '*' test.raise_exception salt.exceptions.CommandExecutionError 'Something went wrong'
    """
    import salt.exceptions  # the import of Salt's own module takes long

    module, _, short = name.rpartition(".")
    kind = getattr(salt.exceptions if module == "salt.exceptions" else builtins, short, None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return False
    raise kind(*args, **{key: value for key, value in kwargs.items() if not key.startswith("__")})
