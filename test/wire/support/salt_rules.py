# SPDX-License-Identifier: MIT
"""Compares Salt's own CkMinions with the embedded engine on random rules and calls.

usage: salt_rules.py JUDGE FOLDER EXAMPLES ROWS, with a Python that has Salt and Hypothesis
JUDGE is the program of judge.cc. ROWS is a file of questions that the program asks first.
The program fails with the smallest question that the engine permits and Salt refuses.
The program also fails if the engine refuses a question without a known reason."""

import collections
import copy
import json
import logging
import pathlib
import re
import subprocess
import sys
import warnings

import salt.cache
import salt.config
import salt.utils.args
import salt.utils.minions
import salt.utils.stringutils
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MINIONS = {
    "web1": {"grains": {"os": "Debian"}, "pillar": {"role": "web"}},
    "web2": {"grains": {"os": "RedHat"}, "pillar": {"role": "web"}},
    "db1": {"grains": {"os": "Debian"}, "pillar": {"role": "db"}},
}
RULE_TARGETS = ["*", "web*", "web1", "db[1-9]", "web? and G@os:Debian", "L@web1,db1", "E@web\\d", "not web*", "I@role:db"]
RULE_TARGETS += ["nosuch", "G@os:D* or web2"]
TARGETS = [(tgt, "glob") for tgt in ("*", "web*", "web1", "db1", "nosuch")]
TARGETS += [(["web1", "db1"], "list"), (["web1", "nosuch"], "list")]
TARGETS += [("web[12]", "pcre"), ("os:Debian", "grain"), ("web* or db*", "compound"), ("not *", "compound"), ("role:db", "pillar")]
LOCAL = [*["cmd.run"] * 3, "test.ping", "test.echo", "cmd.run_all", "cmd.shell", "sys.doc", "saltutil.find_job", "tést.ping", "run"]
MASTER = ["jobs.list_jobs", "jobs.active", "manage.up", "key.list_all", "jobs", "jobs.active.x"]
KEYS = ["cwd", "env", "shell", "cmd", "x"]
WORDS = ["uptime", "ls", "ls /srv", "/srv/x", "safe", "x=1", "cwd=/srv", "shell=sh", "x==1", "a\nb", "a+b", "é", ""]
PRINCIPALS = ["fred", "fred", "fred", "*", "gene", "j.doe", "jxdoe", "x[1]", "a+b", "DOM\\x", "ops%", "dev%%", "*"]
USERS = [*["fred"] * 5, "gene", "j.doe", "jxdoe", "x[1]", "x1", "a+b", "aab", "DOM\\x", "DOM\\eve"]
USERS += ["fre?", "f.ed", "*", ".*", "a|b", "eve"]
ATOMS = ". .* .+ \\. \\w \\W \\d \\D \\s \\S [a-z]+ [^.]* [\\w.]+ [^\\w] [.-] ( (?: (?! (?= ) | ? + * *? {2} {1,3} ^ $".split()
ATOMS += ["\\A", "\\Z", "\\b", "\\x41", "[\\s]", "é", "\n", "_"]
REASONS = ["whole match", "conditions confine", "named exactly", "each of a list", "nobody reached", "find_job"]
WHOLE, CONDITIONS, NAMED, LISTS, NOBODY, FIND_JOB = REASONS
SPECIAL = set("\\^$+|(){}*?[]")


def varied(text):
    """Returns patterns that are similar to a text."""
    cut = st.integers(0, len(text)).map(lambda at: text[:at])
    return st.one_of(st.just(text), cut.map(lambda start: start + ".*"), cut, st.just(re.escape(text)), st.just(f"({text}|sys.*)"))


def patterns(texts):
    near = st.sampled_from(texts).flatmap(varied)
    built = st.lists(st.one_of(st.sampled_from(ATOMS), st.sampled_from(texts)), min_size=1, max_size=5).map("".join)
    return st.one_of(near, near, st.just(".*"), built.filter(is_regex)).filter(lambda text: text and text[0] != "@")


def is_regex(text):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, FutureWarning, RecursionError):
        return False
    return True


VALUES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from([None, True, False, 0, -1, 15, 1.5, 1e22, 10**25, [], {}, ["uptime", 1], {"a": None}, [{"x": "it's"}]]),
    st.text(st.characters(max_codepoint=0x2FF, blacklist_categories=["Cs"]), max_size=4),
)
SHOWN = [*WORDS, "True", "None", "15", "1.5", "['uptime', 1]", "{'a': None}"]
WANTED = st.one_of(st.none(), patterns(SHOWN))


@st.composite
def conditions(draw):
    condition = {}
    if draw(st.booleans()):
        condition["args"] = draw(st.lists(WANTED, max_size=2))
    if draw(st.booleans()):
        condition["kwargs"] = draw(st.dictionaries(st.sampled_from(KEYS), WANTED, max_size=2))
    if draw(st.booleans()):
        condition["others"] = draw(st.booleans())
    return condition


def functions(names):
    all_of = st.lists(conditions(), min_size=1, max_size=2)
    conditional = st.builds(lambda name, wanted: {name: wanted}, patterns(names), all_of)
    return st.lists(st.one_of(patterns(names), conditional, conditional), min_size=1, max_size=2)


