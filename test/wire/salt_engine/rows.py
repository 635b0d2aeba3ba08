# SPDX-License-Identifier: MIT

import dataclasses

from support import api
from support.salt_master import DEAD, SECRET

CRED = {**api.CRED, "eauth": "auto"}  # the recorded answers use `auto`
NO_RESPONSE = (200, "Minion did not return. [No response]")
REFUSED = (401, "Authorization error occurred.")
KEYS = (200, '"success": true')
SOON = {"timeout": 3, "gather_job_timeout": 5}  # these rows wait for a minion that never answers


@dataclasses.dataclass
class Row:
    name: str
    low: dict
    main: bool = False  # A row with `main` runs against every release series in CI.
    slow: bool = False
    ours: tuple = ()  # `ours` is the intended difference from Salt: the status and a part of the text.
    alike: tuple = ()  # `alike` names the release series without the intended difference.


def user(name, **more):
    return {"eauth": "sharedsecret", "username": name, "password": SECRET, **more}


def local(fun, tgt="ms-*", client="local", cred=CRED, **more):
    return {**cred, "client": client, "tgt": tgt, "fun": fun, **more}


def call(client, fun, cred=CRED, **more):
    return {**cred, "client": client, "fun": fun, **more}


TARGETS = [
    ("glob", "ms-2.example.org"),
    ("list", ["ms-0", "ms-2.example.org"]),
    ("list", "ms-0,ms-1"),
    ("pcre", "ms-[01]"),
    ("grain", "place:city:L*"),
    ("grain_pcre", "role:(db|mail)"),
    ("pillar", "tier:w*"),
    ("pillar_pcre", "port:800[12]"),
    ("pillar_exact", "port:8001"),
    ("compound", "G@role:web and not ms-1"),
    ("compound", ["L@ms-0,ms-1", "and", "P@rack:a"]),
    ("compound", "N@web or I@tier:db"),
    ("nodegroup", "both"),
    ("nodegroup", "words"),
]
NOBODY = [
    ("glob", "nosuch*"),
    ("list", []),
    ("compound", "ms-0 and not G@role:web"),
    ("grain_pcre", "role:("),
]


def rows_of_targets():
    for tgt_type, tgt in TARGETS:
        main = tgt in ("ms-2.example.org", "place:city:L*", "both", "tier:w*") or tgt_type == "compound"
        yield Row(f"target {tgt_type} {tgt}", local("test.ping", tgt, tgt_type=tgt_type), main)
    without_data = local("test.ping", "127.0.0.1", tgt_type="ipcidr", **SOON)  # minions without cached data match
    yield Row("target ipcidr 127.0.0.1", without_data, slow=True, ours=NO_RESPONSE, alike=("3008",))
    for tgt_type, tgt in NOBODY:
        yield Row(f"target {tgt_type} {tgt}", local("test.ping", tgt, tgt_type=tgt_type))
    yield Row("target nosuchtype", local("test.ping", tgt_type="nosuchtype"), ours=(400, "'tgt_type' is 'nosuchtype'"))
    yield Row(
        "target nodegroup nosuch",
        local("test.ping", "nosuch", tgt_type="nodegroup"),
        ours=(400, "unknown node group 'nosuch'"),
    )
    yield Row("target range %web", local("test.ping", "%web", tgt_type="range"))
    yield Row("delimiter of one's own", local("test.ping", "place|city|Linz", tgt_type="grain", delimiter="|"))
    yield Row(
        "expr_form instead of tgt_type",
        local("test.ping", "role:web", expr_form="grain"),
        ours=(400, "use 'tgt_type'"),
    )
    yield Row("a listed id without a key", local("test.ping", ["ms-0", "ms-9"], tgt_type="list", **SOON), True)
    full = local("test.ping", ["ms-0", "ms-9"], tgt_type="list", full_return=True, **SOON)
    yield Row("a listed id without a key, full_return", full, True)
    yield Row(
        "a dead minion",
        local("test.ping", f"ms-0 or {DEAD}", tgt_type="compound", **SOON),
        True,
        slow=True,
        ours=NO_RESPONSE,
        alike=("3008",),
    )
    dead = local("test.ping", ["ms-0", DEAD], tgt_type="list", full_return=True, **SOON)
    yield Row("a dead minion, full_return", dead, True, slow=True, ours=NO_RESPONSE, alike=("3008",))


