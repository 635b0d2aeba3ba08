# SPDX-License-Identifier: MIT
"""All kinds of requests, logins, jobs, and streams that come and go, for SOAK_SECONDS, an hour with `make soak`: the process
stays as large as it was, all descriptors are given back, and who listens all the time hears everything in order. In front
of a real master where it lasts for ten minutes or more. What was measured is in build/soak, a table for each engine."""

import collections
import itertools
import json
import os
import random
import shutil
import statistics
import threading
import time

import pytest
from support import salts
from support.api import CRED, JSON, Api
from support.daemon import NEEDS_PTRACE, ROOT, SANITIZED, SOAK_SECONDS, Daemon, merge
from support.nginx import Nginx
from support.passwords import hashed
from support.process import PATIENCE, free_port, short_directory, wait_until
from support.rest import login, session
from support.salt_engine import Engine
from support.salt_master import Salt
from support.streams import CLOSE, Sse, WebSocket, hook

ENGINES = ["embedded", "salt"] if SOAK_SECONDS >= 600 else ["embedded"]
WARM = min(300, SOAK_SECONDS / 3)  # until caches and logs have what they are allowed to have
EVERY = min(10, SOAK_SECONDS / 40)  # seconds for a measurement
READINGS = 10  # of memory in that time: the smallest is what is not in use by a password that is hashed just then
STAY, COME_AND_GO, CALLERS = 10, 4, 3
PAUSE = {"embedded": 0.002, "salt": 0.2}  # between two events, and two requests of a caller: a master is slower
READERS = 16  # files of connections to the job database, which are opened when several threads read at once
FILE_LOGIN = {"eauth": "file", "username": "alice", "password": "sesame"}


def own(port):
    """rest_cherrypy on a port and over FastCGI; every password is hashed, and few jobs are kept."""
    ours = {"netapi": ["rest_cherrypy"], "auth_cache_ttl": 0, "jobs_kept": 1000, "idle_thread_timeout": 1}
    return {"log_level": "error", "rest_fcgi": ours, "rest_cherrypy": {"port": port, "host": "127.0.0.1", "disable_ssl": True}}


class Place:
    """A responder and the ways to it; `cred` is whose passwords cost what they cost in earnest."""

    def __init__(self, engine, home):
        self.engine, self.cred, self._salt = engine, CRED, None
        port = free_port()
        if engine == "salt":
            self._salt = Salt(salts.require(salts.LINES[0]), short_directory(), salts.LINES[0], minions=["ms-0"])
            self.daemon = Engine(self._salt, home / "engine", own(port))
        else:
            passwords = home / "passwords"
            passwords.write_text(f"alice:{hashed('sesame')}\n")
            passwords.chmod(0o600)
            file = {"^filename": str(passwords), "^hashtype": "crypt", "alice": [".*", "@runner", "@wheel", "@jobs"]}
            self.cred = FILE_LOGIN
            self.daemon = Daemon(home, merge(own(port), {"external_auth": {"file": file}}))
        self._nginx = Nginx(home / "nginx", [self.daemon.address])
        self.http, self.fastcgi = Api("127.0.0.1", port), self._nginx
        self.token = login(self.http, self.cred)

    def stop(self):
        self._nginx.stop()
        ended = self.daemon.stop()
        if self._salt:
            self._salt.stop()
            shutil.rmtree(self._salt.home, ignore_errors=True)
        assert ended == 0, self.daemon.log()


@pytest.fixture(params=ENGINES)
def place(request, directory):
    one = Place(request.param, directory)
    yield one
    one.stop()


def call(api, token, client, fun, status=200, **more):
    body = json.dumps([{"client": client, "fun": fun, **more}])
    reply = api.request("POST", "/", body, {**JSON, **session(token)})
    assert reply.status == status, reply
    return reply.json.get("return")


def one_of_each(place, api, number):
    """Logs in, calls, starts a job and looks it up, sends what is wrong, logs out."""
    token = login(api, place.cred)
    (ret,) = call(api, token, "local", "test.arg", tgt="ms-0", arg=[f"word-{number}"] * 20)
    assert ret["ms-0"]["args"]
    (job,) = call(api, token, "local_async", "test.ping", tgt="ms-0")
    call(api, token, "runner", "jobs.lookup_jid", kwarg={"jid": job["jid"]})
    call(api, token, "local", "nosuch", status=400)  # without a target
    call(api, "0" * 40, "local", "test.ping", status=401, tgt="*")
    assert api.request("POST", "/", "[{", {**JSON, **session(token)}).status == 400
    assert api.request("POST", "/logout", headers=session(token)).status == 200


def listen(place, _, number):
    """One of the ways to come, to hear something, and to go."""
    way = random.Random(number).randrange(6)
    if way < 2:
        stream = Sse(place.http if way else place.fastcgi, place.token)
        stream.event()
        return stream.close()
    stream = WebSocket(place.http, "/ws", place.token)
    if way == 2:
        return stream.vanish()  # before it is ready
    stream.ready().event()
    if way == 3:
        stream.send(b"\x03\xe8", CLOSE)
        stream.closed()
    return stream.vanish() if way == 4 else stream.close()


