# SPDX-License-Identifier: GPL-2.0-only
"""Tests dumps: in many messages, with the smallest buffer, with filters, and during changes of the
listed objects. dk_crowd registers the operators and devices."""
import errno
import os
import signal
import sys
import time

import genl
import perm

PARAMETERS = "/sys/module/dk_crowd/parameters/"
# A page: the kernel allocates at least this much for a part of a dump.
SMALLEST = 4096
MANY_OPS, MANY_DEVICES, MANY_PROVIDERS = 600, 64, 40


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


def dumps(family):
    """Returns (command, request) for each command that has a dump."""
    values = {"table-get": {"op": "sample::copy"},
              "route-get": {"op": "sample::copy", "obj": [{"keyset": 1 << 16 | 1}] * 2}}
    return [(name, values.get(name, {})) for name, cmd in family.spec.commands.items()
            if cmd["dump"]]


def in_pieces(tap, family):
    """With the smallest buffer, a dump has the same messages as with a large one."""
    large, small = family.again(1 << 20), family.again(SMALLEST)
    for name, values in dumps(family):
        one, other = large.ask(name, values, True), small.ask(name, values, True)
        tap.ok(f"dump of {name}: {len(one.messages)} messages in {one.reads} reads, "
               f"{other.reads} through the smallest buffer",
               not one.error and not other.error and one.messages == other.messages
               and not one.interrupted and not other.interrupted, f"{one}\n{other}")
    answer = small.ask("op-get", {}, True)
    tap.ok(f"{MANY_OPS} operators do not fit into one message", answer.reads > 5, answer.reads)
    tap.ok("each message of this dump is smaller than 1 KiB",
           all(len(data) < 1024 for _, data in answer.messages),
           max(len(data) for _, data in answer.messages))


def complete(tap, family):
    ops = family.whole("op-get")
    tap.equal("operators are in the order of their names", sorted(names(ops)), names(ops))
    tap.equal(f"a dump has all {MANY_OPS} operators of dk_crowd", expected_ops(MANY_OPS), ours(ops))
    devices = family.whole("device-get")
    told = [d["name"] for d in devices if d["backend-name"] == "crowd"]
    tap.equal(f"a dump has all {MANY_DEVICES} devices of dk_crowd",
              [f"crowd{i:03}" for i in range(MANY_DEVICES)],
              sorted(told))
    numbers = [d["number"] for d in devices]
    tap.equal("each device has a number of its own", len(numbers), len(set(numbers)))
    info = family.do("info-get")
    tap.equal("info-get counts the devices", len(devices), info["devices"])
    tap.equal("info-get counts the operators", len(ops), info["operators"])
    tap.equal("info-get counts the functions", sum(o["num-impls"] for o in ops), info["impls"])
    one = family.do("op-get", {"name": "crowd::one"})
    tap.equal(f"op-get counts the {MANY_DEVICES} functions of devices",
              MANY_DEVICES, one["num-device-impls"])
    tap.equal("op-get reports that calls dispatch on one object", 1, one["max-objs"])
    impls = family.whole("impl-get", {"op": "crowd::one"})
    tap.equal("a dump of the operator's functions has all of them", MANY_DEVICES, len(impls))
    tap.equal("each of these functions is for another device",
              MANY_DEVICES, len({i["device"] for i in impls}))


