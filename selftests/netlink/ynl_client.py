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
    """Sends requests with the client, and keeps a set of the commands that were sent."""

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
    tap.equal("info: it has the version of the module", module_version(), info["version"])
    tap.equal("info: the layout is v1", "v1", info["layout"])
    tap.equal("info: there are two devices", 2, info["devices"])
    tap.equal("info: the operators of the samples are counted", len(OPERATORS), info["operators"])
    tap.ok("info: there are at least two providers", info["providers"] >= 2, info)
    layout = a.do("layout-get", {"name": "v1"})
    tap.equal("layout: the first backend is CPU",
              {"number": 1, "name": "CPU"}, layout["backend"][0])
    tap.equal("layout: the backends are in the order of their numbers",
              list(range(1, len(layout["backend"]) + 1)),
              [b["number"] for b in layout["backend"]])
    byname = {f["name"]: f for f in layout["functionality"]}
    tap.ok("layout: Dense has an entry for each backend",
           byname["Dense"].get("per-backend"), byname)
    tap.equal("layout: the entries of Dense begin at 1", 1, byname["Dense"]["slot"])
    tap.ok("layout: Python has one entry for all backends", "per-backend" not in byname["Python"])
    tap.ok("layout: it has alias keys", "CompositeImplicitAutograd" in
           [x["name"] for x in layout["alias"]], layout["alias"])
    entries = sum(len(layout["backend"]) if f.get("per-backend") else 1
                  for f in layout["functionality"])
    tap.ok("layout: the number of entries is the sum over its functionalities",
           layout["entries"] in (entries, entries + 1), (layout["entries"], entries))
    return layout


def backends(tap, a, layout):
    told = a.dump("backend-get")
    tap.equal("backends: the dump has all backends of the layout",
              [b["number"] for b in layout["backend"]],
              [b["number"] for b in told])
    edu = [b for b in told if b["name"] == "edu"]
    tap.ok("backends: edu is bound", len(edu) == 1 and edu[0].get("bound"), edu)
    edu = edu[0]
    tap.equal("backends: edu is the layout's first private one", "PrivateUse1", edu["key-name"])
    tap.equal("backends: dk_edu has joined edu", ["dk_edu"], edu.get("provider"))
    tap.equal("backends: other providers may join edu", None, edu.get("alone"))
    tap.equal("backends: edu has two devices", 2, edu["devices"])
    tap.equal("backends: edu is online", "online", edu["state"])
    tap.equal("backends: a request by name returns the same",
              edu, a.do("backend-get", {"name": "edu"}))
    tap.equal("backends: a request by number returns the same",
              edu, a.do("backend-get", {"number": edu["number"]}))
    return edu


def devices(tap, a, edu):
    told = a.dump("device-get")
    tap.equal("devices: the cards have their PCI names", cards(), sorted(d["name"] for d in told))
    tap.equal("devices: all are devices of edu and dk_edu", {(edu["number"], "edu", "dk_edu")},
              {(d["backend"], d["backend-name"], d["provider"]) for d in told})
    tap.equal("devices: each device has a function for each operator, and is online",
              {(len(OPERATORS), "online", "online")},
              {(d["impls"], d["state"], d["backend-state"]) for d in told})
    one = a.do("device-get", {"name": told[1]["name"]})
    tap.equal("devices: a request by name returns the same", told[1], one)
    tap.equal("devices: a request by number returns the same",
              one, a.do("device-get", {"number": one["number"]}))
    return told


def providers(tap, a):
    told = {p["name"]: p for p in a.dump("provider-get")}
    tap.ok("providers: the dump has both drivers", {"dk_cpu", "dk_edu"} <= set(told), told)
    cpu, edu = told["dk_cpu"], told["dk_edu"]
    tap.equal("providers: dk_cpu defines operators, and dk_edu has devices",
              (3, 3, 0, 0, 6, 2), tuple(p[k] for p in (cpu, edu)
                                        for k in ("operators", "impls", "devices")))
    tap.equal("providers: each has the name of its module",
              ("dk_cpu", "dk_edu"), (cpu["module"], edu["module"]))
    tap.equal("providers: only dk_edu has joined edu", (None, ["edu"]),
              (cpu.get("backend"), edu.get("backend")))
    tap.equal("providers: a request by name returns the same",
              edu, a.do("provider-get", {"name": "dk_edu"}))


