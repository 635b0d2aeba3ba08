# SPDX-License-Identifier: MIT
"""Listeners that come and go in every way while events are fired: the process stays as large as it was, and those that
stay hear everything. Ten minutes of it with `make nightly`, seconds otherwise."""

import concurrent.futures
import itertools
import random
import threading
import time

import pytest
from support.daemon import LONG, NEEDS_PTRACE, SANITIZED
from support.process import wait_until
from support.rest import login, running
from support.streams import CLOSE, Sse, WebSocket, hook

SECONDS = 600 if LONG else 12
WARM = 60 if LONG else 6
GROWTH = 1.1  # what an allocator may keep in pieces
FEW_KB = 4096  # which a short run may need more
STAY, COME_AND_GO = 10, 6


@pytest.fixture(params=["rest_cherrypy", "rest_tornado"] if LONG else ["rest_cherrypy"])
def rest(request):
    with running(request.param, {"log_level": "error"}) as one:
        yield one


class Place:
    def __init__(self, rest):
        self.http, self.fastcgi = rest.ways["http"], rest.ways["fastcgi"]
        self.token = login(self.http)
        self.socket_path = "/ws" if rest.module == "rest_cherrypy" else f"/all_events/{self.token}"

    def socket(self):
        return WebSocket(self.http, self.socket_path, self.token)


def listen(place, random_number):
    """One of the ways to come, to listen for a while, and to go."""
    way = random_number % 6
    if way < 2:
        stream = Sse(place.http if way else place.fastcgi, place.token)
        stream.event()
        stream.close()
    elif way == 2:
        place.socket().vanish()  # before it is ready
    else:
        stream = place.socket().ready()
        stream.event()
        if way == 3:
            stream.send(b"\x03\xe8", CLOSE)
            stream.closed()
        elif way == 4:
            stream.vanish()
        stream.close()


def fill_log(place):
    """Of the latest events 32 MiB are kept: from then on the process has no reason to grow."""
    stream = Sse(place.http, place.token)
    for _ in range(40):
        hook(place.http, place.token, filler="x" * 900_000)
        stream.event()
    stream.close()


def come_and_go(place, end, seed):
    numbers = random.Random(seed)
    for turn in itertools.count():
        if time.monotonic() > end:
            return turn
        listen(place, numbers.randrange(1000))


class Stayer(threading.Thread):
    """Hears all, in order, to the end of the stream."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.heard, self.wrong = stream, 0, None
        self.start()

    def run(self):
        while (event := self.stream.event()) and self.wrong is None:
            number = event["data"].get("post", {}).get("number")
            if number is None:
                continue
            if number != self.heard:
                self.wrong = (self.heard, number)
            self.heard += 1


def fire(place, end, first):
    """Some hundred events a second; the number of the next one."""
    for number in itertools.count(first):
        if time.monotonic() > end:
            return number
        hook(place.http, place.token, number=number)
        time.sleep(0.002)


def churn(place, seconds, first):
    """How often somebody came and went, and the number of the next event."""
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(COME_AND_GO) as pool:
        # Events go on until all who wait for one have had it.
        goers = [pool.submit(come_and_go, place, end - 0.5, seed) for seed in range(COME_AND_GO)]
        number = fire(place, end, first)
        while not all(one.done() for one in goers):
            number = fire(place, time.monotonic() + 0.1, number)
        return sum(one.result() for one in goers), number


@NEEDS_PTRACE
def test_listeners_that_come_and_go_leave_nothing_behind(rest):
    place, daemon = Place(rest), rest.daemon
    fill_log(place)
    stayers = [Stayer(Sse(place.http, place.token) if at % 2 else place.socket().ready()) for at in range(STAY)]
    _, number = churn(place, WARM, 0)
    size = int(daemon.status("VmRSS"))
    wait_until(lambda: daemon.connections() == 0, "those over FastCGI are gone")
    files = daemon.open_files()
    turns, number = churn(place, SECONDS, number)
    assert turns > SECONDS
    wait_until(lambda: all(one.heard == number or one.wrong for one in stayers), "those who stay have heard all")
    assert [one.wrong for one in stayers] == [None] * STAY
    wait_until(lambda: daemon.open_files() <= files, "all descriptors are closed")
    assert SANITIZED or int(daemon.status("VmRSS")) <= GROWTH * size + FEW_KB
    rest.stop()
    for one in stayers:
        one.join()
        one.stream.close()