def rows_of_local():
    yield Row("full_return", local("test.ping", full_return=True), True)
    yield Row("full_return of what has an outputter", local("test.ping", "ms-0", arg=[1], full_return=True))
    yield Row("a function that is not there", local("nosuch.fun", "ms-0"), True, slow=True)
    yield Row("a function that raises", local("test.exception", "ms-0", arg=["boom"]), True)
    yield Row("an argument too many", local("test.ping", "ms-0", arg=["surplus"]), True)
    yield Row("two functions", local(["test.ping", "test.echo"], arg=[[], ["hi"]]), True)
    yield Row("unknown keys of the chunk", local("test.ping", "ms-0", nosuch={"a": 1}, batch="1", subset=1))
    yield Row("a returner that is not there", local("test.ping", "ms-0", ret="nosuch_returner"))
    # After the timeout of 3 s, Salt asks the minions with find_job whether the job runs.
    yield Row("timeout shorter than the job", local("test.sleep", arg=[8], timeout=3), True, slow=True)


ARGUMENTS = {
    "all kinds": ["a", 1, 2.5, None, True, [], {}, {"b": [1, {}]}, -(2**53), 2**63 - 1],
    "texts that look like others": ["1", "null", "{a: 1}", "k=v", "[1]", " ", ""],
    "an unsigned number of 64 bits": [2**64 - 1],
    "a number of more than 64 bits": [2**70],
    "the id of a job as a number": [20261120233651543848],
}
KEYWORDS = {"b": {"c": [1]}, "d": None, "grün": "ü"}


def rows_of_arguments():
    for name, arg in ARGUMENTS.items():
        yield Row(f"arguments: {name}", local("test.arg", "ms-0", arg=arg), name == "all kinds")
    least = local("test.arg", "ms-0", arg=[-(2**63)])
    yield Row("arguments: a negative number of 19 digits", least, ours=(200, '"args": [-9223372036854775808]'))
    yield Row("arguments: keywords", local("test.arg", "ms-0", kwarg=KEYWORDS))
    yield Row("arguments: both", local("test.arg", ["ms-0", "ms-1"], tgt_type="list", arg=["a"], kwarg=KEYWORDS), True)
    yield Row("arguments: a map at the end", local("test.arg", "ms-0", arg=["a", {"b": 1}]))
    yield Row("arguments: an empty text", local("test.arg", "ms-0", arg=""))
    yield Row(
        "arguments: a text instead of a list", local("test.arg", "ms-0", arg="abc"), ours=(200, '"args": ["abc"]')
    )


def rows_of_returns():
    for odd in ("floats", "order", "text", "tuple", "keys", "deep", "huge"):
        yield Row(f"returned: {odd}", local("wire.odd", "ms-0", arg=[odd]), odd != "huge")
    yield Row("returned: nan", local("wire.odd", "ms-0", arg=["nan"]), ours=(200, "[null, null, null]"))
    yield Row("returned: bytes", local("wire.odd", "ms-0", arg=["bytes"]), ours=(200, '"YWL/AA=="'))
    yield Row(
        "returned: date", local("wire.odd", "ms-0", arg=["date"]), ours=(200, "2026-11-21T01:02:03.000004")
    )
    yield Row("returned: output that is no UTF-8", local("cmd.run", "ms-0", arg=[r"printf 'a\377b'"]), True)
    yield Row("returned: more than max_event_size", local("wire.big", "ms-0", arg=[3 * 2**20]), True)
    yield Row(
        "returned: a map with one value too big",
        local("cmd.run_all", "ms-0", arg=["head -c 3000000 /dev/zero | tr '\\0' x"]),
    )


