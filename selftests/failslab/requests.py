# SPDX-License-Identifier: GPL-2.0-only
"""Sends each netlink request repeatedly, while allocation 1, 2, ... of this task fails, until no
allocation fails. Each reply must be complete, or an error for lack of memory."""
import errno
import os

import genl

# With more than 24 functions, dk_nl_impls_get() allocates memory.
FUNCTIONS = 60
# Routes the call to the CPU: DK_DENSE on the first backend.
ROUTE = {"op": "crowd::one", "obj": {"keyset": 1 << 16 | 1}}
# Requests and dumps.
REQUESTS = (
    ("op-get", {"name": "crowd::one"}, False),
    ("table-get", {"op": "crowd::one", "first": 1}, False),
    ("route-get", ROUTE, False),
    ("provider-get", {"name": "crowd"}, False),
    ("op-get", {}, True),
    ("impl-get", {"op": "crowd::one"}, True),
    ("impl-get", {}, True),
    ("stats-get", {"op": "crowd::one"}, True),
    ("table-get", {"op": "crowd::one"}, True),
    ("route-get", ROUTE, True),
)
NO_MEMORY = (errno.ENOMEM, errno.ENOBUFS)


def attempt(family, nth, n, request):
    """Sends a request while allocation n fails. Returns the errno, the number of messages, and
    whether an allocation failed."""
    mine = family.again()
    mine.sock.sock.settimeout(60)
    os.pwrite(nth, b"%d" % n, 0)
    try:
        answer = mine.ask(*request)
        error, count = -answer.error, len(answer.messages)
    except MemoryError:
        error, count = errno.ENOMEM, 0
    except OSError as failure:
        error, count = failure.errno or errno.ETIMEDOUT, 0
    left = int(os.pread(nth, 16, 0))
    os.pwrite(nth, b"0", 0)
    mine.sock.close()
    return error, count, not left


def each_fails(tap, family, nth, request):
    """Makes each allocation of a request fail in turn."""
    name, values, dump = request
    expected = len(family.again().ask(*request).messages)
    wrong, refused, failed, n = [], 0, True, 0
    while failed:
        n += 1
        error, count, failed = attempt(family, nth, n, request)
        refused += error in NO_MEMORY
        if error not in NO_MEMORY and (error or count != expected):
            wrong.append(f"allocation {n} failed: errno {error}, {count} of {expected} messages")
    tap.diag(f"{n - 1} allocations failed, and {refused} requests")
    tap.ok(f"{'dump of ' if dump else ''}{name} {values} is answered or refused",
           refused and not wrong, "\n".join(wrong))


def crowd(name, value):
    with open(f"/sys/module/dk_crowd/parameters/{name}", "w", encoding="ascii") as stream:
        stream.write(str(value))


def main():
    tap, family = genl.Tap(len(REQUESTS)), genl.Family()
    crowd("twin", FUNCTIONS)
    family.do("stats-set", {"state": 1})
    nth = os.open("/proc/self/fail-nth", os.O_RDWR)
    for request in REQUESTS:
        each_fails(tap, family, nth, request)
    os.close(nth)
    family.do("stats-set", {"state": 0})
    crowd("twin", 0)
    tap.finish()


if __name__ == "__main__":
    main()
