# SPDX-License-Identifier: GPL-2.0-only
"""Tests how much work is done for requests of an unprivileged user in one hold of the registry's
lock, as dk_crowd reports it. The replies must still be complete."""
import os

import genl
import perm
from dump import crowd, ours, expected_ops

# One hold of the lock compares at most 2100 names, so sorting the operators takes several holds.
OPS = 6000 if os.environ.get("DK_BRIEF") else 20000
DEVICES, TWINS = 256, 4096
# All backends and functionalities of layout v1.
ALL = (1 << 62) - 1
KINDS = ("evaluations", "counters", "functions", "names compared to sort",
         "slots of the table of names")
# Some requests walk the list of an operator's functions several times in one hold.
MOST = (300, 4200, 4 * (DEVICES + TWINS), 2100, 4200)
# An evaluation by the rules walks the functions of the operator several times. One hold
# makes several evaluations, to find the function at which a call ends.
MOST_OF_ROUTES = (300, 4200, 8 * (DEVICES + TWINS), 2100, 4200)
# Evaluating the first entry of a run, or the entry after it, walks the functions five times.
MOST_OF_TABLES = (300, 4200, 10 * (DEVICES + TWINS), 2100, 4200)
# A sum of calls visits only the arrays of functions that it includes.
MOST_OF_SUMS = (300, 4200, 4200, 2100, 4200)
LIMITS = {"route-get": MOST_OF_ROUTES, "table-get": MOST_OF_TABLES}


def most_work():
    with open("/sys/module/dk_crowd/parameters/work", encoding="ascii") as stream:
        return [int(word) for word in stream.read().split()]


def as_nobody(family, name, values, dump):
    """Sends a request as an unprivileged user. Returns [errno, number of messages, whether the
    dump was interrupted, values]."""
    def act():
        mine = family.again(1 << 17)
        answer = mine.ask(name, values, dump)
        return [-answer.error, len(answer.messages), answer.interrupted, answer.decoded[-1:]
                if not dump else sum(1 for one in answer.decoded if "impl" in one.get("step", {}))]
    return perm.as_other(perm.only, act)


def bounded(tap, family, name, values, dump, expected=None, limits=None):
    """Sends a request, and compares the work with the limits."""
    what = f"{'dump of ' if dump else ''}{name} {values}"
    crowd("work", 1)
    answer = as_nobody(family, name, values, dump)
    most = most_work()
    if isinstance(answer, dict) or answer[0] or answer[2]:
        tap.ok(f"{what}: the request is answered", False, answer)
        return None
    if expected is not None:
        tap.equal(f"{what}: messages", expected, answer[1])
    limits = limits or LIMITS.get(name, MOST)
    tap.ok(f"{what}: {most} in one hold of the lock",
           all(n <= limit for n, limit in zip(most, limits)),
           "\n".join(f"{kind}: {n}, at most {limit}"
                     for kind, n, limit in zip(KINDS, most, limits)))
    return answer


def lists(tap, family):
    """Lists, and requests by name."""
    functions = DEVICES + TWINS
    for name in ("backend-get", "device-get", "provider-get", "limit-get"):
        bounded(tap, family, name, {}, True)
    bounded(tap, family, "info-get", {}, False)
    bounded(tap, family, "provider-get", {"name": "crowd"}, False)
    bounded(tap, family, "op-get", {"name": "crowd::one"}, False)
    bounded(tap, family, "op-get", {}, True, OPS + 1)
    bounded(tap, family, "op-get", {"key": 1}, True, 0)
    bounded(tap, family, "impl-get", {"op": "crowd::one"}, True, functions)
    bounded(tap, family, "impl-get", {"provider": "crowd"}, True, functions)
    bounded(tap, family, "impl-get", {"key": 1}, True, 0)


def offline(tap, family):
    """Requests while half of the functions are at a key whose backend is offline."""
    family.do("backend-set", {"name": "CUDA", "state": 0})
    bounded(tap, family, "op-get", {"name": "crowd::one"}, False)
    bounded(tap, family, "impl-get", {"op": "crowd::one"}, True, DEVICES + TWINS)
    family.do("backend-set", {"name": "CUDA", "state": 1})


