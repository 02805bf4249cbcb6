# SPDX-License-Identifier: GPL-2.0-only
"""Sends every command of the specification as each kind of user, to test privileges."""
import ctypes
import errno
import json
import os
import struct
import sys

import genl

CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_DUMPABLE, PR_SET_KEEPCAPS = 4, 8
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *args):
    if function(*args):
        err = ctypes.get_errno()
        raise OSError(err, os.strerror(err))


def only(*caps):
    """Makes this process run as a user other than root, with these capabilities."""
    mask = sum(1 << cap for cap in caps)
    call(libc.prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    head = struct.pack("Ii", 0x20080522, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    call(libc.capset, head, struct.pack("IIIIII", low, low, 0, high, high, 0))


def user_namespace():
    """Makes this process run as root of another user namespace, in the same network namespace."""
    only()
    # After the change of user, the process must be dumpable to write to its own files in /proc.
    call(libc.prctl, PR_SET_DUMPABLE, 1, 0, 0, 0)
    call(libc.unshare, CLONE_NEWUSER)
    for name, line in (("setgroups", "deny"), ("uid_map", f"0 {NOBODY} 1"),
                       ("gid_map", f"0 {NOBODY} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(line)
    if os.geteuid() != 0:
        raise OSError(errno.EPERM, "not root of its user namespace")


def network_namespace():
    call(libc.unshare, CLONE_NEWNET)


def own_namespaces():
    user_namespace()
    network_namespace()


# For each kind of user: a description, how to become that user, whether it may make changes, and
# whether it can find the family.
PEOPLE = (
    ("root", lambda: None, True, True),
    ("CAP_NET_ADMIN only", lambda: only(CAP_NET_ADMIN), True, True),
    ("CAP_SYS_ADMIN only", lambda: only(CAP_SYS_ADMIN), False, True),
    ("nobody", only, False, True),
    ("root of a user namespace", user_namespace, False, True),
    ("another network namespace", network_namespace, True, False),
    ("root of a user and a network namespace", own_namespaces, False, False),
)


def requests(spec, good):
    """Yields (command, is it a dump, attributes) for each command. The attributes are those that
    good has for the command, if any."""
    for name, cmd in spec.commands.items():
        for dump in [False] * cmd["do"] + [True] * cmd["dump"]:
            yield name, dump, good.get((name, dump), good.get(name, {}))


def asked(family, good):
    """Sends each request. Returns [command, is it a dump, errno] of each."""
    out = []
    for name, dump, values in requests(family.spec, good):
        cmd = family.spec.commands[name]
        answer = family.raw(name, family.spec.encode(cmd["set"], values), dump)
        out.append([name, dump, -answer.error])
    return out


def as_other(become, act):
    """Calls act as another user, in a child that becomes that user. Returns its result."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            become()
            result = act()
        except OSError as err:
            result = {"failed": err.errno, "why": str(err)}
        os.write(writing, json.dumps(result, default=sorted).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return json.loads(data)


def look_up(spec):
    try:
        genl.find_family(spec.family)
        return 0
    except OSError as err:
        return err.errno


def as_one(tap, family, good, normal, who):
    name, become, changes, there = who
    number, spec = family.number, family.spec

    def act():
        # The family's number is given, so that the requests do not depend on a lookup.
        mine = family.again()
        mine.number = number
        return {"found": look_up(spec), "asked": asked(mine, good)}

    got = as_other(become, act)
    if "failed" in got:
        tap.ok(f"{name}: the process can become this user", False, got["why"])
        return
    tap.equal(f"{name}: the family is {'' if there else 'not '}found",
              0 if there else errno.ENOENT, got["found"])
    for command, dump, err in got["asked"]:
        admin = spec.commands[command]["admin"]
        expected = normal[command, dump]
        if not there:
            expected = errno.ENOENT
        elif admin and not changes:
            expected = errno.EPERM
        word = errno.errorcode.get(expected, "succeeds")
        tap.equal(f"{name}: {'dump of ' if dump else ''}{command}: {word}", expected, err)


def borrowed_socket(tap, family, changes):
    """Both the user that opened a socket and the user that sends on it need the privilege."""
    mine = family.again()

    def act():
        return [mine.raw(*change).error for change in changes]

    tap.equal("the user nobody, with a socket that root has opened, cannot make changes",
              [-errno.EPERM] * len(changes), as_other(only, act))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        # An unprivileged user opens the socket, and root uses it.
        os.setresuid(NOBODY, NOBODY, 0)
        theirs = family.again()
        os.setresuid(0, 0, 0)
        os.write(writing, json.dumps([theirs.raw(*c).error for c in changes]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        got = json.loads(stream.read())
    os.waitpid(child, 0)
    tap.equal("root, with a socket that the user nobody has opened, cannot make changes",
              [-errno.EPERM] * len(changes), got)


def right_requests(family):
    """Returns for each command a request that succeeds and changes nothing."""
    card = family.whole("device-get")[0]
    op = family.whole("op-get")[0]["name"]
    impl = [i for i in family.whole("impl-get", {"op": op}) if "device" not in i][0]
    state = family.spec.enums["state"]["entries"].index
    limit = family.whole("limit-get")[0]["name"]
    counted = family.do("stats-get")["state"]
    return {
        ("backend-get", False): {"number": 1},
        ("backend-set", False): {"number": card["backend"], "state": state("online")},
        ("device-get", False): {"number": card["number"]},
        ("device-set", False): {"number": card["number"], "state": state(card["state"])},
        ("provider-get", False): {"name": impl["provider"]},
        ("op-get", False): {"name": op},
        ("impl-get", False): {"op": op, "key": impl["key"]},
        ("table-get", False): {"op": op, "first": 1},
        ("table-get", True): {"op": op},
        "route-get": {"op": op, "obj": [{"device": card["number"]}] * 2},
        "stats-set": {"state": state(counted)},
        ("limit-get", False): {"name": limit},
    }


def read_counters(family, provider):
    """Returns a summary of the replies to requests about counters."""
    mine = family.again()
    told = mine.do("stats-get")
    dump = mine.raw("stats-get", dump=True)
    calls = {"do": mine.do("provider-get", {"name": provider}),
             "dump": [p for p in mine.dump("provider-get") if p["name"] == provider][0]}
    return {"readers": told["readers"], "state": told["state"],
            "sums": sorted(set(told) - {"readers", "state"}),
            "dump": [-dump.error, dump.text if dump.error else "", bool(dump.messages)],
            "calls": sorted(how for how, one in calls.items() if "calls" in one)}


def readers(tap, family, good):
    """Tests the setting by which all users or only admins may read counters."""
    provider = good["provider-get", False]["name"]
    every = {"sums": ["count", "gone", "uncounted"], "dump": [0, "", True],
             "calls": ["do", "dump"]}
    none = {"sums": [], "calls": [],
            "dump": [errno.EPERM, "reading the counters requires CAP_NET_ADMIN", False]}
    family.do("stats-set", {"state": 1})
    # The setting "readers" is kept while counting is off.
    for which, change in (("all", {}), ("admins", {"readers": 1}),
                          ("admins", {"state": 0}), ("admins", {"state": 1}),
                          ("all", {"readers": 0}), ("admins", {"readers": 1, "state": 1})):
        if change:
            family.do("stats-set", change)
        if change == {"state": 0}:
            fails = family.spec.encode("stats", {"readers": 0, "reset": True})
            tap.ok("a reset of counters that are off fails",
                   family.raw("stats-set", fails).error)
            continue
        for name, become, changes, there in PEOPLE:
            if not there:
                continue
            expected = every if changes or which == "all" else none
            tap.equal(f"counters for {which} after {change}: {name}",
                      {"readers": which, "state": "online", **expected},
                      as_other(become, lambda: read_counters(family, provider)))
    family.do("stats-set", {"state": 0, "readers": 0})


def main():
    tap = genl.Tap(208)
    family = genl.Family()
    good = tap.attempt("there are valid requests", right_requests, family)
    if good is None:
        tap.finish()
    normal = {(name, dump): err for name, dump, err in asked(family, good)}
    known = {key[0] if isinstance(key, tuple) else key for key in good}
    for (name, dump), err in normal.items():
        if err or name not in known | {"info-get", "layout-get", "stats-get"}:
            tap.diag(f"root's {'dump of ' if dump else ''}{name} is "
                     f"{errno.errorcode.get(err, 'done')}")
    tap.equal("every command succeeds for root", [],
              [key for key, err in normal.items() if err and key[0] in known])
    for who in PEOPLE:
        as_one(tap, family, good, normal, who)

    tap.attempt("the readers of counters can be set", readers, tap, family, good)

    spec = family.spec
    changes = [(name, spec.encode(cmd["set"], good.get((name, False), good.get(name, {}))))
               for name, cmd in spec.commands.items() if cmd["admin"]]
    tap.ok("at least three commands make changes", len(changes) >= 3, changes)
    borrowed_socket(tap, family, changes)

    def subscribe():
        sock = genl.Socket()
        sock.join(family.groups["changes"])
        return 0

    tap.equal("an unprivileged user can subscribe to notifications", 0, as_other(only, subscribe))
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