def scoped(scopes, names):
    return st.builds(lambda scope, within: {scope: within}, st.sampled_from(scopes), functions(names))


SHORT = [name.partition(".")[2] for name in MASTER]
RULES = st.one_of(
    patterns(LOCAL),
    scoped(RULE_TARGETS, LOCAL),
    scoped(RULE_TARGETS, LOCAL),
    st.sampled_from(["@runner", "@runners", "@wheel", "@jobs", "@key"]),
    scoped(["@runner", "@wheels"], MASTER),
    scoped(["@jobs", "@key", "@manage"], [name for name in SHORT if name]),
)
ACL = st.dictionaries(st.sampled_from(PRINCIPALS), st.lists(RULES, max_size=3), min_size=1, max_size=3)
ARGS = st.lists(VALUES, max_size=3)
KWARGS = st.one_of(st.just({}), st.just({}), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2))


@st.composite
def calls(draw):
    call = {"user": draw(st.sampled_from(USERS)), "groups": draw(st.sampled_from([[], [], ["ops"], ["dev", "ops"]]))}
    kind = draw(st.sampled_from(["local", "local", "list", "runner", "wheel"]))
    if kind in ("runner", "wheel"):
        return {**call, "low": {"client": kind, "fun": draw(st.sampled_from(MASTER)), "arg": draw(ARGS), "kwarg": draw(KWARGS)}}
    tgt, tgt_type = draw(st.sampled_from(TARGETS))
    low = {"client": "local", "tgt": tgt, "tgt_type": tgt_type}
    if kind == "local":
        return {**call, "low": {**low, "fun": draw(st.sampled_from(LOCAL)), "arg": draw(ARGS), "kwarg": draw(KWARGS)}}
    funs = draw(st.lists(st.sampled_from(LOCAL), min_size=1, max_size=3))
    return {**call, "low": {**low, "fun": funs, "arg": [draw(ARGS) for _ in funs]}}


@st.composite
def near_questions(draw):
    """Draws rules about the arguments of a function, and calls that nearly match the rules."""
    words = st.sampled_from([None, "uptime", "ls.*", ".*", "x=1", "15", "\\w+", "[a-z]+=.*", "a+b"])
    keys = st.sampled_from(["cwd", "x"])
    condition = st.builds(
        lambda args, kwargs, others: {"args": args, "kwargs": kwargs, "others": others},
        st.lists(words, max_size=2),
        st.dictionaries(keys, words, max_size=1),
        st.sampled_from([False, False, True]),
    )
    acl = {"fred": [{"*": [{"cmd.run": draw(st.lists(condition, min_size=1, max_size=2))}]}]}
    values = st.sampled_from(["uptime", "ls", "ls /srv", "x=1", "cwd=ls", "shell=sh", "a+b", 15, None])
    low = st.fixed_dictionaries(
        {
            "client": st.just("local"),
            "tgt": st.just("web*"),
            "tgt_type": st.just("glob"),
            "fun": st.just("cmd.run"),
            "arg": st.lists(values, min_size=1, max_size=3),
            "kwarg": st.dictionaries(keys, values, max_size=2),
        }
    )
    return acl, [{"user": "fred", "groups": [], "low": draw(low)} for _ in range(8)]


QUESTIONS = st.one_of(st.tuples(ACL, st.lists(calls(), min_size=4, max_size=8)), near_questions())


