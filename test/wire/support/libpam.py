# SPDX-License-Identifier: MIT
"""libpam, asked about a user with a wrong password."""

import ctypes
import ctypes.util

SUCCESS = 0
_ECHO_OFF, _ECHO_ON = 1, 2
_FAIL_DELAY = 10


class _Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


class _Response(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("code", ctypes.c_int)]


_CONVERSE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(_Message)), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
)
_DELAY = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)


class _Conversation(ctypes.Structure):
    _fields_ = [("converse", _CONVERSE), ("data", ctypes.c_void_p)]


_C = ctypes.CDLL(None)
_C.calloc.restype = _C.strdup.restype = ctypes.c_void_p


@_CONVERSE
def _converse(count, messages, answers, _):
    memory = _C.calloc(count, ctypes.sizeof(_Response))
    responses = (_Response * count).from_address(memory)
    for number in range(count):
        if messages[number].contents.style in (_ECHO_OFF, _ECHO_ON):
            responses[number].text = _C.strdup(b"no password of theirs")
    answers[0] = memory
    return SUCCESS


@_DELAY
def _no_delay(*_):
    pass


def lets_in(service, confdir=None, user="rfcgi_nobody"):
    """Returns whether `pam_authenticate` accepts the user, who answers every question with a wrong password."""
    pam = ctypes.CDLL(ctypes.util.find_library("pam"))
    handle = ctypes.c_void_p()
    conversation = _Conversation(_converse, None)
    start = [service.encode(), user.encode(), ctypes.byref(conversation)]
    if confdir is None:
        assert pam.pam_start(*start, ctypes.byref(handle)) == SUCCESS
    else:
        assert pam.pam_start_confdir(*start, str(confdir).encode(), ctypes.byref(handle)) == SUCCESS
    pam.pam_set_item(handle, _FAIL_DELAY, _no_delay)
    answer = pam.pam_authenticate(handle, 0x8001)  # PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK
    pam.pam_end(handle, answer)
    return answer == SUCCESS
