# SPDX-License-Identifier: GPL-2.0-only
"""Tests that requests of a process whose control group exceeds memory.high delay no other process.
The kernel may make such a process sleep when it charges memory to the group. So the module must not
charge memory while it holds the lock of the registry."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import genl
import perm
from dump import crowd

# The pointers to so many functions need more than 64 pages. If a request charges more than that
# beyond the limit of its group, it sleeps for two seconds.
FUNCTIONS = 40000
REQUESTS = 3


def write(directory, name, text):
    with open(os.path.join(directory, name), "w", encoding="ascii") as stream:
        stream.write(text)


def make_group(top):
    """Makes a control group that is always over its limit. Returns its directory, or None if the
    kernel cannot limit memory in this way."""
    group = os.path.join(top, "dispatchkey-throttle")
    try:
        write(top, "cgroup.subtree_control", "+memory")
        os.mkdir(group)
        write(group, "memory.high", "0")
    except OSError:
        return None
    return group


@contextlib.contextmanager
def control_group():
    """Yields what make_group() returns, and deletes the group at the end."""
    with tempfile.TemporaryDirectory() as top:
        if subprocess.run(["mount", "-t", "cgroup2", "none", top], check=False).returncode:
            yield None
            return
        try:
            yield make_group(top)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(os.path.join(top, "dispatchkey-throttle"))
            subprocess.run(["umount", top], check=True)


def ask(family, group):
    """Sends requests as an unprivileged user; if group is not None, in that control group."""
    mine = family.again()
    if group:
        write(group, "cgroup.procs", str(os.getpid()))
    perm.only()
    request = family.spec.encode("op", {"name": "crowd::one"})
    return sum(not mine.raw("op-get", request).error for _ in range(REQUESTS))


def longest_wait(tap, family, group):
    """Returns the longest time, in seconds, that root waits for the lock during these requests."""
    child = os.fork()
    if not child:
        os._exit(0 if ask(family, group) == REQUESTS else 1)
    longest, done = 0, (0, 0)
    while not done[0]:
        begin = time.monotonic()
        family.do("info-get")
        longest = max(longest, time.monotonic() - begin)
        done = os.waitpid(child, os.WNOHANG)
    tap.equal(f"an operator with {FUNCTIONS} functions is reported, "
              f"{'with' if group else 'without'} a limit of memory", 0, done[1])
    return longest


def main():
    family = genl.Family()
    with control_group() as group:
        tap = genl.Tap(3 if group else 1)
        if group:
            crowd("twin", FUNCTIONS)
            usual = longest_wait(tap, family, None)
            longest = longest_wait(tap, family, group)
            tap.ok("a user without memory does not delay requests of others",
                   longest < usual + 1, f"{longest:.3f} s instead of {usual:.3f} s")
            crowd("twin", 0)
        else:
            tap.ok("a user without memory # SKIP no control groups of version 2 for memory", True)
    tap.finish()


if __name__ == "__main__":
    sys.exit(main())
