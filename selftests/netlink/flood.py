# SPDX-License-Identifier: GPL-2.0-only
"""Tests the content of notifications, that their counts add up for any number of changes, and
that the kernel uses limited memory for a listener that does not read."""
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


def one_change_each(tap, family):
    listener = genl.Listener(family)
    clock = time.time_ns()
    crowd("devices", 1)
    events = listener.until(lambda e: total(e, "device-added"))
    added = [e for e in events if e["kind"] == "device-added"]
    tap.ok("a device is added: one notification",
           len(added) == 1 and added[0]["name"] == "crowd000", events)
    device = family.do("device-get", {"name": "crowd000"})
    tap.equal("the notification has the device's number", device["number"], added[0].get("number"))
    tap.equal("the notification has the device's provider", "crowd", added[0].get("provider"))
    tap.ok("the notification has the time",
           clock <= added[0]["time"] <= time.time_ns(), added[0]["time"])
    tap.equal("the notification has the generation after the change",
              family.do("info-get")["generation"], added[0]["generation"])

    for state in (0, 1):
        family.do("device-set", {"name": "crowd000", "state": state})
        word = ("offline", "online")[state]
        events = listener.until(lambda e: total(e, "device-state"))
        found = [e for e in events if e["kind"] == "device-state"]
        tap.ok(f"a device is set {word}: a notification without a provider",
               found and found[-1]["name"] == "crowd000" and found[-1]["state"] == word
               and "provider" not in found[-1], events)
        family.do("backend-set", {"name": "crowd", "state": state})
        events = listener.until(lambda e: total(e, "backend-state"))
        found = [e for e in events if e["kind"] == "backend-state"]
        tap.ok(f"the backend is set {word}: a notification",
               found and found[-1]["name"] == "crowd" and found[-1]["state"] == word, events)
    crowd("devices", 0)
    events = listener.until(lambda e: total(e, "device-removed"))
    tap.equal("a device is removed: one notification", 1,
              total(events, "device-removed", name="crowd000", number=device["number"]))

    crowd("ops", 1)
    events = listener.until(lambda e: total(e, "op-added"))
    tap.equal("an operator is added: one notification", 1,
              total(events, "op-added", name="crowd::op65535", provider="crowd"))
    crowd("ops", 0)
    events = listener.until(lambda e: total(e, "op-removed"))
    tap.equal("an operator is removed: one notification", 1,
              total(events, "op-removed", name="crowd::op65535"))
    events = listener.events(1)
    tap.equal("no notification without a change", [], events)
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
    added, removed, lost = (total(events, kind) for kind in ("op-added", "op-removed", "lost"))
    tap.diag(f"{added} added, {removed} removed, {lost} lost, in {len(events)} messages, "
             f"{listener.overruns} overruns")
    tap.equal("a listener that reads loses no notification", 0, listener.overruns)
    tap.equal(f"{CHANGES} operators are added and removed: the counts add up",
              2 * CHANGES, added + removed + lost)
    tap.ok("no kind of change is counted more often than it happened",
           added <= CHANGES and removed <= CHANGES)
    # The number of lost events is sent when the queue is empty, with the generation of the last
    # lost event.
    generations = [e["generation"] for e in events if e["kind"] != "lost"]
    tap.equal("notifications are in the order of the changes", sorted(generations), generations)
    listener.sock.close()


def switch_often(family, numbers, times):
    """Switches these devices in turn, this many times. Returns the notifications."""
    listener = genl.Listener(family, rcvbuf=ROOM)
    requests = [family.spec.encode("device", {"number": numbers[i % len(numbers)],
                                              "state": i // len(numbers) % 2})
                for i in range(times)]
    for request in requests:
        family.raw("device-set", request)
    events = listener.until(lambda e: total(e, "device-state") + total(e, "lost") >= times)
    listener.sock.close()
    return events


def are_coalesced(tap, family):
    """Several changes of one device are combined in one notification if they follow each other
    quickly, even if another device changes in between. How quickly they do depends on the machine,
    so one successful attempt is enough."""
    crowd("devices", 2)
    numbers = [family.do("device-get", {"name": f"crowd00{i}"})["number"] for i in range(2)]
    times, fewest = 100, None
    for attempt in range(6):
        events = switch_often(family, numbers, times)
        states = [e for e in events if e["kind"] == "device-state"]
        generations = [e["generation"] for e in states]
        tap.equal(f"{times} changes of two devices, {attempt + 1}: the counts add up", times,
                  total(events, "device-state") + total(events, "lost"))
        tap.equal("combined notifications are in the order of the changes", sorted(generations),
                  generations)
        tap.ok("the last notification has the last state",
               states and states[-1]["state"] == "online", states[-1:])
        fewest = min(fewest or times, len(states))
        if fewest < times:
            break
    tap.ok(f"{times} changes are reported in fewer notifications: {fewest}", fewest < times)
    crowd("devices", 0)


def queued(sock):
    """Returns (bytes queued, messages dropped) of a socket, from /proc/net/netlink."""
    with open("/proc/net/netlink", encoding="ascii") as stream:
        for line in stream:
            field = line.split()
            if field[1] == "16" and field[2] == str(sock.getsockname()[0]):
                return int(field[4]), int(field[8])
    raise KeyError("the socket is not in /proc/net/netlink")


def listener_does_not_read(tap, family):
    """If a listener does not read, its queue stays limited, and changes are not delayed."""
    idle = genl.Listener(family, rcvbuf=8192)
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
    tap.equal("all changes succeed", 0, status)
    tap.equal("another listener gets all notifications", (6 * CHANGES, 0),
              (total(events, "op-removed") + total(events, "op-added") + total(events, "lost"),
               reading.overruns))
    held, drops = queued(idle.sock.sock)
    tap.diag(f"{held} bytes are queued for the listener that does not read, "
             f"{drops} messages were dropped")
    tap.ok("the queue of this listener does not grow beyond its receive buffer",
           held <= 2 * 8192 + 4096, held)
    events = idle.events(0.5)
    tap.ok("this listener is notified that notifications were lost",
           idle.overruns > 0 or total(events, "lost"),
           f"{len(events)} events")
    crowd("ops", 1)
    events = idle.until(lambda e: total(e, "op-added"))
    tap.equal("this listener gets new notifications after that", 1,
              total(events, "op-added", name="crowd::op65535"))
    crowd("ops", 0)
    idle.sock.close()
    reading.sock.close()


def other_namespace(tap, family):
    """No notifications reach another network namespace."""
    def listen():
        listener = genl.Listener(family)
        crowd("ops", 1)
        events = listener.events(1)
        crowd("ops", 0)
        return len(events + listener.events(1))

    tap.equal("no notification reaches another network namespace", 0,
              perm.as_other(perm.network_namespace, listen))


def main():
    tap = genl.Tap(32)
    family = genl.Family()
    for part in (one_change_each, counts_add_up, are_coalesced, listener_does_not_read,
                 other_namespace):
        tap.attempt(f"{part.__name__}: all tests ran", part, tap, family)
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
