#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reports the figures of bench.sh: report.py HOW LOG ABOUT [FILE]

HOW is one of
  table     print them; if FILE exists, also how they differ from it
  json      print them as JSON
  gate      compare them with the baseline FILE, and print TAP
  baseline  write a new baseline FILE

LOG has lines "figure NAME LEAST MEDIAN" in hundredths of an instruction. ABOUT
describes the machine. A baseline has the sum of the kernel's own primitives, and the
instructions of each figure in the same boot. Figures are compared relative to that
sum.
"""
import json
import sys

TOLERANCE = 0.02

# The primitives whose sum is in a baseline.
PRIMITIVES = ("direct-call", "indirect-call", "static_call", "rcu", "srcu", "percpu_ref")
FLOOR = "floor"

# (name, description, target). A target is a number, or (figure, factor, offset).
ROWS = (
    ("The kernel's primitives", (
        ("direct-call", "direct call of a function", None),
        ("static_call", "static_call()", None),
        ("indirect-call", "call through a pointer, without retpolines", None),
        (FLOOR, "floor: call through a table, known index", None),
        ("rcu", "rcu_read_lock(), rcu_read_unlock()", None),
        ("srcu", "srcu_read_lock(), srcu_read_unlock()", None),
        ("percpu_ref", "percpu_ref_get(), percpu_ref_put()", None),
        ("spin_lock", "spin_lock(), spin_unlock()", None),
        ("kmalloc", "kmalloc() of 64 bytes, kfree()", None))),
    ("Comparable services of the kernel", (
        ("module_get", "try_module_get(), call through a pointer, module_put()", None),
        ("notifier", "atomic_notifier_call_chain() of one block", None),
        ("dma_find_channel", "dma_find_channel(), on a machine without channels", None),
        ("crypto_has_alg", "crypto_has_alg()", None),
        ("crypto_shash", "crypto_alloc_shash(), crypto_free_shash()", None),
        ("getfamily", "generic netlink: a process requests CTRL_CMD_GETFAMILY", None))),
    ("Calls of atomic operators", (
        ("call.atomic", "call", 64),
        ("call.rcu", "NAME_rcu(), inside the caller's rcu_read_lock()", 46),
        ("redispatch.atomic", "redispatch inside the call", 30),
        ("below.atomic", "redispatch below the key of the call", None),
        ("below.frame", "redispatch below, from a call by dk_call_enter()", None),
        ("boxed.atomic", "boxed call", 130),
        ("missing.atomic", "call that no function serves", 110),
        ("device.no-functions", "object on a device without functions",
         ("call.atomic", 1, 2)),
        ("device.1", "object on the only device with functions", 80),
        ("device.64", "object on one of 64 devices with functions", ("device.1", 1, 0)),
        *((f"fallthrough.{k}", f"call, {k} of its keys fall through",
           ("fallthrough.0", 1, 2) if k else None) for k in range(9)))),
    ("Calls of sleepable operators", (
        ("call.sleepable", "call, with a record in the gate", 105),
        ("redispatch.sleepable", "redispatch inside the call", None),
        ("below.sleepable", "redispatch below the key of the call", None),
        ("batch.32", "batch of 32, per call", None))),
    ("Calls of atomic operators, observed", (
        ("counted.atomic", "counters on", ("call.atomic", 1, 20)),
        ("counted.elsewhere", "counters on in another registry", None),
        ("hooked.atomic", "a hook runs before each call", None),
        ("traced.atomic", "tracepoints on, events recorded", None))),
    ("Lookups and changes, with 3 640 operators", (
        ("find", "look up an operator by name", 250),
        ("register", "register and publish one function at a runtime key", 2500),
        ("register.alias", "register and publish one function at an alias key", None),
        ("withdraw", "withdraw one function", None),
        ("define", "define an operator", None),
        ("undefine", "remove the definition of an operator", None),
        ("fallback", "register a backend fallback, per operator", None),
        ("fallthrough", "register a fallthrough fallback, per operator", None),
        ("register.all", "register a function for each operator, per function", None),
        ("unregister", "unregister a provider of one function, without waiting", None),
        ("unregister.all", "unregister a provider of 3 640 functions, per function", None))),
)
# Most of the cost of these is in the kernel, such as in its allocator when memory is freed.
NOT_GATED = ("traced.atomic", "undefine")


def read_log(path):
    """Returns {name: (least, median)}; the smallest values if there were several boots."""
    figures = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            words = line.split()
            if line.startswith("figure "):
                figure = (int(words[2]) / 100, int(words[3]) / 100)
                figures[words[1]] = min(figure, figures.get(words[1], figure))
    return figures


def read_baseline(path):
    """Returns {name: instructions}, with the sum of the primitives under "primitives"."""
    try:
        with open(path, encoding="utf-8") as lines:
            words = [line.split() for line in lines if not line.startswith("#")]
    except FileNotFoundError:
        return {}
    return {name: float(count) for name, count in words}


def primitives(figures):
    return sum(figures[name][0] for name in PRIMITIVES)


def gated(figures):
    ours = [name for title, rows in ROWS[2:] for name, _, _ in rows]
    return [name for name in ours if name in figures and name not in NOT_GATED]


def target_of(target, figures):
    if not isinstance(target, tuple):
        return target
    of, times, more = target
    return figures[of][0] * times + more if of in figures else None


def change(name, figures, baseline):
    """Returns the relative change of a figure since the baseline, after scaling by the
    primitives, or None."""
    if name not in baseline or name not in figures:
        return None
    before = baseline[name] / baseline["primitives"]
    return figures[name][0] / primitives(figures) / before - 1


def number(x):
    return f"{x:.0f}" if x >= 1000 or x == int(x) else f"{x:.1f}"


def table(figures, about, baseline):
    """Prints the figures, and the changes if there is a baseline."""
    floor = figures[FLOOR][0]
    print(f"Instructions, without those of the loop, in one boot: {about}")
    for title, rows in ROWS:
        print(f"\n{title:56} {'least':>7} {'median':>7} {'x floor':>7} {'target':>7}"
              + (f" {'change':>7}" if baseline else ""))
        for name, text, target in rows:
            if name not in figures:
                continue
            least, median = figures[name]
            most = target_of(target, figures)
            since = change(name, figures, baseline)
            changed = f"{'' if since is None else f'{100 * since:+.1f} %':>7}" if baseline else ""
            missed = "" if most is None or least <= most else "  *"
            print(f"  {text:54} {number(least):>7} {number(median):>7} {least / floor:7.1f}"
                  f" {'' if most is None else number(most):>7} {changed}{missed}".rstrip())
    print("\n*: more than the target." + (" The change is that since the baseline, relative to the"
                                          " primitives." if baseline else ""))


def as_json(figures, about, baseline):
    rows = []
    for title, group in ROWS:
        for name, text, target in group:
            if name in figures:
                least, median = figures[name]
                rows.append({"name": name, "group": title, "text": text, "least": least,
                             "median": median, "target": target_of(target, figures),
                             "change": change(name, figures, baseline)})
    json.dump({"schema": 1, "unit": "instructions", "about": about,
               "primitives": primitives(figures), "figures": rows}, sys.stdout, indent=1)
    print()


def gate(figures, path):
    baseline = read_baseline(path)
    names = [name for name in baseline if name != "primitives"]
    failed = 0

    def check(i, fine, what):
        nonlocal failed
        failed += not fine
        print(f"{'' if fine else 'not '}ok {i} - {what}")

    print(f"TAP version 13\n1..{len(names) + 1}")
    check(1, sorted(names) == sorted(gated(figures)), "the baseline has what is measured")
    for i, name in enumerate(names, 2):
        since = change(name, figures, baseline)
        if since is None:
            check(i, False, f"{name}: not measured")
            continue
        check(i, abs(since) <= TOLERANCE, f"{name}: {number(figures[name][0])} instructions, "
             f"{100 * since:+.1f} % since the baseline")
    if failed:
        print("# if this change is intended, type: make bench-kernel WRITE=1")
    return failed


def write(figures, about, path):
    with open(path, "w", encoding="utf-8") as out:
        print(f"# SPDX-License-Identifier: GPL-2.0-only\n# {about}\nprimitives {number(primitives(figures))}", file=out)
        for name in gated(figures):
            print(name, f"{figures[name][0]:.2f}".rstrip("0").rstrip("."), file=out)


def main(how, log, about, path=""):
    figures = read_log(log)
    lacks = [name for name in (*PRIMITIVES, FLOOR) if name not in figures]
    if lacks:
        sys.exit(f"bench-kernel: no figures of {', '.join(lacks)} in {log}")
    if how == "gate":
        return 1 if gate(figures, path) else 0
    if how == "baseline":
        write(figures, about, path)
    else:
        {"table": table, "json": as_json}[how](figures, about, read_baseline(path) if path else {})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
