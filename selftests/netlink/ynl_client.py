# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own client of netlink specifications sends every command to the
family, as a request and as a dump. Its decoded replies are compared with the
registrations of the sample drivers.

usage: ynl_client.py YNL SPECIFICATION     YNL is the kernel's tools/net/ynl
"""
import os
import subprocess
import sys
import time

import genl

YNL, SPECIFICATION = sys.argv[1:3]
sys.path.append(YNL)
from lib import NlError, YnlFamily  # noqa: E402

DRIVER = "/sys/bus/pci/drivers/dk_edu/"
COPY, FACTORIAL, QUEUE_COPY = OPERATORS = "sample::copy", "sample::factorial", "sample::queue_copy"


def cards():
    return sorted(name for name in os.listdir(DRIVER) if name.startswith("0000:"))


def drive(act, card):
    with open(DRIVER + act, "w", encoding="ascii") as stream:
        stream.write(card)


def module_version():
    with open("/sys/module/dispatchkey/version", encoding="ascii") as stream:
        return stream.read().strip()


def refused(ynl, *request):
    """Returns (error, the kernel's message, the name of the wrong attribute)."""
    try:
        ynl.do(*request)
    except NlError as err:
        told = err.nl_msg.extack or {}
        return err.error, told.get("msg", ""), told.get("bad-attr")
    return 0, "", None


class Asked:
    """The client, and a set of the commands that it has sent."""

    def __init__(self):
        self.ynl = YnlFamily(SPECIFICATION, "")
        self.asked = set()

    def do(self, name, values=None):
        self.asked.add((name, "do"))
        return self.ynl.do(name, values or {})

    def dump(self, name, values=None):
        self.asked.add((name, "dump"))
        return self.ynl.dump(name, values or {})


def module_and_layout(tap, a):
    info = a.do("info-get")
    tap.equal("info: the module's version", module_version(), info["version"])
    tap.equal("info: the layout", "v1", info["layout"])
    tap.equal("info: two cards", 2, info["devices"])
    tap.equal("info: the samples' operators", len(OPERATORS), info["operators"])
    tap.ok("info: two providers", info["providers"] >= 2, info)
    layout = a.do("layout-get", {"name": "v1"})
    tap.equal("layout: the first backend", {"number": 1, "name": "CPU"}, layout["backend"][0])
    tap.equal("layout: backends in their order", list(range(1, len(layout["backend"]) + 1)),
              [b["number"] for b in layout["backend"]])
    byname = {f["name"]: f for f in layout["functionality"]}
    tap.ok("layout: Dense is one entry a backend", byname["Dense"].get("per-backend"), byname)
    tap.equal("layout: and begins at entry 1", 1, byname["Dense"]["slot"])
    tap.ok("layout: Python is not", "per-backend" not in byname["Python"])
    tap.ok("layout: alias keys", "CompositeImplicitAutograd" in
           [x["name"] for x in layout["alias"]], layout["alias"])
    entries = sum(len(layout["backend"]) if f.get("per-backend") else 1
                  for f in layout["functionality"])
    tap.ok("layout: entries are those of its functionalities",
           layout["entries"] in (entries, entries + 1), (layout["entries"], entries))
    return layout


def backends(tap, a, layout):
    told = a.dump("backend-get")
    tap.equal("backends: all of the layout", [b["number"] for b in layout["backend"]],
              [b["number"] for b in told])
    edu = [b for b in told if b["name"] == "edu"]
    tap.ok("backends: edu is bound", len(edu) == 1 and edu[0].get("bound"), edu)
    edu = edu[0]
    tap.equal("backends: edu is the layout's first private one", "PrivateUse1", edu["key-name"])
    tap.equal("backends: by dk_edu", ["dk_edu"], edu.get("provider"))
    tap.equal("backends: not had alone", None, edu.get("alone"))
    tap.equal("backends: with two devices", 2, edu["devices"])
    tap.equal("backends: online", "online", edu["state"])
    tap.equal("backends: the same by name", edu, a.do("backend-get", {"name": "edu"}))
    tap.equal("backends: and by number", edu, a.do("backend-get", {"number": edu["number"]}))
    return edu


def devices(tap, a, edu):
    told = a.dump("device-get")
    tap.equal("devices: the cards by their PCI names", cards(), sorted(d["name"] for d in told))
    tap.equal("devices: all of edu's", {(edu["number"], "edu", "dk_edu")},
              {(d["backend"], d["backend-name"], d["provider"]) for d in told})
    tap.equal("devices: with a function of each operator, online",
              {(len(OPERATORS), "online", "online")},
              {(d["impls"], d["state"], d["backend-state"]) for d in told})
    one = a.do("device-get", {"name": told[1]["name"]})
    tap.equal("devices: one by name", told[1], one)
    tap.equal("devices: one by number", one, a.do("device-get", {"number": one["number"]}))
    return told


def providers(tap, a):
    told = {p["name"]: p for p in a.dump("provider-get")}
    tap.ok("providers: both drivers", {"dk_cpu", "dk_edu"} <= set(told), told)
    cpu, edu = told["dk_cpu"], told["dk_edu"]
    tap.equal("providers: dk_cpu defines, dk_edu has devices",
              (3, 3, 0, 0, 6, 2), tuple(p[k] for p in (cpu, edu)
                                        for k in ("operators", "impls", "devices")))
    tap.equal("providers: their modules", ("dk_cpu", "dk_edu"), (cpu["module"], edu["module"]))
    tap.equal("providers: who has joined edu", (None, ["edu"]),
              (cpu.get("backend"), edu.get("backend")))
    tap.equal("providers: one by name", edu, a.do("provider-get", {"name": "dk_edu"}))


def operators(tap, a, told):
    ops = a.dump("op-get")
    tap.equal("operators", list(OPERATORS), [op["name"] for op in ops])
    tap.equal("operators: defined by dk_cpu", {"dk_cpu"}, {op["provider"] for op in ops})
    tap.equal("operators: three functions, two of devices", {(3, 2)},
              {(op["num-impls"], op["num-device-impls"]) for op in ops})
    tap.equal("operators: by prefix", [COPY],
              [op["name"] for op in a.dump("op-get", {"prefix": "sample::c"})])
    one = a.do("op-get", {"name": COPY})
    impls = a.dump("impl-get", {"op": COPY})
    tap.equal("functions: as many as the operator has", 3, len(impls))
    strip = [{k: v for k, v in i.items() if k != "op"} for i in impls]
    tap.equal("functions: one by one as in the operator", one["impl"], strip)
    tap.equal("functions: who has them, for which card",
              [("dk_cpu", None)] + sorted(("dk_edu", d["name"]) for d in told),
              sorted(((i["provider"], i.get("device-name")) for i in impls),
                     key=lambda i: (i[0], i[1] or "")))
    tap.ok("functions: a card's is at the Dense key of edu",
           all("edu" in i["key-name"] for i in impls if "device" in i), impls)
    card = [i for i in impls if "device" in i][0]
    active = a.do("impl-get", {"op": COPY, "key": card["key"], "device": card["device"]})
    tap.equal("functions: the active one of a card", card, active)
    return one


def tables_and_routes(tap, a, told):
    card = told[0]
    runs = a.dump("table-get", {"op": COPY, "device": card["number"]})
    tap.ok("table: a run is in front of the next one",
           all(x["last"] < y["first"] for x, y in zip(runs, runs[1:])), runs)
    mine = [r for r in runs if r.get("device") == card["number"]]
    tap.ok("table: the card's own entry", len(mine) == 1 and mine[0]["provenance"] == "kernel"
           and mine[0]["provider"] == "dk_edu", mine)
    tap.ok("table: the others are the default's", any(
        r["provenance"] == "default-backend" and r["provider"] == "dk_cpu" for r in runs), runs)
    one = a.do("table-get", {"op": COPY, "device": card["number"], "first": mine[0]["first"]})
    tap.equal("table: the run of an entry", mine[0], one)

    on = {"device-name": card["name"]}
    route = a.do("route-get", {"op": COPY, "obj": [on, on]})
    tap.equal("route: on the card", (0, "dk_edu", card["name"], "edu_copy"),
              (route["error"], route["provider"], route["device-name"], route["label"]))
    tap.equal("route: by its own function", "kernel", route["provenance"])
    cpu = a.do("route-get", {"op": COPY, "obj": [{"keyset": route["raw"]}] * 2})
    tap.equal("route: of the backend without a device", ("dk_cpu", "default-backend"),
              (cpu["provider"], cpu["provenance"]))
    steps = [m["step"] for m in a.dump("route-get", {"op": COPY, "obj": [on, on]}) if "step" in m]
    tap.ok("route: the rules say why", any(
        s["kind"] == "rule" and s.get("verdict") == "serves" for s in steps), steps)
    tap.ok("route: so do the registrations", any(
        s["kind"] == "impl" and s.get("bearing") == "serves"
        and s["impl"]["label"] == "edu_copy" for s in steps), steps)


def changes(tap, a, told):
    card = told[0]["name"]
    on = {"op": COPY, "obj": [{"device-name": card}] * 2}
    answer = a.do("device-set", {"name": card, "state": "offline"})
    tap.equal("a card goes offline", ("offline", card), (answer["state"], answer["name"]))
    tap.equal("and is told so", "offline", a.do("device-get", {"name": card})["state"])
    tap.equal("the CPU serves for it", "dk_cpu", a.do("route-get", on)["provider"])
    a.do("device-set", {"name": card, "state": "online"})
    tap.equal("online again it serves", "dk_edu", a.do("route-get", on)["provider"])
    answer = a.do("backend-set", {"name": "edu", "state": "offline"})
    tap.equal("a backend goes offline", ("edu", "offline"), (answer["name"], answer["state"]))
    tap.equal("its devices with it", {"offline"},
              {d["backend-state"] for d in a.dump("device-get")})
    tap.equal("the CPU serves for all", "dk_cpu", a.do("route-get", on)["provider"])
    a.do("backend-set", {"name": "edu", "state": "online"})
    tap.equal("online again they serve", "dk_edu", a.do("route-get", on)["provider"])
    tap.equal("a refusal names the attribute", (2, ".name"),
              refused(a.ynl, "backend-set", {"name": "nowhere", "state": "online"})[::2])
    tap.equal("the name of a backend with devices is not released", (16, ".name"),
              refused(a, "backend-release", {"name": "edu"})[::2])


def counters(tap, a, client):
    tap.equal("counters: off", "offline", a.do("stats-get")["state"])
    a.do("stats-set", {"state": "online"})
    tap.equal("counters: on", "online", a.do("stats-get")["state"])
    tap.equal("and info says so", "online", a.do("info-get").get("counters"))
    if client:
        for _ in range(3):
            subprocess.run([client, "factorial", "--on", "cpu", "5"], check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run([client, "factorial", "--on", cards()[0], "5"], check=True,
                       stdout=subprocess.DEVNULL)
        used = a.dump("stats-get", {"used": True})
        tap.equal("counters: what was called, by whom served",
                  [("dk_cpu", 3), ("dk_edu", 1)],
                  sorted((c["provider"], c["count"]) for c in used if c["op"] == FACTORIAL))
        tap.equal("counters: their sum", sum(c["count"] for c in used),
                  a.do("stats-get")["count"])
        tap.equal("counters: of each provider", {"dk_cpu": 3, "dk_edu": 1},
                  {p["name"]: p["calls"] for p in a.dump("provider-get") if p["calls"]})
        a.do("stats-set", {"reset": True})
        tap.equal("counters: from zero again", [], a.dump("stats-get", {"used": True}))
    a.do("stats-set", {"state": "offline"})
    tap.equal("counters: off again", "offline", a.do("stats-get")["state"])
    tap.equal("and info says so, too", "offline", a.do("info-get").get("counters"))
    tap.equal("counters: of no provider then", {None},
              {p.get("calls") for p in a.dump("provider-get")})


def limits(tap, a):
    told = a.dump("limit-get")
    tap.ok("limits: there are some", len(told) >= 3, told)
    tap.ok("limits: none is exceeded", all(x.get("used", 0) <= x["most"] for x in told), told)
    tap.equal("limits: one by name", told[0], a.do("limit-get", {"name": told[0]["name"]}))


def events(tap, a):
    """The library reports events while a card is unbound and bound."""
    listener = YnlFamily(SPECIFICATION, "")
    listener.ntf_subscribe("changes")
    card = cards()[1]
    drive("unbind", card)
    drive("bind", card)
    told = []
    for _ in range(40):
        listener.check_ntf()
        told = [(e["name"], e["msg"]["kind"], e["msg"].get("name"))
                for e in listener.async_msg_queue]
        if ("event", "device-added", card) in told:
            break
        time.sleep(0.25)
    a.asked.add(("event", "event"))
    tap.ok("a card goes", ("event", "device-removed", card) in told, told)
    tap.ok("and comes again", ("event", "device-added", card) in told, told)
    tap.ok("its functions with it", {"impl-removed", "impl-added"} <= {k for _, k, _ in told}, told)


def subscribers():
    """Returns the number of generic netlink sockets that have joined a multicast group."""
    with open("/proc/net/netlink", encoding="ascii") as stream:
        rows = [line.split() for line in stream]
    return sum(1 for row in rows if row[1] == "16" and int(row[3], 16))


def cli(*args):
    return [sys.executable, "-B", os.path.join(YNL, "cli.py"), "--spec", SPECIFICATION,
            "--no-schema", *args]


def command_line(tap):
    """The client's command line. Because it starts slowly, several run at the same time."""
    def begin(*args):
        return subprocess.Popen(cli(*args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)

    before = subscribers()
    follower = begin("--subscribe", "changes", "--sleep", "20", "--output-json")
    while subscribers() == before and follower.poll() is None:
        time.sleep(0.2)
    card = cards()[0]
    drive("unbind", card)
    drive("bind", card)
    others = [begin("--do", "info-get"), begin("--dump", "device-get", "--output-json"),
              begin("--do", "device-get", "--json", '{"name": "nothing"}')]
    out = follower.communicate()[0]
    tap.ok("cli.py --subscribe changes: a card goes and comes",
           "device-removed" in out and "device-added" in out and card in out, out)
    info, dump, bad = [other.communicate()[0] for other in others]
    tap.ok("cli.py --do info-get", f"'version': '{module_version()}'" in info, info)
    tap.ok("cli.py --dump device-get", all(name in dump for name in cards()), dump)
    tap.ok("cli.py is told why it is refused", "'msg'" in bad and "bad-attr" in bad, bad)


def main():
    tap = genl.Tap()
    begin = time.monotonic()
    a = tap.attempt("the kernel's client finds the family", Asked)
    if a is None:
        tap.finish()
    client = os.environ.get("DK_CLIENT")

    def all_of_it():
        layout = module_and_layout(tap, a)
        edu = backends(tap, a, layout)
        told = devices(tap, a, edu)
        providers(tap, a)
        operators(tap, a, told)
        tables_and_routes(tap, a, told)
        counters(tap, a, client)
        limits(tap, a)
        changes(tap, a, told)
        events(tap, a)

    try:
        all_of_it()
    except (NlError, KeyError, IndexError, TypeError) as err:
        tap.ok("all can be asked", False, f"{type(err).__name__}: {err}")
    missing = [(name, mode) for name, op in a.ynl.msgs.items() for mode in op.modes
               if (name, mode) not in a.asked]
    tap.equal("every command of the specification was used", [], missing)
    command_line(tap)
    tap.diag(f"{time.monotonic() - begin:.0f} s")
    tap.finish()


if __name__ == "__main__":
    main()