class Stayer(threading.Thread):
    """Hears all, in order, to the end of the stream."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.heard, self.wrong = stream, 0, None
        self.start()

    def run(self):
        while (event := self.stream.event()) and self.wrong is None:
            number = event["data"].get("post", {}).get("number")
            if number is not None:
                self.wrong = None if number == self.heard else (self.heard, number)
                self.heard += 1


class Load:
    """Threads that do `one_of_each` and `listen` until the end of a `with`, and one that fires numbered events until those
    are done: who waits for one gets it. `done` counts turns; `failed` has what went wrong."""

    def __init__(self, place):
        self.place, self.done, self.failed, self.fired = place, collections.Counter(), [], 0
        self._over, self._last = threading.Event(), threading.Event()
        ways = itertools.cycle([place.http, place.fastcgi])
        jobs = [(one_of_each, next(ways)) for _ in range(CALLERS)] + [(listen, None)] * COME_AND_GO
        self._threads = [threading.Thread(target=self._work, args=(*job, seed)) for seed, job in enumerate(jobs)]
        self._firing = threading.Thread(target=self._fire)

    def _work(self, function, api, seed):
        try:
            for number in itertools.count(seed, 1000):
                if self._over.is_set():
                    return
                function(self.place, api, number)
                self.done[function.__name__] += 1
                self._over.wait(PAUSE[self.place.engine] if api else 0)
        except Exception as error:  # pylint: disable=broad-except
            self.failed.append(error)

    def _fire(self):
        while not self._last.wait(PAUSE[self.place.engine]):
            hook(self.place.http, self.place.token, number=self.fired)
            self.fired += 1

    def __enter__(self):
        for thread in [*self._threads, self._firing]:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._last.set()
        self._firing.join()


def fill_log(place):
    """Of the latest events 32 MiB are kept: from then on the process has no reason to grow."""
    stream = Sse(place.http, place.token)
    for _ in range(40):
        hook(place.http, place.token, filler="x" * 900_000)
        stream.event()
    stream.close()


def measure(place, load, since):
    readings = []
    for _ in range(READINGS):
        time.sleep(EVERY / READINGS)
        readings.append(int(place.daemon.status("RssAnon")))
    return {
        "seconds": round(time.monotonic() - since, 1),
        "anonymous_kib": min(readings),
        "resident_kib": int(place.daemon.status("VmRSS")),
        "descriptors": place.daemon.open_files(),
        "threads": int(place.daemon.status("Threads")),
        "events": load.fired,
        **{name: load.done[name] for name in ("one_of_each", "listen")},
    }


def write(engine, series):
    folder = ROOT / "build/soak"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) for row in [series[0].keys(), *(one.values() for one in series)]]
    (folder / f"{engine}.tsv").write_text("\n".join(lines) + "\n")


def growth(series):
    """KiB from the end of the warm-up on, by the line that fits best."""
    flat = [one for one in series if one["seconds"] >= WARM]
    times = [one["seconds"] for one in flat]
    slope, _ = statistics.linear_regression(times, [one["anonymous_kib"] for one in flat])
    return slope * (times[-1] - times[0]), statistics.mean(one["anonymous_kib"] for one in flat)


def allowed(size):
    """An hour tells a leak from what an allocator keeps in pieces; seconds do not."""
    return max(size / 100, 1024) if SOAK_SECONDS >= 1800 else size / 10 + 4096


@NEEDS_PTRACE
def test_a_process_that_serves_for_long_stays_as_large_as_it_was(place, capsys):
    one_of_each(place, place.http, 0)
    fill_log(place)
    wait_until(lambda: place.daemon.connections() == 0, "nobody is connected")
    idle = place.daemon.open_files()
    streams = [Sse(place.http, place.token) if at % 2 else WebSocket(place.http, "/ws", place.token).ready() for at in range(STAY)]
    stayers = [Stayer(stream) for stream in streams]
    since, series = time.monotonic(), []
    with Load(place) as load:
        while time.monotonic() < since + SOAK_SECONDS and not load.failed:
            series.append(measure(place, load, since))
    write(place.engine, series)
    grew, size = growth(series)
    with capsys.disabled():
        done = f"{load.fired} events, {dict(load.done)}"
        print(f"\n  {place.engine}, {SOAK_SECONDS} s: {done}; {size:.0f} KiB, {grew:+.0f} KiB after {WARM:.0f} s, {idle} files idle")
    assert load.failed == []
    assert min(load.done["one_of_each"], load.done["listen"], load.fired) > SOAK_SECONDS / 10
    wait_until(lambda: all(one.heard == load.fired or one.wrong for one in stayers), "those who stay have heard all")
    assert [one.wrong for one in stayers] == [None] * STAY
    wait_until(lambda: place.daemon.open_files() <= idle + STAY + READERS, "all descriptors are closed", 2 * PATIENCE)
    assert SANITIZED or grew <= allowed(size)