def order(tap, family):
    """A dump must sort the operators that were registered since the last dump."""
    for name, values in (("op-get", {"prefix": "crowd::op"}), ("impl-get", {"key": 1}),
                         ("stats-get", {"provider": "crowd"})):
        crowd("ops", 0)
        crowd("ops", OPS)
        # a request for one operator must not sort all operators
        bounded(tap, family, "impl-get", {"op": "crowd::one"}, True,
                limits=(*MOST[:3], 0, 0))
        bounded(tap, family, "table-get", {"op": "crowd::one"}, True,
                limits=(*MOST_OF_TABLES[:3], 0, 0))
        bounded(tap, family, name, values, True, OPS if name == "op-get" else None)


def routes(tap, family):
    """Tables, routes and explanations."""
    device = [d for d in family.whole("device-get") if d["backend-name"] == "crowd"][-1]
    for card in ({}, {"device": device["number"]}):
        bounded(tap, family, "table-get", {"op": "crowd::one", **card}, True)
        bounded(tap, family, "table-get", {"op": "crowd::one", "first": 100, **card}, False)
        obj = [card or {"keyset": 1 << 16 | 1}]
        # An explanation evaluates an entry for each functionality in the set.
        for sets in ({"obj": obj}, {"obj": [{"keyset": ALL, **card}]},
                     {"obj": obj, "included": ALL, "excluded": 0}):
            values = {"op": "crowd::one", **sets}
            bounded(tap, family, "route-get", values, False)
            got = bounded(tap, family, "route-get", values, True)
            tap.ok("the explanation has each function", got and got[3] >= DEVICES + TWINS,
                   got)


def restarts(tap, family):
    """A reply is started again if the registry has changed, up to eight times."""
    values = {"op": "crowd::one", "first": 100}
    want = family.do("table-get", values)
    crowd("changes", 7)
    tap.equal("after seven changes during a request, the reply is complete",
              want, family.do("table-get", values))
    crowd("changes", 8)
    answer = family.ask("table-get", values)
    tap.equal("after eight changes during a request, it fails",
              ("EAGAIN", "the registry changed during each attempt to read it: try again"),
              (answer.errno(), answer.text))
    tap.equal("without changes, the reply is complete", want, family.do("table-get", values))


def counters(tap, family):
    """Counters, each of which has a number for every processor."""
    family.do("stats-set", {"state": 1})
    crowd("call", 5)
    missing = OPS + 1
    crowd("blocks", OPS)
    got = bounded(tap, family, "stats-get", {}, False, limits=MOST_OF_SUMS)
    tap.equal("the sum includes all calls", 15, got and got[3][0]["count"])
    bounded(tap, family, "provider-get", {"name": "blocks"}, False, limits=MOST_OF_SUMS)
    crowd("blocks", 0)
    bounded(tap, family, "stats-get", {}, True, DEVICES + TWINS + missing)
    bounded(tap, family, "stats-get", {"used": True}, True, 2)
    bounded(tap, family, "stats-get", {"op": "crowd::one"}, True, DEVICES + TWINS + 1)
    got = bounded(tap, family, "provider-get", {"name": "crowd"}, False)
    tap.equal("the first provider of this name served the calls on the device", 10,
              got and got[3][0]["calls"])
    bounded(tap, family, "provider-get", {}, True)
    family.do("stats-set", {"state": 0})


def leaving(tap, family):
    """Sums of counters, while arrays of functions are registered and unregistered."""
    family.do("stats-set", {"state": 1})
    crowd("call", 5)
    child = os.fork()
    if not child:
        for _ in range(3):
            crowd("blocks", OPS)
            crowd("blocks", 0)
        os._exit(0)
    sums, calls, done = set(), set(), (0, 0)
    while not done[0]:
        sums.add(family.do("stats-get")["count"])
        calls.add(family.do("provider-get", {"name": "crowd"})["calls"])
        done = os.waitpid(child, os.WNOHANG)
    tap.equal("arrays of functions can be registered and unregistered during sums", 0, done[1])
    tap.equal("each sum includes all calls", {15}, sums)
    tap.equal("each sum for a provider includes its calls", {10}, calls)
    family.do("stats-set", {"state": 0})


def main():
    tap = genl.Tap(78)
    family = genl.Family()
    crowd("ops", OPS)
    crowd("devices", DEVICES)
    crowd("twin", TWINS)
    for part in (lists, offline, routes, restarts, counters, leaving, order):
        tap.attempt(f"{part.__name__}: all requests are answered", part, tap, family)
    tap.equal("a dump has all operators", expected_ops(OPS),
              ours(family.whole("op-get", {"prefix": "crowd::op"})))
    tap.finish()


if __name__ == "__main__":
    main()
