# SPDX-License-Identifier: MIT
"""Requests, logins, jobs and streams run for SOAK_SECONDS. Memory and descriptors do not grow.

Runs of ten minutes or more also use a real master. build/soak has a table of measurements."""

import collections
import itertools
import json
import random
import shutil
import statistics
import threading
import time

import pytest
from support import salts
from support.api import CRED, JSON, Api
from support.daemon import NEEDS_PTRACE, ROOT, SANITIZED, SOAK_SECONDS, Daemon, merge
from support.fired_events import Firing
from support.nginx import Nginx
from support.passwords import hashed
from support.process import TIMEOUT, free_port, join, short_directory, wait_until
from support.rest import login, session
from support.salt_engine import Engine
from support.salt_master import Salt
from support.streams import CLOSE, Sse, WebSocket, hook

ENGINES = ["embedded", "salt"] if SOAK_SECONDS >= 600 else ["embedded"]
WARM = min(300, SOAK_SECONDS / 3)  # seconds until caches and logs have reached their limits
EVERY = min(10, SOAK_SECONDS / 40)
READINGS = 10  # the smallest of several readings excludes temporary hashes
STAY, COME_AND_GO, CALLERS = 10, 4, 3
PAUSE = {"embedded": 0.002, "salt": 0.2}  # seconds between two events and between two requests
PARTS = 10  # the growth is computed from the minimum of each part
READERS = 16  # parallel reads open more connections with descriptors
FILE_LOGIN = {"eauth": "file", "username": "alice", "password": "sesame"}
pytestmark = pytest.mark.skipif(not SOAK_SECONDS, reason="runs in `make soak` and `make nightly`")


def own(port):
    """Returns settings for rest_cherrypy on a port and over FastCGI. The login cache is off."""
    ours = {"netapi": ["rest_cherrypy"], "auth_cache_ttl": 0, "idle_thread_timeout": 1}
    return {"log_level": "error", "rest_fcgi": ours, "rest_cherrypy": {"port": port, "host": "127.0.0.1", "disable_ssl": True}}


class Place:
    """A running rest_fcgi with its web server and port. The user `cred` has a slow password hash."""

    def __init__(self, engine, home):
        self.engine, self.cred, self._salt = engine, CRED, None
        port = free_port()
        if engine == "salt":
            self._salt = Salt(salts.require(salts.SERIES[0]), short_directory(), salts.SERIES[0], minions=["ms-0"])
            self.daemon = Engine(self._salt, home / "engine", own(port))
            self._firing = Firing(self._salt.config["sock_dir"])
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

    def fire_again(self, event, jid):
        """Fires an earlier event again with another jid."""
        tag, data = event["tag"], event["data"]
        if "jid" in data:
            tag, data = tag.replace(data["jid"], jid), {**data, "jid": jid}
        self._firing.fire(tag, data)

    def stop(self):
        self._nginx.stop()
        ended = self.daemon.stop()
        if self._salt:
            self._firing.close()
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
    """Logs in, calls functions, starts and looks up a job, sends invalid requests, and logs out."""
    token = login(api, place.cred)
    (ret,) = call(api, token, "local", "test.arg", tgt="ms-0", arg=[f"word-{number}"] * 20)
    assert ret["ms-0"]["args"]
    (job,) = call(api, token, "local_async", "test.ping", tgt="ms-0")
    call(api, token, "runner", "jobs.lookup_jid", kwarg={"jid": job["jid"]})
    call(api, token, "local", "nosuch", status=400)  # the target is missing
    call(api, "0" * 40, "local", "test.ping", status=401, tgt="*")
    assert api.request("POST", "/", "[{", {**JSON, **session(token)}).status == 400
    assert api.request("POST", "/logout", headers=session(token)).status == 200


def listen(place, _, number):
    """Opens a stream of varying kind, reads an event and closes the stream."""
    way = random.Random(number).randrange(6)
    if way < 2:
        stream = Sse(place.http if way else place.fastcgi, place.token)
        stream.event()
        return stream.close()
    stream = WebSocket(place.http, "/ws", place.token)
    if way == 2:
        return stream.vanish()  # the client disconnects before it sends the ready message
    stream.ready().event()
    if way == 3:
        stream.send(b"\x03\xe8", CLOSE)
        stream.closed()
    return stream.vanish() if way == 4 else stream.close()


class Stayer(threading.Thread):
    """Reads a stream to its end and checks the order of events."""

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
    """Runs `one_of_each` and `listen` on threads while the block runs. Another thread fires numbered events."""

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
        join(self._threads)
        self._last.set()
        join([self._firing])


def fill_log(place):
    """Fills the event log and the table of job owners. From then on the process has no reason to grow."""
    stream = Sse(place.http, place.token)
    if place.engine == "embedded":
        for _ in range(40):
            hook(place.http, place.token, filler="x" * 900_000)
            stream.event()
    else:
        one_of_each(place, place.http, 1_000_000)
        hook(place.http, place.token, number=0)
        usual = [stream.event()]
        while not usual[-1]["tag"].startswith("salt/netapi/hook/"):
            usual.append(stream.event())
        begun = [event for event in usual if event["tag"].endswith("/new")]
        for number in range(150_000):
            place.fire_again(random.choice(begun if number < 50_000 else usual), f"20200101{number:012}")
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
    """Returns the growth of memory since the warm-up in KiB: the total and the steady growth.
    A leak grows steadily. An allocator grows by a step when more threads work in parallel."""
    flat = [one["anonymous_kib"] for one in series if one["seconds"] >= WARM]
    parts = min(PARTS, len(flat))
    floors = [min(flat[len(flat) * at // parts : len(flat) * (at + 1) // parts]) for at in range(parts)]
    steady = statistics.median(after - before for before, after in itertools.pairwise(floors))
    return floors[-1] - floors[0], steady * (parts - 1)


def allowed(size):
    return (size / 20, max(size / 100, 1024)) if SOAK_SECONDS >= 1800 else (size / 10 + 4096, size / 10 + 4096)


@NEEDS_PTRACE
def test_a_long_running_process_does_not_grow(place, capsys):
    one_of_each(place, place.http, 0)
    fill_log(place)
    wait_until(lambda: place.daemon.connections() == 0, "all connections are closed")
    idle = place.daemon.open_files()
    streams = [Sse(place.http, place.token) if at % 2 else WebSocket(place.http, "/ws", place.token).ready() for at in range(STAY)]
    stayers = [Stayer(stream) for stream in streams]
    since, series = time.monotonic(), []
    with Load(place) as load:
        while time.monotonic() < since + SOAK_SECONDS and not load.failed:
            series.append(measure(place, load, since))
    write(place.engine, series)
    assert load.failed == []
    (grew, leaked), size = growth(series), series[-1]["anonymous_kib"]
    with capsys.disabled():
        done = f"{load.fired} events, {dict(load.done)}"
        after = f"after {WARM:.0f} s {grew:+} KiB, of which {leaked:+.0f} all the time"
        print(f"\n  {place.engine}, {SOAK_SECONDS} s: {done}; {size} KiB, {after}; {idle} files idle")
    assert min(load.done["one_of_each"], load.done["listen"], load.fired) > SOAK_SECONDS / 10
    wait_until(lambda: all(one.heard == load.fired or one.wrong for one in stayers), "the long listeners have every event")
    assert [one.wrong for one in stayers] == [None] * STAY
    wait_until(lambda: place.daemon.open_files() <= idle + STAY + READERS, "all descriptors are closed", 2 * TIMEOUT)
    most_grown, most_leaked = allowed(size)
    assert SANITIZED or (grew <= most_grown and leaked <= most_leaked)