def rows_of_async_and_batch():
    yield Row("local_async", local("test.ping", client="local_async"), True)
    yield Row("local_async, nobody matches", local("test.ping", "nosuch*", client="local_async"), True)
    yield Row("local_async, two functions", local(["test.ping", "test.echo"], arg=[[], ["a"]], client="local_async"))
    for batch in ("1", "50%"):
        yield Row(f"batch {batch!r}", local("test.ping", client="local_batch", batch=batch), True)
    failing = {"client": "local_batch", "batch": 1, "arg": ["exit 3"], "failhard": True}
    yield Row("batch with failhard", local("cmd.run", **failing), True)
    yield Row("batch, raw", local("test.ping", client="local_batch", batch=2, raw=True), True)
    yield Row("batch, nobody matches", local("test.ping", "nosuch*", client="local_batch", batch=1))
    dead = {
        "tgt_type": "list",
        "client": "local_batch",
        "batch": 2,
        "batch_presence_ping_timeout": 3,
        "batch_presence_ping_gather_job_timeout": 3,
    }
    yield Row("batch, a dead minion", local("test.ping", ["ms-0", "ms-1", DEAD], **dead, **SOON), slow=True)
    yield Row(
        "batch that is no number",
        local("test.ping", client="local_batch", batch="some"),
        ours=(400, "found 'some'"),
    )
    # Rows of local_subset are slow, because before each call local_subset asks every minion for its functions.
    yield Row("subset", local("test.ping", "role:web", tgt_type="grain", client="local_subset", subset=1), slow=True)


def rows_of_runner_and_wheel():
    yield Row("runner", call("runner", "manage.up", tgt="ms-*"), True)
    yield Row("runner, arguments", call("runner", "test.arg", arg=["a", 1, None], kwarg={"b": [2]}), True)
    yield Row("runner, unknown keys are keywords", call("runner", "test.arg", a=1, b="2", kwarg={"c": 3}))
    yield Row("runner, full_return", call("runner", "test.arg", arg=["a"], full_return=True), True)
    yield Row(
        "runner that is not there",
        call("runner", "nosuch.fun"),
        ours=(200, "Exception occurred in runner nosuch.fun"),
        alike=("3008",),
    )
    yield Row("runner that raises", call("runner", "error.error", kwarg={"name": "ValueError", "message": "boom"}))
    yield Row("runner, an argument is missing", call("runner", "jobs.lookup_jid"))
    yield Row(
        "runner, a keyword that it does not know",
        call("runner", "manage.up", kwarg={"tgt": "ms-0", "nosuch": 1}),
        ours=(200, "unexpected keyword argument 'nosuch'"),
    )
    yield Row(
        "runner that outlives its timeout", call("runner", "test.sleep", arg=[4], timeout=1), slow=True
    )
    yield Row("runner_async", call("runner_async", "test.arg", arg=["a"]), True)
    yield Row(
        "runner_async that is not there",
        call("runner_async", "nosuch.fun"),
        ours=(200, '"tag": "salt/run/2'),
    )
    yield Row("wheel", call("wheel", "key.list_all"), True)
    yield Row("wheel, arg", call("wheel", "key.list", arg=["acc"]), ours=KEYS)
    yield Row("wheel, kwarg", call("wheel", "key.list", kwarg={"match": "acc"}), ours=KEYS)
    yield Row(
        "wheel, an argument is missing", call("wheel", "key.list"), ours=(200, "missing 1 required positional argument")
    )
    yield Row(
        "wheel, a keyword that it does not know",
        call("wheel", "key.list", match="acc", nosuch=1),
        ours=(200, "unexpected keyword argument 'nosuch'"),
    )
    yield Row("wheel, full_return", call("wheel", "key.list_all", full_return=True), ours=KEYS)
    yield Row("wheel_async", call("wheel_async", "key.list_all"), True)