def operators(tap, a, told):
    ops = a.dump("op-get")
    tap.equal("operators: the dump has those of the samples", list(OPERATORS),
              [op["name"] for op in ops])
    tap.equal("operators: dk_cpu defines all of them", {"dk_cpu"}, {op["provider"] for op in ops})
    tap.equal("operators: each has three functions, two of them for devices", {(3, 2)},
              {(op["num-impls"], op["num-device-impls"]) for op in ops})
    tap.equal("operators: a dump by prefix has one", [COPY],
              [op["name"] for op in a.dump("op-get", {"prefix": "sample::c"})])
    one = a.do("op-get", {"name": COPY})
    impls = a.dump("impl-get", {"op": COPY})
    tap.equal("functions: the dump has all functions of the operator", 3, len(impls))
    strip = [{k: v for k, v in i.items() if k != "op"} for i in impls]
    tap.equal("functions: the dump equals the list of op-get", one["impl"], strip)
    tap.equal("functions: each has its provider and its card",
              [("dk_cpu", None)] + sorted(("dk_edu", d["name"]) for d in told),
              sorted(((i["provider"], i.get("device-name")) for i in impls),
                     key=lambda i: (i[0], i[1] or "")))
    tap.ok("functions: the functions of cards are at the Dense key of edu",
           all("edu" in i["key-name"] for i in impls if "device" in i), impls)
    card = [i for i in impls if "device" in i][0]
    active = a.do("impl-get", {"op": COPY, "key": card["key"], "device": card["device"]})
    tap.equal("functions: a request for a card returns its active function", card, active)
    return one


def tables_and_routes(tap, a, told):
    card = told[0]
    runs = a.dump("table-get", {"op": COPY, "device": card["number"]})
    tap.ok("table: each run ends before the next one",
           all(x["last"] < y["first"] for x, y in zip(runs, runs[1:])), runs)
    mine = [r for r in runs if r.get("device") == card["number"]]
    tap.ok("table: one entry has the card's own function",
           len(mine) == 1 and mine[0]["provenance"] == "kernel"
           and mine[0]["provider"] == "dk_edu", mine)
    tap.ok("table: other entries have the default function of dk_cpu", any(
        r["provenance"] == "default-backend" and r["provider"] == "dk_cpu" for r in runs), runs)
    one = a.do("table-get", {"op": COPY, "device": card["number"], "first": mine[0]["first"]})
    tap.equal("table: a request for an entry returns its run", mine[0], one)

    on = {"device-name": card["name"]}
    route = a.do("route-get", {"op": COPY, "obj": [on, on]})
    tap.equal("route: a call for the card goes to the card's function",
              (0, "dk_edu", card["name"], "edu_copy"),
              (route["error"], route["provider"], route["device-name"], route["label"]))
    tap.equal("route: the rule that decides is the one named kernel", "kernel", route["provenance"])
    cpu = a.do("route-get", {"op": COPY, "obj": [{"keyset": route["raw"]}] * 2})
    tap.equal("route: a call for the backend without a device goes to dk_cpu",
              ("dk_cpu", "default-backend"),
              (cpu["provider"], cpu["provenance"]))
    steps = [m["step"] for m in a.dump("route-get", {"op": COPY, "obj": [on, on]}) if "step" in m]
    tap.ok("route: the explanation has the rule that selects the function", any(
        s["kind"] == "rule" and s.get("verdict") == "serves" for s in steps), steps)
    tap.ok("route: the explanation has the registration of that function", any(
        s["kind"] == "impl" and s.get("bearing") == "serves"
        and s["impl"]["label"] == "edu_copy" for s in steps), steps)


def changes(tap, a, told):
    card = told[0]["name"]
    on = {"op": COPY, "obj": [{"device-name": card}] * 2}
    answer = a.do("device-set", {"name": card, "state": "offline"})
    tap.equal("a card goes offline", ("offline", card), (answer["state"], answer["name"]))
    tap.equal("device-get reports that the card is offline",
              "offline", a.do("device-get", {"name": card})["state"])
    tap.equal("the CPU serves calls for an offline card",
              "dk_cpu", a.do("route-get", on)["provider"])
    a.do("device-set", {"name": card, "state": "online"})
    tap.equal("a card that is online again serves calls",
              "dk_edu", a.do("route-get", on)["provider"])
    answer = a.do("backend-set", {"name": "edu", "state": "offline"})
    tap.equal("a backend goes offline", ("edu", "offline"), (answer["name"], answer["state"]))
    tap.equal("device-get reports that the backend of the devices is offline", {"offline"},
              {d["backend-state"] for d in a.dump("device-get")})
    tap.equal("the CPU serves calls for devices of an offline backend",
              "dk_cpu", a.do("route-get", on)["provider"])
    a.do("backend-set", {"name": "edu", "state": "online"})
    tap.equal("devices of a backend that is online again serve calls",
              "dk_edu", a.do("route-get", on)["provider"])
    tap.equal("a refusal names the attribute", (2, ".name"),
              refused(a.ynl, "backend-set", {"name": "nowhere", "state": "online"})[::2])
    tap.equal("the name of a backend with devices is not released", (16, ".name"),
              refused(a, "backend-release", {"name": "edu"})[::2])


