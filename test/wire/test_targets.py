# SPDX-License-Identifier: MIT
"""Targets: which minions a call reaches."""

import pytest
from support import daemon
from support.api import local

MINIONS = {
    "web1": {"grains": {"role": "web", "ipv4": ["10.1.0.1"], "ipv6": []}, "pillar": {"port": 80, "app": {"tier": "front"}}},
    "web2": {"grains": {"role": "web", "ipv4": ["10.2.0.1"], "ipv6": []}, "pillar": {"port": 443, "app": {"tier": "front*"}}},
    "db1": {"grains": {"role": "db", "ipv4": [], "ipv6": ["fd00::7"]}, "pillar": {"port": 5432, "app": {"tier": "back"}}},
    **{minion: None for minion in daemon.MINIONS},
}
NODEGROUPS = {"web": "web*", "edge": ["N@web", "and", "S@10.1.0.0/16"], "listed": ["web2", "db1"]}

TARGETS = [
    ("glob", "web*", "web1 web2"),
    ("pcre", "web[2-9]", "web2"),
    ("list", ["db1", "web1"], "db1 web1"),
    ("grain", "role:w*", "web1 web2"),
    ("grain_pcre", "role:(web|db)$", "db1 web1 web2"),
    ("pillar", "app:tier:front*", "web1 web2"),
    ("pillar_pcre", "port:4+3", "web2"),
    ("pillar_exact", "app:tier:front*", "web2"),
    ("nodegroup", "web", "web1 web2"),
    ("nodegroup", "edge", "web1"),
    ("nodegroup", "listed", "db1 web2"),
    ("ipcidr", "10.0.0.0/8", "web1 web2"),
    ("ipcidr", "fd00::/8", "db1"),
    ("compound", "N@web and not P@role:db and I@port:80 or J@app:tier:back", "db1 web1"),
    ("compound", "G@role:web and not S@10.2.0.1 or E@db L@web1", None),
    ("compound", ["L@db1,web2", "and", "not", "db*"], "web2"),
]


@pytest.fixture
def reached(start, front):
    api = front(start({"nodegroups": NODEGROUPS, "rest_fcgi": {"embedded": {"minions": MINIONS}}}))
    return lambda tgt_type, tgt: api.post(local("test.ping", tgt=tgt, tgt_type=tgt_type))


def test_every_target_type_reaches_its_minions(reached):
    for tgt_type, tgt, ids in TARGETS:
        reply = reached(tgt_type, tgt)
        if ids is None:
            assert reply.status == 400 and "compound target" in reply.ret, (tgt_type, tgt, reply)
        else:
            assert reply.status == 200, (tgt_type, tgt, reply)
            assert sorted(reply.ret[0]) == ids.split(), (tgt_type, tgt)


def test_a_target_that_cannot_be_had_is_refused_with_a_sentence(reached):
    for tgt_type, tgt, part in [
        ("range", "%web", "range is not supported"),
        ("nodegroup", "nosuch", "the nodegroups here are edge, listed, web"),
        ("ipcidr", "10.0.0.1/8", "neither an address"),
        ("grain_pcre", "role:(", "offset"),
        ("compound", "R@%web", "range is not supported"),
    ]:
        reply = reached(tgt_type, tgt)
        assert reply.status == 400 and part in reply.ret, (tgt_type, tgt, reply)
