# SPDX-License-Identifier: GPL-2.0-only
"""Notifications: what is told of what, that counts add up however much changes,
and that one who does not listen costs the kernel a bounded number of bytes."""
import os
import sys
import time

import genl
import perm
from dump import crowd

CHANGES = 1000
# For one who reads, as much as it takes.
ROOM = 1 << 25


def total(events, kind, **more):
    return sum(e["count"] for e in events if e["kind"] == kind
               and all(e.get(k) == v for k, v in more.items()))


def kinds(events):
    return {e["kind"] for e in events}


def comes_and_goes(tap, family):
    listener = genl.Listener(family)
    clock = time.time_ns()
    crowd("devices", 1)
    events = listener.until(lambda e: total(e, "device-came"))
    came = [e for e in events if e["kind"] == "device-came"]
    tap.ok("a device comes", len(came) == 1 and came[0]["name"] == "crowd000", events)
    device = family.do("device-get", {"name": "crowd000"})
    tap.equal("it has its number", device["number"], came[0].get("number"))
    tap.equal("and who brought it", "crowd", came[0].get("provider"))
    tap.ok("and a time", clock <= came[0]["time"] <= time.time_ns(), came[0]["time"])
    tap.equal("and the generation that the registry has with it",
              family.do("info-get")["generation"], came[0]["generation"])

    for state in (0, 1):
        family.do("device-set", {"name": "crowd000", "state": state})
        word = ("offline", "online")[state]
        events = listener.until(lambda e: total(e, "device-state"))
        found = [e for e in events if e["kind"] == "device-state"]
        tap.ok(f"it goes {word}, by no provider",
               found and found[-1]["name"] == "crowd000" and found[-1]["state"] == word
               and "provider" not in found[-1], events)
        family.do("backend-set", {"name": "crowd", "state": state})
        events = listener.until(lambda e: total(e, "backend-state"))
        found = [e for e in events if e["kind"] == "backend-state"]
        tap.ok(f"its backend goes {word}",
               found and found[-1]["name"] == "crowd" and found[-1]["state"] == word, events)
    crowd("devices", 0)
    events = listener.until(lambda e: total(e, "device-went"))
    tap.equal("it goes, and that is told once", 1,
              total(events, "device-went", name="crowd000", number=device["number"]))

    crowd("ops", 1)
    events = listener.until(lambda e: total(e, "op-came"))
    tap.equal("an operator comes", 1, total(events, "op-came", name="crowd::op65535",
                                            provider="crowd"))
    crowd("ops", 0)
    events = listener.until(lambda e: total(e, "op-went"))
    tap.equal("and goes", 1, total(events, "op-went", name="crowd::op65535"))
    events = listener.events(1)
    tap.equal("and then it is quiet", [], events)
    listener.sock.close()


def counts_add_up(tap, family):
    """Of each kind as many are told as have happened, but for those lost."""
    listener = genl.Listener(family, rcvbuf=ROOM)
    child = os.fork()
    if not child:
        crowd("ops", CHANGES)
        crowd("ops", 0)
        os._exit(0)
    events = listener.until(
        lambda e: total(e, "op-went") + total(e, "op-came") + total(e, "lost") >= 2 * CHANGES,
        120)
    os.waitpid(child, 0)
    events += listener.events(1)
    came, went, lost = (total(events, kind) for kind in ("op-came", "op-went", "lost"))
    tap.diag(f"{came} came, {went} went, {lost} lost, in {len(events)} messages, "
             f"{listener.overruns} overruns")
    tap.equal("none is lost on the way to one who reads", 0, listener.overruns)
    tap.equal(f"{CHANGES} come and go: the counts add up", 2 * CHANGES, came + went + lost)
    tap.ok("no kind more often than it happened", came <= CHANGES and went <= CHANGES)
    generations = [e["generation"] for e in events]
    tap.equal("in the order of their coming", sorted(generations), generations)
    listener.sock.close()


def switch_often(family, number, times):
    """What is told of a device that is switched so often."""
    listener = genl.Listener(family, rcvbuf=ROOM)
    requests = [family.spec.encode("device", {"number": number, "state": i % 2})
                for i in range(times)]
    for request in requests:
        family.raw("device-set", request)
    events = listener.until(lambda e: total(e, "device-state") + total(e, "lost") >= times)
    listener.sock.close()
    return events


def are_coalesced(tap, family):
    """One subject that changes again and again is told in fewer messages. How fast
    it is switched is the machine's business, so that one attempt in some will do."""
    crowd("devices", 1)
    number = family.do("device-get", {"name": "crowd000"})["number"]
    times, fewest = 100, None
    for attempt in range(6):
        events = switch_often(family, number, times)
        told = [e for e in events if e["kind"] == "device-state"]
        tap.equal(f"{times} changes of one device, {attempt + 1}: the counts add up", times,
                  total(events, "device-state") + total(events, "lost"))
        tap.ok("the last one tells how it is", told and told[-1]["state"] == "online", told[-1:])
        fewest = min(fewest or times, len(told))
        if fewest < times:
            break
    tap.ok(f"told in {fewest} messages", fewest < times)
    crowd("devices", 0)


def queued(sock):
    """(bytes queued, messages dropped) of a socket, from /proc/net/netlink."""
    with open("/proc/net/netlink", encoding="ascii") as stream:
        for line in stream:
            told = line.split()
            if told[1] == "16" and told[2] == str(sock.getsockname()[0]):
                return int(told[4]), int(told[8])
    raise KeyError("the socket is not in /proc/net/netlink")


def nobody_listens(tap, family):
    """A full queue stays full and no more; whoever makes changes is not held up."""
    deaf = genl.Listener(family, rcvbuf=8192)
    reading = genl.Listener(family, rcvbuf=ROOM)
    child = os.fork()
    if not child:
        for _ in range(3):
            crowd("ops", CHANGES)
            crowd("ops", 0)
        os._exit(0)
    events = reading.until(
        lambda e: total(e, "op-went") + total(e, "op-came") + total(e, "lost") >= 6 * CHANGES,
        120)
    _, status = os.waitpid(child, 0)
    tap.equal("all changes are made", 0, status)
    tap.equal("the other listener hears of all", (6 * CHANGES, 0),
              (total(events, "op-went") + total(events, "op-came") + total(events, "lost"),
               reading.overruns))
    held, drops = queued(deaf.sock.sock)
    tap.diag(f"{held} bytes wait for the one who does not read, {drops} were dropped")
    tap.ok("what waits is bounded by its buffer", held <= 2 * 8192 + 4096, held)
    told = deaf.events(0.5)
    tap.ok("it is told that it has missed something", deaf.overruns > 0 or total(told, "lost"),
           f"{len(told)} events")
    crowd("ops", 1)
    told = deaf.until(lambda e: total(e, "op-came"))
    tap.equal("and hears again", 1, total(told, "op-came", name="crowd::op65535"))
    crowd("ops", 0)
    deaf.sock.close()
    reading.sock.close()


def elsewhere(tap, family):
    """Another network namespace hears nothing."""
    def listen():
        listener = genl.Listener(family)
        crowd("ops", 1)
        heard = listener.events(1)
        crowd("ops", 0)
        return len(heard + listener.events(1))

    tap.equal("in another network namespace nothing is heard", 0,
              perm.as_other(perm.network_namespace, listen))


def main():
    tap = genl.Tap()
    family = genl.Family()
    for part in (comes_and_goes, counts_add_up, are_coalesced, nobody_listens, elsewhere):
        tap.attempt(f"{part.__name__}: to the end", part, tap, family)
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