def counters(tap, a, client):
    tap.equal("counters: they are off by default", "offline", a.do("stats-get")["state"])
    a.do("stats-set", {"state": "online"})
    tap.equal("counters: they can be switched on", "online", a.do("stats-get")["state"])
    tap.equal("counters: info-get reports that they are on",
              "online", a.do("info-get").get("counters"))
    if client:
        for _ in range(3):
            subprocess.run([client, "factorial", "--on", "cpu", "5"], check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run([client, "factorial", "--on", cards()[0], "5"], check=True,
                       stdout=subprocess.DEVNULL)
        used = a.dump("stats-get", {"used": True})
        tap.equal("counters: each function has the number of its calls",
                  [("dk_cpu", 3), ("dk_edu", 1)],
                  sorted((c["provider"], c["count"]) for c in used if c["op"] == FACTORIAL))
        tap.equal("counters: stats-get has the sum of all counts", sum(c["count"] for c in used),
                  a.do("stats-get")["count"])
        tap.equal("counters: each provider has the number of its calls", {"dk_cpu": 3, "dk_edu": 1},
                  {p["name"]: p["calls"] for p in a.dump("provider-get") if p["calls"]})
        a.do("stats-set", {"reset": True})
        tap.equal("counters: a reset sets them to zero", [], a.dump("stats-get", {"used": True}))
    a.do("stats-set", {"state": "offline"})
    tap.equal("counters: they can be switched off", "offline", a.do("stats-get")["state"])
    tap.equal("counters: info-get reports that they are off",
              "offline", a.do("info-get").get("counters"))
    tap.equal("counters: providers have no counts while they are off", {None},
              {p.get("calls") for p in a.dump("provider-get")})


def limits(tap, a):
    told = a.dump("limit-get")
    tap.ok("limits: there are at least three", len(told) >= 3, told)
    tap.ok("limits: none is exceeded", all(x.get("used", 0) <= x["most"] for x in told), told)
    tap.equal("limits: a request by name returns the same",
              told[0], a.do("limit-get", {"name": told[0]["name"]}))


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
    tap.ok("events: a card is removed", ("event", "device-removed", card) in told, told)
    tap.ok("events: the card is added again", ("event", "device-added", card) in told, told)
    tap.ok("events: the card's functions are removed and added",
           {"impl-removed", "impl-added"} <= {k for _, k, _ in told}, told)


def subscribers():
    """Returns the number of generic netlink sockets that have joined a multicast group."""
    with open("/proc/net/netlink", encoding="ascii") as stream:
        rows = [line.split() for line in stream]
    return sum(1 for row in rows if row[1] == "16" and int(row[3], 16))


def cli(*args):
    return [sys.executable, "-B", os.path.join(YNL, "cli.py"), "--spec", SPECIFICATION,
            "--no-schema", *args]


def command_line(tap):
    """Tests the client's command line. Several clients run at the same time, because each of them
    starts slowly."""
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
    tap.ok("cli.py --subscribe changes prints that a card is removed and added",
           "device-removed" in out and "device-added" in out and card in out, out)
    info, dump, bad = [other.communicate()[0] for other in others]
    tap.ok("cli.py --do info-get prints the version",
           f"'version': '{module_version()}'" in info, info)
    tap.ok("cli.py --dump device-get prints all cards", all(name in dump for name in cards()), dump)
    tap.ok("cli.py prints the reason of a refusal, and the wrong attribute",
           "'msg'" in bad and "bad-attr" in bad, bad)


def main():
    client = os.environ.get("DK_CLIENT")
    tap = genl.Tap(81 if client else 77)
    begin = time.monotonic()
    a = tap.attempt("the kernel's client finds the family", Asked)
    if a is None:
        tap.finish()

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
        tap.ok("all requests of the client are answered", False, f"{type(err).__name__}: {err}")
    missing = [(name, mode) for name, op in a.ynl.msgs.items() for mode in op.modes
               if (name, mode) not in a.asked]
    tap.equal("every command of the specification was used", [], missing)
    command_line(tap)
    tap.diag(f"{time.monotonic() - begin:.0f} s")
    tap.finish()


if __name__ == "__main__":
    main()