def filters(tap, family):
    ops = family.whole("op-get")
    edu = [d for d in family.whole("device-get") if d["backend-name"] == "edu"]
    number = {b["name"]: b["number"] for b in family.whole("backend-get")}
    tap.equal("operators by prefix", [n for n in names(ops) if n.startswith("sample::")],
              names(family.whole("op-get", {"prefix": "sample::"})))
    tap.equal("operators by a prefix that is the whole name of one", ["sample::copy"],
              names(family.whole("op-get", {"prefix": "sample::copy"})))
    tap.equal("operators by a prefix that no name has", [],
              names(family.whole("op-get", {"prefix": "sample::copz"})))
    tap.equal("operators by provider", [n for n in names(ops) if n.startswith("sample::")],
              names(family.whole("op-get", {"provider": "dk_edu"})))
    tap.equal("operators by backend", ["crowd::one"],
              names(family.whole("op-get", {"backend": number["crowd"]})))
    tap.equal("operators by provider and prefix", [],
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
    tap.equal("functions by a key without functions", [],
              family.whole("impl-get", {"op": "crowd::one", "key": key}))


def change_between(family, name, values, change):
    """Requests a dump, makes a change between its first and second part, and returns the reply.
    The kernel generates the first part at the request, and the second part when the first part
    is read."""
    cmd, other = family.spec.commands[name], family.again()
    seq = other.sock.send(family.number, cmd["value"], family.spec.encode(cmd["set"], values),
                          genl.F_REQUEST | genl.F_DUMP)
    change()
    return other.sock.hear(seq)


def one_change(tap, family):
    """A single change marks any dump as interrupted."""
    family.do("stats-set", {"state": 1})
    ops = MANY_OPS
    for name, values in dumps(family):
        ops += 1
        answer = change_between(family, name, values, lambda n=ops: crowd("ops", n))
        tap.ok(f"dump of {name}: it is marked as interrupted by a change between two parts",
               not answer.error and answer.interrupted, answer)
        answer = change_between(family, name, values, lambda: None)
        tap.ok(f"dump of {name}: without a change, it is not interrupted",
               not answer.error and not answer.interrupted, answer)
    for what, values in (("a reset", {"reset": True}), ("switching off", {"state": 0})):
        answer = change_between(family, "stats-get", {},
                                lambda v=values: family.do("stats-set", v))
        tap.ok(f"dump of stats-get: {what} between two parts marks it as interrupted",
               not answer.error and answer.interrupted, answer)
    crowd("ops", MANY_OPS)


def lost_device(tap, family):
    """If a device is unregistered during a dump about this device, the dump ends and is marked as
    interrupted."""
    for name, values in (("table-get", {"op": "crowd::one", "device": 0}),
                         ("route-get", {"op": "crowd::one", "obj": [{"device": 0}]}),
                         ("impl-get", {"device": 0})):
        last = max(d["number"] for d in family.whole("device-get")
                   if d["name"] == f"crowd{MANY_DEVICES - 1:03}")
        for values_of in [values, *values.get("obj", [])]:
            if "device" in values_of:
                values_of["device"] = last
        answer = change_between(family, name, values,
                                lambda: crowd("devices", MANY_DEVICES - 1))
        tap.ok(f"dump of {name}: unregistering its device between two parts interrupts it",
               not answer.error and answer.interrupted, answer)
        answer = family.ask(name, values, True)
        tap.equal(f"dump of {name}: another dump does not find the device", -errno.ENODEV,
                  answer.error)
        crowd("devices", MANY_DEVICES)


def unseen_change(tap, family):
    """If only a reference to an operator is left, no dump contains the operator. Releasing the
    reference does not interrupt a dump that has reached the operator's name."""
    family.do("stats-set", {"state": 1})
    for name in ("op-get", "impl-get", "stats-get"):
        crowd("ops", MANY_OPS + 1)
        crowd("held", expected_ops(MANY_OPS + 1)[0])
        crowd("ops", MANY_OPS)
        whole = family.again().raw(name, dump=True)
        answer = change_between(family, name, {}, lambda: crowd("held", "-"))
        tap.ok(f"dump of {name}: it leaves out no operator",
               not answer.interrupted and answer.messages == whole.messages,
               f"{answer}, {len(whole.messages)} before")
    family.do("stats-set", {"state": 0})


def each_once(tap, family):
    """While a dump is read, operators before and after its position are added or removed. The dump
    must contain each operator that stays exactly once. This includes sample::copy, whose name sorts
    after the names of dk_crowd."""
    for before, after in ((MANY_OPS, 2 * MANY_OPS), (2 * MANY_OPS, MANY_OPS), (MANY_OPS, 0)):
        crowd("ops", before)
        always = expected_ops(min(before, after))
        answer = change_between(family, "op-get", {}, lambda n=after: crowd("ops", n))
        told = [data[4 : data.index(b"\0", 4)].decode() for _, data in answer.messages]
        tap.ok(f"{before} to {after} operators during a dump: it has each operator that stays once",
               answer.interrupted and told == sorted(set(told))
               and set(always) <= set(told) and "sample::copy" in told,
               f"{answer}, {len(told)} names")
    crowd("ops", MANY_OPS)


def counted(family):
    """Returns {(provider, kind): count} of crowd::one, and the sum of all counts."""
    told = family.whole("stats-get", {"used": True})
    return ({(c.get("provider"), c["kind"]): c["count"] for c in told
             if c["op"] == "crowd::one"}, sum(c["count"] for c in told))


def of_one_name(tap, family):
    """Counts the calls that two providers of the same name have served, separately and together."""
    crowd("devices", 1)
    crowd("twin", 1)
    family.do("stats-set", {"state": 1})
    crowd("call", 5)
    told = [p for p in family.whole("provider-get") if p["name"] == "crowd"]
    tap.equal("two providers of one name have separate counts", [(1, 10), (0, 5)],
              [(p["devices"], p["calls"]) for p in told])
    tap.equal("provider-get by this name returns the first provider", told[0],
              family.do("provider-get", {"name": "crowd"}))
    tap.equal("functions by this provider name are those of both providers", 2,
              len(family.whole("impl-get", {"op": "crowd::one", "provider": "crowd"})))
    crowd("twin", 0)
    family.do("stats-set", {"reset": True})
    crowd("call", 1)
    tap.equal("stats-get counts calls of functions, and unserved calls",
              ({("crowd", "impl"): 2, (None, "missing"): 1}, 3), counted(family))
    tap.equal("stats-get has the sum of these counts", 3, family.do("stats-get")["count"])
    crowd("devices", 0)
    crowd("defined", 0)
    tap.equal("an undefined operator has no counts", ({}, 0), counted(family))
    total = family.do("stats-get")
    tap.equal("its calls stay in the sum, and are counted as gone", (3, 3),
              (total["count"], total["gone"]))
    crowd("defined", 1)
    family.do("stats-set", {"state": 0})


def many_providers(tap, family):
    """Lists of providers, and of backends with many providers, do not fit into one message. A
    message about a backend has the names of its 16 oldest providers."""
    crowd("providers", MANY_PROVIDERS)
    joined = [f"crowd-{i:0121}" for i in range(MANY_PROVIDERS)]
    small = family.again(SMALLEST)
    answer = small.ask("provider-get", {}, True)
    told = [p for p in answer.decoded if p["name"].startswith("crowd-")]
    tap.ok(f"{MANY_PROVIDERS} providers do not fit into two messages", answer.reads > 3,
           answer.reads)
    tap.equal("a dump has all these providers, the oldest first", joined, names(told))
    tap.equal("each of these providers has joined both backends",
              [["crowd", "shared"]] * MANY_PROVIDERS, [p["backend"] for p in told])
    tap.equal("provider-get finds the newest provider", told[-1],
              family.do("provider-get", {"name": joined[-1]}))
    answer = small.ask("backend-get", {}, True)
    tap.ok("backends with many providers do not fit into one message", answer.reads > 2,
           answer.reads)
    tap.equal("a dump has each backend once", list(range(1, len(answer.decoded) + 1)),
              [b["number"] for b in answer.decoded])
    told = {b["name"]: b for b in answer.decoded}
    for name, providers in (("crowd", ["crowd", *joined]), ("shared", joined)):
        tap.equal(f"backend {name} has {len(providers)} providers, and 16 of their names",
                  (len(providers), providers[:16]),
                  (told[name]["providers"], told[name]["provider"]))
        tap.equal(f"backend-get of {name} has the same content as the dump", told[name],
                  family.do("backend-get", {"name": name}))
    crowd("providers", 0)
    family.do("backend-release", {"name": "shared"})


def very_long(tap, family):
    """Requests an operator that has more functions than fit into a reply."""
    many = 2000
    crowd("twin", many)
    answer = family.again(1 << 18).ask("op-get", {"name": "crowd::one"})
    op = answer.decoded[0]
    told = [{k: v for k, v in i.items() if k != "op"}
            for i in family.whole("impl-get", {"op": "crowd::one"})]
    tap.equal(f"op-get counts all {many} functions", many, op["num-impls"])
    tap.ok("the reply to op-get has only a part of the functions",
           100 < len(op["impl"]) < many, len(op["impl"]))
    tap.ok("the reply to op-get is smaller than 32 KiB", len(answer.messages[0][1]) < 32768,
           len(answer.messages[0][1]))
    tap.equal("a dump of impl-get has all functions", many, len(told))
    tap.equal("this dump begins with the functions of the reply to op-get",
              told[:len(op["impl"])], op["impl"])
    tap.equal("at each of two keys, one function is active",
              2, sum("active" in i["flags"] for i in told))
    steps = family.whole("route-get", {"op": "crowd::one", "obj": [{"keyset": 1 << 16 | 1}]})
    tap.equal("the explanation of a call has each function", many,
              sum(s["step"]["kind"] == "impl" and "fallback" not in s["step"] for s in steps))
    crowd("twin", 0)


def while_changing(tap, family, seconds):
    """Operators are defined in the reverse order of their names and undefined in the order of
    their names. So the operators that exist at any time are those with the last names."""
    # There are no devices, because unregistering them waits for grace periods, which takes long.
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
        if told != sorted(set(told)):
            torn.append("an operator twice, or out of order")
        if answer.interrupted:
            interrupted += 1
            if before == after:
                torn.append("interrupted, although nothing has changed")
            continue
        whole += 1
        if told != expected_ops(len(told)):
            torn.append(f"{len(told)} from {told[0]} to {told[-1]}")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    tap.diag(f"{whole} dumps were whole, {interrupted} interrupted")
    tap.equal("each dump that is not marked as interrupted shows one state", [], torn[:5])
    tap.ok("some dumps are marked as interrupted", interrupted > 0)
    crowd("ops", MANY_OPS)
    tap.equal("after the changes, a dump has all operators", expected_ops(MANY_OPS),
              ours(family.whole("op-get")))


def empty_while_changing(tap, family):
    """A dump without messages is marked, too, if a change is made while it is searched."""
    child = os.fork()
    if not child:
        while True:
            crowd("ops", MANY_OPS + 1)
            crowd("ops", MANY_OPS)
    devices = interrupted = 0
    end = time.monotonic() + 60
    try:
        while not interrupted and time.monotonic() < end:
            answer = family.ask("device-get", {"backend": 2}, True)
            devices += len(answer.decoded)
            interrupted += answer.interrupted
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    tap.equal("a dump of the devices of a backend without devices is empty", 0, devices)
    tap.ok("such a dump is marked as interrupted by a change during the search", interrupted)
    crowd("ops", MANY_OPS)


def dump_as_nobody(family, told):
    """Dumps the counters as another user. Tells that the dump begins, and its result."""
    try:
        perm.only()
        mine = family.again()
        os.write(told, b"-")
        answer = mine.raw("stats-get", dump=True)
        os.write(told, f"{answer.errno()} {len(answer.messages)}".encode())
    finally:
        os._exit(0)


def restricted(tap, family):
    """While an unprivileged user's dump of counters runs, counters are enabled for administrators
    only. The dump must contain no counter. It releases the registry's lock several times, because
    it must sort the operators and visit all of them."""
    results = []
    for attempt in range(16):
        crowd("ops", 0)
        crowd("ops", 12000)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            dump_as_nobody(family, writing)
        os.close(writing)
        os.read(reading, 1)
        # so that the counters are enabled at different moments of the dump
        time.sleep(0.004 * attempt)
        family.do("stats-set", {"state": 1, "readers": 1})
        results.append(os.read(reading, 1000).decode() or "nothing")
        os.waitpid(child, 0)
        os.close(reading)
        family.do("stats-set", {"state": 0})
        family.do("stats-set", {"readers": 0})
    tap.equal("a dump that began before the readers were restricted has no counter of calls that "
              "are counted for administrators only", [],
              [r for r in results if r not in ("0 0", "EPERM 0")])
    tap.ok("some of these dumps ended after the restriction", "EPERM 0" in results)
    crowd("ops", MANY_OPS)


def very_many(tap, family, n):
    crowd("ops", n)
    large = family.again(1 << 18)
    begin = time.monotonic()
    answer = large.raw("op-get", b"", dump=True)
    took = time.monotonic() - begin
    told = [data[4 : data.index(b"\0", 4)].decode() for _, data in answer.messages]
    tap.diag(f"{len(told)} operators in {answer.reads} reads, {took:.1f} s")
    tap.ok("the dump is whole", not answer.error and not answer.interrupted, answer)
    tap.ok(f"the dump has {n} operators, in order",
           [name for name in told if name.startswith("crowd::op")] == expected_ops(n),
           f"{len(told)}: {told[:3]} to {told[-3:]}")
    one = family.do("op-get", {"name": "crowd::op65535"})
    tap.equal("op-get finds one of these operators by its name", "crowd::op65535", one["name"])
    crowd("ops", 0)
    tap.equal("a dump has no operators after they were removed",
              [], ours(family.whole("op-get", {"prefix": "crowd::op"})))


def main():
    tap = genl.Tap(115)
    family = genl.Family()
    crowd("ops", MANY_OPS)
    crowd("devices", MANY_DEVICES)
    for part in (in_pieces, complete, filters, one_change, lost_device, unseen_change,
                 each_once, of_one_name, many_providers, very_long, empty_while_changing,
                 restricted):
        tap.attempt(f"{part.__name__}: all requests are answered", part, tap, family)
    tap.attempt("dumps during changes: all requests are answered", while_changing, tap, family,
                float(os.environ.get("DK_CHURN_SECONDS") or 10))
    if len(sys.argv) > 1:
        tap.attempt("dumps of very many operators: all requests are answered",
                    very_many, tap, family, int(sys.argv[1]))
    tap.finish()


if __name__ == "__main__":
    main()
