# SPDX-License-Identifier: MIT

import json
import random

import yaml

from support.api import JSON
from support.rest import api_of, login, serving, session

YAML = {"Accept": "application/x-yaml"}
WORDS = (
    "yes no on off true null ~ 12 1.5 0x1F 010 1:20 2001-01-01 2001-1-1t10:00:00.5Z = << - -- --- ... a b lorem ipsum dolor "
    "'x' \"y\" #c c# : k: a:b ? ?x !t &a *a | > % @ ` [ ] { } , é ß 日本 \u0085 \u2028 \u2029 \ufeff \ufffe \U0001f600 \x00 \x07 "
    "\x1b \x7f \x80 \xa0 \t \r \n \\ 1e3 1.0e+3 .inf -.nan 1_000 0o7 0b11 +1 -1 .5 5. it's"
).split(" ")
NUMBERS = (None, True, False, 0, -5, 10**30, 1.0, 1e20, 1.5e-7, -0.0, 1e16, 123456.789)


def dumped(value):
    return yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False, allow_unicode=True)


def text(rng):
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(WORDS)
    if kind < 0.6:
        between = ("", " ", "  ", "\n", "\n\n", " \n", "\n ", "\t")
        return "".join(rng.choice(WORDS) + rng.choice(between) for _ in range(rng.randint(1, 8)))
    if kind < 0.8:
        return " ".join(rng.choice(("word", "é", "long" * 5, "it's", '"q"', "x")) for _ in range(rng.randint(1, 60)))
    if kind < 0.9:
        ranges = ((0, 0x2FF), (0x2000, 0x2FFF), (32, 126))
        return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(0, 200)))
    return "x" * rng.randint(100, 140)


def value(rng, depth=0):
    kind = rng.random()
    if depth < 5 and kind < 0.2:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    if depth < 5 and kind < 0.4:
        return {text(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 4))}
    return text(rng) if kind < 0.8 else rng.choice(NUMBERS)


def test_replies_in_yaml_equal_the_output_of_salts_dumper(start):
    changes = serving()
    start(changes)
    api = api_of(changes)
    headers = {**JSON, **YAML, **session(login(api))}
    for seed in range(10):
        rng = random.Random(seed)
        values = [value(rng) for _ in range(300)]
        low = {"client": "local", "tgt": "ms-0", "fun": "test.echo", "arg": [values]}
        reply = api.request("POST", "/", json.dumps(low), headers)
        assert reply.text == dumped({"return": [{"ms-0": values}]}), f"seed {seed}"
