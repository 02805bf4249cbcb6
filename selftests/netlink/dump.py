# SPDX-License-Identifier: GPL-2.0-only
"""Dumps: in many messages, through the smallest buffer, with filters, and while
what they tell of comes and goes. dk_crowd has the operators and devices."""
import os
import signal
import sys
import time

import genl

PARAMETERS = "/sys/module/dk_crowd/parameters/"
# A page: the kernel does not make messages of less.
SMALLEST = 4096
MANY_OPS, MANY_DEVICES = 600, 64


def crowd(name, value):
    with open(PARAMETERS + name, "w", encoding="ascii") as stream:
        stream.write(str(value))


def names(decoded):
    return [one["name"] for one in decoded]


def ours(decoded):
    return [name for name in names(decoded) if name.startswith("crowd::op")]


def expected_ops(n):
    """The names that dk_crowd gives n operators, in order."""
    return [f"crowd::op{i:05}" for i in range(65536 - n, 65536)]


def in_pieces(tap, family):
    """The smallest buffer and the largest get the same."""
    large, small = family.again(1 << 20), family.again(SMALLEST)
    for name, cmd in family.spec.commands.items():
        if not cmd["dump"]:
            continue
        values = {"table-get": {"op": "sample::copy"},
                  "route-get": {"op": "sample::copy", "obj": [{"keyset": 1 << 16 | 1}] * 2},
                  }.get(name, {})
        one, other = large.ask(name, values, True), small.ask(name, values, True)
        tap.ok(f"dump of {name}: {len(one.messages)} messages in {one.reads} reads, "
               f"{other.reads} through the smallest buffer",
               not one.error and not other.error and one.messages == other.messages
               and not one.interrupted and not other.interrupted, f"{one}\n{other}")
    answer = small.ask("op-get", {}, True)
    tap.ok(f"{MANY_OPS} operators do not fit into one message", answer.reads > 5, answer.reads)
    tap.ok("each message is small",
           all(len(data) < 1024 for _, data in answer.messages),
           max(len(data) for _, data in answer.messages))


def complete(tap, family):
    ops = family.whole("op-get")
    tap.equal("operators are in the order of their names", sorted(names(ops)), names(ops))
    tap.equal(f"all {MANY_OPS} of the crowd are there", expected_ops(MANY_OPS), ours(ops))
    devices = family.whole("device-get")
    told = [d["name"] for d in devices if d["backend-name"] == "crowd"]
    tap.equal(f"{MANY_DEVICES} devices", [f"crowd{i:03}" for i in range(MANY_DEVICES)],
              sorted(told))
    numbers = [d["number"] for d in devices]
    tap.equal("each has a number of its own", len(numbers), len(set(numbers)))
    info = family.do("info-get")
    tap.equal("info-get counts the devices", len(devices), info["devices"])
    tap.equal("and the operators", len(ops), info["operators"])
    tap.equal("and the functions", sum(o["num-impls"] for o in ops), info["impls"])
    one = family.do("op-get", {"name": "crowd::one"})
    tap.equal("an operator with 64 functions of devices", MANY_DEVICES, one["num-device-impls"])
    impls = family.whole("impl-get", {"op": "crowd::one"})
    tap.equal("and its dump has all of them", MANY_DEVICES, len(impls))
    tap.equal("each of another device", MANY_DEVICES, len({i["device"] for i in impls}))


