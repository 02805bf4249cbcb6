# SPDX-License-Identifier: GPL-2.0-only
"""Notifications: their content, whether their counts add up for any number of
changes, and whether the kernel's memory for a listener that does not read is
limited."""
import os
import sys
import time

import genl
import perm
from dump import crowd

CHANGES = 1000
# The receive buffer, in bytes, of a listener that must not lose notifications.
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
    events = listener.until(lambda e: total(e, "device-added"))
    came = [e for e in events if e["kind"] == "device-added"]
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
    events = listener.until(lambda e: total(e, "device-removed"))
    tap.equal("it goes, and that is told once", 1,
              total(events, "device-removed", name="crowd000", number=device["number"]))

    crowd("ops", 1)
    events = listener.until(lambda e: total(e, "op-added"))
    tap.equal("an operator comes", 1, total(events, "op-added", name="crowd::op65535",
                                            provider="crowd"))
    crowd("ops", 0)
    events = listener.until(lambda e: total(e, "op-removed"))
    tap.equal("and goes", 1, total(events, "op-removed", name="crowd::op65535"))
    events = listener.events(1)
    tap.equal("and then it is quiet", [], events)
    listener.sock.close()


def counts_add_up(tap, family):
    """The counts of all notifications, including those of lost events, sum up to the number of
    changes."""
    listener = genl.Listener(family, rcvbuf=ROOM)
    child = os.fork()
    if not child:
        crowd("ops", CHANGES)
        crowd("ops", 0)
        os._exit(0)
    events = listener.until(
        lambda e: total(e, "op-removed") + total(e, "op-added") + total(e, "lost") >= 2 * CHANGES,
        120)
    os.waitpid(child, 0)
    events += listener.events(1)
    came, went, lost = (total(events, kind) for kind in ("op-added", "op-removed", "lost"))
    tap.diag(f"{came} came, {went} went, {lost} lost, in {len(events)} messages, "
             f"{listener.overruns} overruns")
    tap.equal("none is lost on the way to one who reads", 0, listener.overruns)
    tap.equal(f"{CHANGES} come and go: the counts add up", 2 * CHANGES, came + went + lost)
    tap.ok("no kind more often than it happened", came <= CHANGES and went <= CHANGES)
    generations = [e["generation"] for e in events]
    tap.equal("in the order of their coming", sorted(generations), generations)
    listener.sock.close()


def switch_often(family, number, times):
    """Switches a device this many times. Returns the notifications."""
    listener = genl.Listener(family, rcvbuf=ROOM)
    requests = [family.spec.encode("device", {"number": number, "state": i % 2})
                for i in range(times)]
    for request in requests:
        family.raw("device-set", request)
    events = listener.until(lambda e: total(e, "device-state") + total(e, "lost") >= times)
    listener.sock.close()
    return events


def are_coalesced(tap, family):
    """Repeated changes of one subject are notified in fewer messages. The speed of the
    changes depends on the machine, so one successful attempt in several is enough."""
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
    """Returns (bytes queued, messages dropped) of a socket, from /proc/net/netlink."""
    with open("/proc/net/netlink", encoding="ascii") as stream:
        for line in stream:
            told = line.split()
            if told[1] == "16" and told[2] == str(sock.getsockname()[0]):
                return int(told[4]), int(told[8])
    raise KeyError("the socket is not in /proc/net/netlink")


def nobody_listens(tap, family):
    """The full queue of a listener that does not read does not grow, and delays no changes."""
    deaf = genl.Listener(family, rcvbuf=8192)
    reading = genl.Listener(family, rcvbuf=ROOM)
    child = os.fork()
    if not child:
        for _ in range(3):
            crowd("ops", CHANGES)
            crowd("ops", 0)
        os._exit(0)
    events = reading.until(
        lambda e: total(e, "op-removed") + total(e, "op-added") + total(e, "lost") >= 6 * CHANGES,
        120)
    _, status = os.waitpid(child, 0)
    tap.equal("all changes are made", 0, status)
    tap.equal("the other listener hears of all", (6 * CHANGES, 0),
              (total(events, "op-removed") + total(events, "op-added") + total(events, "lost"),
               reading.overruns))
    held, drops = queued(deaf.sock.sock)
    tap.diag(f"{held} bytes wait for the one who does not read, {drops} were dropped")
    tap.ok("what waits is bounded by its buffer", held <= 2 * 8192 + 4096, held)
    told = deaf.events(0.5)
    tap.ok("it is told that it has missed something", deaf.overruns > 0 or total(told, "lost"),
           f"{len(told)} events")
    crowd("ops", 1)
    told = deaf.until(lambda e: total(e, "op-added"))
    tap.equal("and hears again", 1, total(told, "op-added", name="crowd::op65535"))
    crowd("ops", 0)
    deaf.sock.close()
    reading.sock.close()


def elsewhere(tap, family):
    """No notifications reach another network namespace."""
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