CALLS = {
    "local": {"fun": "test.ping", "tgt": "ms-1"},
    "local_async": {"fun": "test.ping", "tgt": "ms-1"},
    "local_batch": {"fun": "test.ping", "tgt": "ms-1", "batch": 1},
    "local_subset": {"fun": "test.ping", "tgt": "ms-1", "subset": 1},
    "runner": {"fun": "test.stdout_print"},
    "runner_async": {"fun": "test.stdout_print"},
    "wheel": {"fun": "key.list_all"},
    "wheel_async": {"fun": "key.list_all"},
}
BAD = {
    "wrong password": {"eauth": "sharedsecret", "username": "admin", "password": "wrong"},
    "unknown token": {"token": "0" * 64},
    "no right": user("limited"),
    "no credentials": {},
}
OTHER_BAD = {  # one client has rows for these kinds, because all clients use the same checks
    "nobody": {"eauth": "sharedsecret", "username": "nobody", "password": SECRET},
    "no such eauth": {"eauth": "nosuch", "username": "admin", "password": SECRET},
    "no eauth": {"username": "admin", "password": SECRET},
}
# The clients with a row for every kind of bad credentials. Other clients have fewer rows, because they use the same checks.
EVERY_REFUSAL = ("local", "runner", "wheel")


def rows_of_credentials():
    for client, rest in CALLS.items():
        for name, cred in BAD.items():
            main = client in EVERY_REFUSAL and name in ("wrong password", "unknown token", "no right")
            if client in EVERY_REFUSAL or name in ("no right", "no credentials"):
                silent = client == "wheel_async" and name == "no right"  # an asynchronous wheel does not report a refusal
                same = "no right" == name and client.startswith("local")
                ours = () if same or silent or name == "no credentials" else REFUSED
                yield Row(f"{client}: {name}", {**cred, "client": client, **rest}, main, ours=ours)
    for name, cred in OTHER_BAD.items():
        ours = REFUSED if name == "no such eauth" else ()
        yield Row(f"local: {name}", {**cred, "client": "local", **CALLS["local"]}, ours=ours)
    both = user("admin", token="0" * 64)
    yield Row("an unknown token beside a login", call("local", "test.ping", both, tgt="ms-0"), ours=REFUSED)
    yield Row("sharedsecret", local("test.ping", cred=user("admin")), True)
    limited = user("limited")
    yield Row("one minion alone: that one", local("test.ping", "ms-0", cred=limited), True)
    yield Row("one minion alone: all", local("test.ping", "ms-*", cred=limited), True)
    yield Row("one minion alone: another function", local("test.echo", "ms-0", cred=limited, arg=["a"]))
    listed = user("listed")
    yield Row("functions alone: one of them", local("test.echo", cred=listed, arg=["a"]))
    yield Row("functions alone: another", local("cmd.run", "ms-0", cred=listed, arg=["true"]))
    allowed = {"arg": [[], ["a"]], "cred": listed}
    yield Row("functions alone: two of them", local(["test.ping", "test.echo"], "ms-0", **allowed))
    yield Row("functions alone: two, one of them not", local(["test.ping", "cmd.run"], "ms-0", **allowed), ours=REFUSED)
    yield Row("functions alone: a runner", call("runner", "test.arg", listed, arg=["a"]))
    yield Row(
        "functions alone: another runner", call("runner", "test.sleep", listed, arg=[0]), ours=REFUSED
    )


def rows_of_chunks():
    yield Row("a client that is not there", call("foo", "test.ping"), True)
    yield Row("no client", {**CRED, "fun": "test.ping", "tgt": "ms-0"})
    yield Row("no fun", {**CRED, "client": "local", "tgt": "ms-0"}, ours=(400, "'fun' is missing"))
    yield Row("fun is a number", local(5, "ms-0"), ours=(400, "'fun' must be the name of a function"))
    yield Row("tgt is a list of a glob", local("test.ping", ["ms-0"]), ours=(400, "needs 'tgt_type'"))


def all_rows():
    for some in (rows_of_targets, rows_of_local, rows_of_arguments, rows_of_returns, rows_of_async_and_batch):
        yield from some()
    for some in (rows_of_runner_and_wheel, rows_of_credentials, rows_of_chunks):
        yield from some()
