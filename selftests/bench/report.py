#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes a table, JSON and plots of the measurements of make bench.

report.py --out FOLDER [--note KEY=VALUE]... FILE...

The FILEs are the output of calls.c, regs.c, instructions.awk and bench-readers.
Writes performance.txt, which is also printed, performance.json and plots (SVG) to
FOLDER.
"""
import argparse
import json
import math
import re
import statistics
import textwrap
from pathlib import Path

WIDTH = 100
SCHEMA = "dispatchkey-bench-1"
LICENCE = "SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause"

# Measurements: the name in the files, and the description.
CALLS = {
    "floor": "floor: call through a table, known index",
    "floor.bp": "  in a read-side section of liburcu-bp",
    "floor.memb": "  in a read-side section of liburcu-memb",
    "floor.qsbr": "  in a read-side section of liburcu-qsbr",
    "redispatch.sleepable": "redispatch, sleepable operator",
    "redispatch.atomic": "redispatch, atomic operator",
    "below.sleepable": "redispatch below, sleepable operator",
    "below.atomic": "redispatch below, atomic operator",
    "call.sleepable.named": "call by name, sleepable operator",
    "call.sleepable": "call by handle, sleepable operator",
    "call.sleepable.given": "  the caller passes the local state",
    "call.sleepable.own": "  in a registry other than the default",
    "call.atomic.named": "call by name, atomic operator",
    "call.atomic": "call by handle, atomic operator",
    "call.atomic.given": "  the caller passes the local state",
    "call.atomic.own": "  in a registry other than the default",
    "boxed.sleepable": "boxed call, sleepable operator",
    "boxed.device": "  on the only device with functions",
    "boxed.counted": "  counters on",
    "boxed.atomic": "boxed call, atomic operator",
    "batch": "batch of 32, per call, sleepable operator",
    "batch.atomic": "batch of 32, per call, atomic operator",
    **{f"fallthrough.{n}": f"call, {n} of its keys fall through" for n in range(9)},
    "served.boxed": "call, a boxed function serves it",
    "served.plain": "call, a plain function serves it",
    "missing.sleepable": "no function serves, sleepable operator",
    "missing.atomic": "no function serves, atomic operator",
    "device.none": "object on the backend, on no device",
    "device.no-functions": "  on a device without functions",
    "device.1": "  on the only device with functions",
    "device.64": "  on one of 64 devices with functions",
    "device.same": "  the operator has DK_OP_SAME_DEVICE",
    "counted.sleepable": "call, counters on, sleepable operator",
    "counted.atomic": "call, counters on, atomic operator",
    "torch.redispatch": "libtorch: redispatch",
    "torch.call": "libtorch: call",
    "torch.boxed": "libtorch: boxed call",
    "torch.missing": "libtorch: no function serves, it throws",
}
REGISTRATIONS = {
    "define": "define an operator, without schema",
    "define.schema": "define an operator, with schema",
    "impl": "register function at runtime key",
    "impl.alias": "register function at alias key",
    "fallback": "backend fallback, a function",
    "fallback.through": "backend fallback, a fallthrough",
    "name": "look up an operator by name",
    "load": "load all operators, per operator",
    "unload": "unload all operators, in total",
}


# ---- the measurements ------------------------------------------------------------


class Measured:
    """The samples and instruction counts of each measurement, by name."""

    def __init__(self):
        self.samples, self.units, self.counts, self.notes = {}, {}, {}, []
        self.readers = []

    def read(self, path):
        """Reads any of the input files."""
        for line in path.read_text(encoding="utf-8").splitlines():
            part = line.split("\t")
            if len(part) == 3:
                self.units[part[1]] = part[0]
                self.samples[part[1]] = [float(v) for v in part[2].split()]
            elif part[0] == "note":
                self.notes.append(part[1])
            elif re.fullmatch(r"\S+ [\d.]+", line):
                name, count = line.split()
                self.counts[name] = float(count)
            else:
                self.read_readers(line)

    def read_readers(self, line):
        """Reads a line of bench-readers: the library, the kind of operators, and five numbers."""
        found = re.fullmatch(r"(.+?)\s+(of .+?)" + r"\s+([\d.]+)" * 5, line)
        if found:
            who, what, *numbers = found.groups()
            kept, least, _, rate, cost = map(float, numbers)
            self.readers.append({"who": who, "registrations": what, "kept_percent": kept,
                                 "least_percent": least, "registrations_per_second": rate,
                                 "ns_per_call": cost})

    def has(self, *names):
        """Returns true if there are samples of all these names."""
        return all(n in self.samples for n in names)

    def median(self, name):
        """Returns the median of all samples."""
        return statistics.median(self.samples[name])

    def interval(self, name):
        """Returns the 95 % interval of the median, by ranks: no distribution is assumed."""
        values = sorted(self.samples[name])
        n = len(values)
        reach = 0.98 * n ** 0.5
        low = max(0, round(n / 2 - reach) - 1)
        return values[low], values[n - 1 - low]

    def ratio(self, name, to):
        """Returns the median of the ratios of two measurements, round by round."""
        return statistics.median(a / b for a, b in zip(self.samples[name], self.samples[to]))


# ---- targets -----------------------------------------------------------------------


class Targets:
    """A list of targets: what, target, measured, met (None: could not be measured)."""

    def __init__(self, measured):
        self.m, self.lines = measured, []

    def line(self, what, target, value, text, met):
        """Adds a target."""
        self.lines.append({"what": what, "target": target, "value": value, "measured": text,
                           "met": met})

    def at_most(self, what, limit, value, unit):
        """Adds a target for a value that must not be above the limit."""
        self.line(what, f"at most {limit:g} {unit}".rstrip(), value,
                  f"{number(value)} {unit}".rstrip(), value <= limit)

    def of_floor(self, what, name, limit):
        """Adds a target for the ratio of the time to that of the floor."""
        self.at_most(what, limit, self.m.ratio(name, "floor"), "x floor")

    def instructions(self, what, name, limit, beside=None):
        """Adds a target for the instructions of a call, or for how many more instructions it takes
        than the call BESIDE."""
        if name not in self.m.counts:
            self.line(what, f"at most {limit} instructions", None, "no valgrind here", None)
        elif beside:
            more = round(self.m.counts[name] - self.m.counts[beside], 1)
            self.at_most(what, limit, more, "more instructions")
        else:
            self.at_most(what, limit, self.m.counts[name], "instructions")

    def faster(self, what, name, peer, times):
        """Adds a target for a call, which must be TIMES times as fast as that of the peer."""
        slower = times < 1
        target = (f"at most {1 / times:g} x libtorch's time" if slower else
                  f"{times:g} x as fast as libtorch")
        if self.m.has(peer):
            value = self.m.ratio(peer, name)
            text = (f"{number(1 / value)} x libtorch's time" if slower else
                    f"{number(value)} x as fast")
            self.line(what, target, value, text, value >= times)
        else:
            self.line(what, target, None, "no libtorch here", None)


def call_targets(t):
    """Adds the targets of calls."""
    for kind in ("sleepable", "atomic"):
        what = f"redispatch, {kind}"
        t.of_floor(what, f"redispatch.{kind}", 2.2)
        t.instructions(what, f"redispatch.{kind}", 46)
        t.faster(what, f"redispatch.{kind}", "torch.redispatch", 0.8)
    for kind in ("sleepable", "atomic"):
        what = f"call by name, {kind}"
        t.of_floor(what, f"call.{kind}.named", 2.8)
        t.instructions(what, f"call.{kind}.named", 64)
        t.faster(what, f"call.{kind}.named", "torch.call", 4)
        t.instructions(f"call by handle, {kind}", f"call.{kind}", 70)
    counts = [t.m.counts.get(f"fallthrough.{n}") for n in range(9)]
    if None not in counts:
        t.at_most("0 to 8 keys fall through", 2, round(max(counts) - min(counts), 1),
                  "more instructions")
    for kind in ("sleepable", "atomic"):
        t.instructions(f"no function serves, {kind}", f"missing.{kind}", 110)
    for kind in ("sleepable", "atomic"):
        t.instructions(f"boxed call, {kind}", f"boxed.{kind}", 130)
    t.instructions("only device vs. call by handle", "device.1", 16, "call.sleepable")
    t.instructions("1 of 64 devices vs. call by handle", "device.64", 16, "call.sleepable")
    t.instructions("1 of 64 devices vs. only device", "device.64", 0, "device.1")
    t.instructions("SAME_DEVICE vs. call by handle", "device.same", 16, "call.sleepable")
    t.instructions("no device functions vs. no device", "device.no-functions", 2, "device.none")
    t.of_floor("batch of 32, per call", "batch", 1.25)
    t.instructions("batch of 32, per call", "batch", 9)
    for kind in ("sleepable", "atomic"):
        t.instructions(f"counters on vs. off, {kind}", f"counted.{kind}", 20, f"call.{kind}")


def registration_targets(t):
    """Adds the targets of registrations and memory."""
    for what, name, limit, peer in (
            ("define, without schema", "define", 1, None),
            ("define, with schema", "define.schema", None, "torch.define.schema"),
            ("register function at runtime key", "impl", 0.6, "torch.impl"),
            ("register function at alias key", "impl.alias", 0.8, "torch.impl.alias")):
        if limit:
            t.at_most(what, limit, t.m.median(name) / 1000, "us")
        if peer:
            t.faster(what, name, peer, 5)
    t.at_most("backend fallback, a function", 1.5, t.m.median("fallback") / 1e6, "ms")
    t.at_most("backend fallback, a fallthrough", 1.5, t.m.median("fallback.through") / 1e6, "ms")
    t.faster("look up an operator by name", "name", "torch.name", 2)
    t.at_most("memory per operator", 320, round(t.m.median("memory")), "bytes")
    t.at_most("code of the library (.text)", 110, t.m.median("text") / 1024, "KiB")
    if t.m.has("torch.memory"):
        value = t.m.ratio("torch.memory", "memory")
        t.line("memory per operator", "16 x below libtorch", value, f"{number(value)} x below",
               value >= 16)
    for reader in t.m.readers:
        if reader["who"] == "libdispatchkey":
            value = reader["kept_percent"]
            enough = reader["registrations_per_second"] >= 10000
            t.line("calls while another thread registers", "at least 95 % at 10 000 /s", value,
                   f"{value:g} % at {number(reader['registrations_per_second'])} /s",
                   value >= 95 if enough else None)


# ---- the report as text ------------------------------------------------------------


def number(value):
    """Formats a number with three significant digits and without an exponent."""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def row(m, name, text, scale=1, extra=""):
    """Returns a line of a table: least, median and interval."""
    low, high = m.interval(name)
    values = [min(m.samples[name]), m.median(name), low, high]
    least, median, low, high = (number(v / scale) for v in values)
    return f"{text:<43}{least:>9}{median:>9}  {low + ' to ' + high:<19}{extra}"


def head(text, *more):
    """Returns the first line of a table."""
    return f"{text:<43}{'least':>9}{'median':>9}  {'95 % interval':<19}" + "".join(more)


def text_of(m, targets, notes):
    """Returns the whole report as text."""
    out = [f"{key}: {value}" for key, value in notes] + [""]
    out += [head("time of one call, in ns", f"{'instr.':>9}{'x floor':>9}")]
    for name, text in CALLS.items():
        if m.has(name):
            count = number(m.counts[name]) if name in m.counts else "-"
            ratio = number(m.ratio(name, "floor"))
            out.append(row(m, name, text, 1, f"{count:>9}{ratio:>9}"))
    crowd = [n for n in m.samples if "*" in n]
    if crowd:
        out += ["", head("time of one call in each thread, in ns")]
        for name in crowd:
            kind, threads = name.split("*")
            text = CALLS[kind].removesuffix(" operator").replace(" through a table, known index", "")
            out.append(row(m, name, f"{text}, {threads} thread{'s' * (threads != '1')}"))
    out += ["", head("time of registrations, in us")]
    for name, text in REGISTRATIONS.items():
        for prefix in ("", "torch."):
            if m.has(prefix + name):
                out.append(row(m, prefix + name, ("libtorch: " if prefix else "") + text, 1000))
    out += ["", head("memory, in bytes")]
    for name, text in (("memory", "heap in use, per operator"),
                       ("torch.memory", "libtorch: heap in use, per operator"),
                       ("text", "code of the library (.text)")):
        if m.has(name):
            out.append(row(m, name, text))
    if m.readers:
        out += ["", f"{'speed of calls while another thread registers':<66}"
                    f"{'kept, %':>8}{'least, %':>9}{'reg. per s':>11}"]
        for r in m.readers:
            out.append(f"{r['who'] + ': registrations ' + r['registrations']:<66}"
                       f"{r['kept_percent']:>8g}{r['least_percent']:>9g}"
                       f"{r['registrations_per_second']:>11.0f}")
    out += ["", f"{'case':<38}{'target':<32}{'measured':<26}met"]
    for t in targets:
        met = {True: "yes", False: "no", None: "-"}[t["met"]]
        out.append(f"{t['what']:<38}{t['target']:<32}{t['measured']:<26}{met}")
    if not m.has("torch.call"):
        out += ["", "libtorch is not installed (libtorch-dev), so nothing is compared with it."]
    for note in m.notes:
        out += [""] + textwrap.wrap(note, WIDTH)
    return "\n".join(line.rstrip() for line in out).rstrip() + "\n"


def json_of(m, targets, notes):
    """Returns the whole report as an object for JSON."""
    measured = []
    for name in m.samples:
        low, high = m.interval(name)
        one = {"id": name, "unit": m.units[name], "samples": len(m.samples[name]),
               "min": min(m.samples[name]), "median": m.median(name), "interval": [low, high]}
        if name in m.counts:
            one["instructions"] = m.counts[name]
        measured.append(one)
    return {"schema": SCHEMA, "licence": LICENCE, "about": dict(notes), "measured": measured,
            "readers": m.readers, "targets": targets, "notes": m.notes}


# ---- plots -------------------------------------------------------------------------

STYLE = """<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}
.page{fill:#fff}.t{font-size:16px;font-weight:600}.n{fill:#656d76}.e{stroke:#d0d7de}
.v{text-anchor:end}.ours{fill:#0b62b8}.peer{fill:#e8875a}.floor{fill:#9198a1}.i{stroke:#1f2328;stroke-width:1.5}
.goal{stroke:#b3261e;stroke-width:3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.n{fill:#9198a1}
.e{stroke:#3d444d}.i{stroke:#e6edf3}.ours{fill:#56b4e9}.goal{stroke:#ff7b72}}
</style>"""
LABELS, BARS, STEP = 400, 430, 24


class Plot:
    """Horizontal bars, one below the other."""

    def __init__(self, title, desc, unit, log=False):
        self.title, self.desc, self.unit, self.log, self.bars = title, desc, unit, log, []

    def bar(self, label, kind, value, interval=None, goal=None):
        """Adds a bar, with a line for the interval and a mark at the target."""
        self.bars.append((label, kind, value, interval, goal))

    def place(self, value):
        """Returns the horizontal position of a value."""
        values = [v for b in self.bars for v in (b[2], b[4]) if v]
        if not self.log:
            return BARS * value / max(values)
        low, high = min(values) / 3, max(values)
        return BARS * math.log(value / low) / math.log(high / low)

    def svg(self):
        """Returns the content of the SVG file."""
        width, height = LABELS + BARS + 120, 64 + STEP * len(self.bars) + 16
        out = [f"<!-- {LICENCE} -->",
               f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
               f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc">',
               f'<title id="title">{self.title}</title>', f'<desc id="desc">{self.desc}</desc>',
               STYLE, f'<rect class="page" width="{width}" height="{height}"/>',
               f'<text x="20" y="32" class="t">{self.title}</text>',
               f'<text x="{LABELS}" y="52" class="n">{self.unit}</text>',
               f'<path class="e" d="M{LABELS} 58V{height - 12}"/>']
        for i, (label, kind, value, interval, goal) in enumerate(self.bars):
            y, end = 64 + STEP * i, self.place(value)
            right = max([end] + [self.place(v) for v in (interval or ())[1:]])
            out.append(f'<text x="{LABELS - 10}" y="{y + 14}" class="v">{label}</text>'
                       f'<rect class="{kind}" x="{LABELS}" y="{y + 2}" width="{end:.1f}" '
                       'height="16"/>')
            if interval:
                low, high = (LABELS + self.place(v) for v in interval)
                out.append(f'<path class="i" d="M{low:.1f} {y + 10}H{high:.1f}"/>')
            if goal:
                out.append(f'<path class="goal" d="M{LABELS + self.place(goal):.1f} {y}v20"/>')
            out.append(f'<text x="{LABELS + right + 8:.1f}" y="{y + 14}">{number(value)}</text>')
        return "\n".join(out + ["</svg>"]) + "\n"


def plot_calls(m):
    """Plots the times of calls."""
    plot = Plot("How long calls take", "Medians of calls of every kind, with their 95 % intervals.",
                "ns; the line is the 95 % interval of the median, the mark is the target")
    floor = m.median("floor")
    for name, kind, goal in (
            ("floor", "floor", None), ("batch", "ours", 1.25),
            ("redispatch.atomic", "ours", 2.2), ("torch.redispatch", "peer", None),
            ("call.atomic.named", "ours", 2.8), ("call.sleepable.named", "ours", 2.8),
            ("call.atomic", "ours", None), ("torch.call", "peer", None),
            ("boxed.atomic", "ours", None), ("torch.boxed", "peer", None),
            ("missing.sleepable", "ours", None), ("device.64", "ours", None)):
        if m.has(name):
            plot.bar(CALLS[name].strip().split(":")[0] if name == "floor" else CALLS[name].strip(),
                     kind, m.median(name), m.interval(name), goal and goal * floor)
    return plot


def plot_instructions(m):
    """Plots the instructions of calls, as counted by callgrind."""
    plot = Plot("Instructions of a call", "Counts by callgrind, without those of the loop.",
                "instructions of one call; the mark is the target")
    for name, goal in (("floor", None), ("batch", 9), ("redispatch.atomic", 46),
                       ("torch.redispatch", None),
                       ("call.atomic.named", 64), ("call.sleepable.named", 64),
                       ("call.atomic", 70), ("torch.call", None), ("boxed.atomic", 130),
                       ("torch.boxed", None), ("missing.sleepable", 110),
                       ("device.64", None), ("counted.sleepable", None)):
        if name in m.counts:
            kind = "peer" if name.startswith("torch.") else "floor" if name == "floor" else "ours"
            plot.bar(CALLS[name].strip().split(": call")[0], kind, m.counts[name], None, goal)
    return plot


def plot_registrations(m):
    """Plots the times of registrations on a logarithmic scale."""
    plot = Plot("How long registrations take", "Medians of registrations, with their intervals.",
                "us, on a logarithmic scale; the mark is the target", True)
    goals = {"define": 1, "impl": 0.6, "impl.alias": 0.8, "fallback": 1500,
             "fallback.through": 1500}
    for name, text in REGISTRATIONS.items():
        for prefix in ("", "torch."):
            if m.has(prefix + name):
                low, high = m.interval(prefix + name)
                plot.bar(("libtorch: " if prefix else "") + text, "peer" if prefix else "ours",
                         m.median(prefix + name) / 1000, (low / 1000, high / 1000),
                         None if prefix else goals.get(name))
    return plot


def main():
    """Reads the files, and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()

    m = Measured()
    for path in args.files:
        m.read(path)
    notes = [tuple(n.split("=", 1)) for n in args.note]
    targets = Targets(m)
    call_targets(targets)
    registration_targets(targets)
    text = text_of(m, targets.lines, notes)
    print(text, end="")
    args.out.mkdir(parents=True, exist_ok=True)
    files = {"performance.txt": f"{LICENCE}\n\n{text}",
             "performance.json": json.dumps(json_of(m, targets.lines, notes), indent=1) + "\n",
             "calls.svg": plot_calls(m).svg(), "instructions.svg": plot_instructions(m).svg(),
             "registrations.svg": plot_registrations(m).svg()}
    for name, content in files.items():
        (args.out / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