def filters(tap, family):
    ops = family.whole("op-get")
    edu = [d for d in family.whole("device-get") if d["backend-name"] == "edu"]
    number = {b["name"]: b["number"] for b in family.whole("backend-get")}
    tap.equal("by prefix", [n for n in names(ops) if n.startswith("sample::")],
              names(family.whole("op-get", {"prefix": "sample::"})))
    tap.equal("by a prefix that is a name", ["sample::copy"],
              names(family.whole("op-get", {"prefix": "sample::copy"})))
    tap.equal("by a prefix that none has", [],
              names(family.whole("op-get", {"prefix": "sample::copz"})))
    tap.equal("by provider", [n for n in names(ops) if n.startswith("sample::")],
              names(family.whole("op-get", {"provider": "dk_edu"})))
    tap.equal("by backend", ["crowd::one"],
              names(family.whole("op-get", {"backend": number["crowd"]})))
    tap.equal("by provider and prefix", [],
              names(family.whole("op-get", {"provider": "dk_edu", "prefix": "crowd"})))
    tap.equal("devices of a backend", sorted(names(edu)),
              sorted(names(family.whole("device-get", {"backend": number["edu"]}))))
    impls = family.whole("impl-get")
    key = [i["key"] for i in impls if i.get("op") == "sample::copy" and "device" not in i][0]
    for what, values, keep in (
            ("operator", {"op": "sample::copy"}, lambda i: i.get("op") == "sample::copy"),
            ("key", {"key": key}, lambda i: i["key"] == key),
            ("device", {"device": edu[0]["number"]}, lambda i: i.get("device") == edu[0]["number"]),
            ("provider", {"provider": "dk_cpu"}, lambda i: i.get("provider") == "dk_cpu")):
        expected = [i for i in impls if keep(i)]
        tap.ok(f"functions by {what}: {len(expected)}",
               expected and family.whole("impl-get", values) == expected,
               f"{family.whole('impl-get', values)}")
    tap.equal("by a key at which there is nothing", [],
              family.whole("impl-get", {"op": "crowd::one", "key": key}))


def while_changing(tap, family, seconds):
    """The operators come in the reverse order of their names, and go in that order:
    there never is another set than the last so many names."""
    # Devices would take most of the time, and wait for grace periods.
    crowd("devices", 0)
    child = os.fork()
    if not child:
        while True:
            crowd("churn", 1)
    small = family.again(SMALLEST)
    whole = interrupted = 0
    torn = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = family.do("info-get")["generation"]
        answer = small.ask("op-get", {"prefix": "crowd::op"}, True)
        after = family.do("info-get")["generation"]
        told = ours(answer.decoded)
        if answer.interrupted:
            interrupted += 1
            if before == after:
                torn.append("interrupted, and nothing has changed")
            continue
        whole += 1
        if told != expected_ops(len(told)):
            torn.append(f"{len(told)} from {told[0]} to {told[-1]}")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    tap.diag(f"{whole} dumps were whole, {interrupted} interrupted")
    tap.equal("what is not marked as interrupted is one state", [], torn[:5])
    tap.ok("some were interrupted", interrupted > 0)
    crowd("ops", MANY_OPS)
    tap.equal("afterwards all are told again", expected_ops(MANY_OPS),
              ours(family.whole("op-get")))


def very_many(tap, family, n):
    crowd("ops", n)
    large = family.again(1 << 18)
    begin = time.monotonic()
    answer = large.raw("op-get", b"", dump=True)
    took = time.monotonic() - begin
    told = [data[4 : data.index(b"\0", 4)].decode() for _, data in answer.messages]
    tap.diag(f"{len(told)} operators in {answer.reads} reads, {took:.1f} s")
    tap.ok("the dump is whole", not answer.error and not answer.interrupted, answer)
    tap.ok(f"{n} operators are told, in order",
           [name for name in told if name.startswith("crowd::op")] == expected_ops(n),
           f"{len(told)}: {told[:3]} to {told[-3:]}")
    one = family.do("op-get", {"name": "crowd::op65535"})
    tap.equal("one of them by name", "crowd::op65535", one["name"])
    crowd("ops", 0)
    tap.equal("and all are gone", [], ours(family.whole("op-get", {"prefix": "crowd::op"})))


def main():
    tap = genl.Tap()
    family = genl.Family()
    crowd("ops", MANY_OPS)
    crowd("devices", MANY_DEVICES)
    for part in (in_pieces, complete, filters):
        tap.attempt(f"{part.__name__}: it can be asked", part, tap, family)
    tap.attempt("it can be asked while all changes", while_changing, tap, family,
                float(os.environ.get("DK_CHURN_SECONDS") or 10))
    if len(sys.argv) > 1:
        tap.attempt("very many can be asked for", very_many, tap, family, int(sys.argv[1]))
    tap.finish()


if __name__ == "__main__":
    main()