class Judge:
    """The embedded engine in the program of judge.cc."""

    def __init__(self, program):
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answers(self, acl, calls):
        master = {"external_auth": {"auto": acl}, "minions": MINIONS}
        self._process.stdin.write(json.dumps({"master": master, "calls": calls}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Salt(salt.utils.minions.CkMinions):
    """Decides like Salt, or as strictly as the embedded engine for the reasons in `strict`."""

    strict = frozenset()

    def permits(self, acl, call, *strict):
        self.strict = frozenset(strict)
        try:
            return bool(self._permits(acl, call))
        finally:
            self.strict = frozenset()

    def _permits(self, acl, call):
        low = copy.deepcopy(call["low"])
        rules = self.fill_auth_list(copy.deepcopy(acl), call["user"], call["groups"])
        if low["client"] != "local":
            check = self.runner_check if low["client"] == "runner" else self.wheel_check
            self.client = low["client"]
            found = check(rules, low["fun"], {"arg": low["arg"], "kwarg": low["kwarg"]})
            return found is True
        self.client = "local"
        minions = self.check_minions(low["tgt"], low["tgt_type"])["minions"]
        if NOBODY in self.strict and not minions:
            return False
        if "kwarg" in low:
            marked = {"__kwarg__": True, **low["kwarg"]}
            return self._check(rules, low["fun"], [*low["arg"], marked] if low["kwarg"] else low["arg"], low, minions)
        if LISTS in self.strict:
            return all(self._check(rules, fun, args, low, minions) for fun, args in zip(low["fun"], low["arg"]))
        return self._check(rules, low["fun"], low["arg"], low, minions)

    def _check(self, rules, fun, args, low, minions):
        whitelist = [] if FIND_JOB in self.strict else ["saltutil.find_job"]
        return self.auth_check(rules, fun, args, low["tgt"], low["tgt_type"], minions=minions, whitelist=whitelist)

    def match_check(self, regex, fun):
        if WHOLE not in self.strict or regex == ".*":
            return super().match_check(regex, fun)
        if not SPECIAL & set(regex):
            return regex == fun
        return bool(re.fullmatch(regex, fun))

    def fill_auth_list(self, provider, name, groups, auth_list=None, permissive=None):
        if NAMED not in self.strict:
            return super().fill_auth_list(provider, name, groups, auth_list, permissive)
        of_groups = [rules for key, rules in provider.items() if key.endswith("%") and key.rstrip("%") in groups]
        found = [rule for rules in of_groups for rule in rules]
        users = [key for key in provider if key != "*" and not key.endswith("%")]
        matched = [key for key in users if salt.utils.stringutils.expr_match(key, name)]
        if name in matched:
            found += provider[name]
        start = re.match(r"[^.\\^$+|(){}*?\[\]]*", name)[0][:-1]
        unsure = users and "|" in name or ("\\x" in name and any(key.startswith(start) for key in users))
        return found if matched or unsure else found + provider.get("*", [])

    def _CkMinions__args_check(self, valid, args=None, kwargs=None):
        check = super()._CkMinions__args_check
        if CONDITIONS not in self.strict:
            return check(valid, args, kwargs)
        views = [(args or [], kwargs or {}), self._received(args or [], kwargs or {})]
        return all(any(self._fits(one, *view) and check(one, *view) for one in valid) for view in views)

    @staticmethod
    def _fits(condition, args, kwargs):
        named = condition.get("kwargs") or {}
        wanted = condition.get("args") or []
        if condition.get("others") or not (named or wanted):
            return True
        return len(args) <= len(wanted) and set(kwargs) - {"__kwarg__"} <= set(named)

    def _received(self, args, kwargs):
        """Returns the arguments that a function receives from a minion, a runner or a wheel."""
        positional, keywords = [], {}
        for arg in args:
            read, named = [arg], {}
            if isinstance(arg, str) and self.client != "wheel":
                read, named = salt.utils.args.parse_input([arg], condition=False)
            positional += [arg] if read and self.client == "local" else read
            keywords.update(named)
        return positional, {**keywords, **kwargs}


def salt_in(folder):
    config = folder / "salt"
    places = {"root_dir": str(folder), "pki_dir": "/pki", "cachedir": "/cache", "log_file": str(folder / "log")}
    config.write_text(json.dumps(places))
    opts = salt.config.master_config(str(config))
    accepted = pathlib.Path(opts["pki_dir"]) / "minions"
    accepted.mkdir(parents=True)
    bank = salt.cache.factory(opts)
    for minion, data in MINIONS.items():
        (accepted / minion).write_text("key")
        bank.store(f"minions/{minion}", "data", data)
    return Salt(opts)


class Comparison:
    def __init__(self, judge, oracle):
        self._judge, self._salt = judge, oracle
        self.reasons = collections.Counter()

    def compare(self, acl, calls):
        answers = self._judge.answers(acl, calls)
        if isinstance(answers, str):
            assert "external_auth: auto: " in answers and "neither an exact name nor a regular" in answers, (answers, acl)
            self.reasons["read alike"] += 1
            return
        for call, ours in zip(calls, answers):
            theirs = self._salt.permits(acl, call)
            if ours.endswith("has the form MODULE.FUNCTION."):  # a text for users who may run any function
                whole = {**call, "low": {**call["low"], "fun": "any.name"}}
                assert self._salt.permits(acl, whole), (ours, acl, call)
                self.reasons["malformed"] += 1
                continue
            ours = "yes" if ours == f"'{call['low']['fun']}' is not available." else ours
            assert ours in ("yes", "no"), (ours, acl, call)
            assert ours == "no" or theirs, f"permitted here, and not by Salt: {json.dumps([acl, [call]])}"
            alike = "permitted by both" if ours == "yes" else "refused by both"
            self.reasons[self._why(acl, call) if theirs and ours == "no" else alike] += 1

    def _why(self, acl, call):
        assert not self._salt.permits(acl, call, *REASONS), f"refused here, for no reason: {json.dumps([acl, [call]])}"
        return next((reason for reason in REASONS if not self._salt.permits(acl, call, reason)), "several of these")


def main():
    program, folder, examples, rows = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    judge, oracle = Judge(program), salt_in(pathlib.Path(folder))
    comparison = Comparison(judge, oracle)
    for acl, asked in json.loads(pathlib.Path(rows).read_text()):
        comparison.compare(acl, asked)

    slow = {"deadline": None, "suppress_health_check": list(HealthCheck)}

    @settings(max_examples=int(examples), derandomize=True, database=None, **slow)
    @given(QUESTIONS)
    def agree(question):
        comparison.compare(*question)

    agree()
    print(json.dumps({"reasons": comparison.reasons}))


if __name__ == "__main__":
    main()
