# SPDX-License-Identifier: GPL-2.0-only
"""Compares the answers of dkctl and PyTorch to one program, command by command."""
import collections

import program
import rules


class Difference:
    """A command with an unexpected answer."""

    def __init__(self, at, command, what, expected, got):
        self.at = at                    # index in the expanded program
        self.command = command
        self.what = what
        self.expected = expected        # the answer of 1.13.1, or the answer by its rules
        self.got = got

    def __str__(self):
        return f"{self.what}: > {self.command}\n  expected {self.expected}\n  got      {self.got}"


class Op:
    """An operator that exists: it is defined, or has functions."""

    def __init__(self):
        self.defined = False
        self.impls = []                 # (label, key)
        self.fresh = None               # dkctl's table
        self.stale = None               # the table that calls of 1.13.1 read
        self.refresh = set()            # slots that 1.13.1 has refreshed since fresh was read


class Comparer:
    """Compares the answers to one program."""

    def __init__(self, layout, default_local):
        self.layout = layout
        self.local = rules.Local(layout, *default_local)
        self.ops = {}
        self.fallbacks = {}             # label -> slots
        self.empty = None               # the table without functions
        self.counts = collections.Counter()
        self.all_slots = frozenset(range(layout.num_entries))

    # ---- changes of the tables of 1.13.1 -------------------------------------------

    def op(self, name):
        if name not in self.ops:
            op = self.ops[name] = Op()
            op.refresh = set(self.all_slots)
            if self.empty:
                op.stale = rules.Table(self.layout, list(self.empty.words))
                op.refresh = set()
        return self.ops[name]

    def forget(self, name):
        op = self.ops.get(name)
        if op and not op.defined and not op.impls:
            del self.ops[name]

    def change(self, words):
        """Applies a command that dkctl and PyTorch have accepted."""
        verb = words[0]
        if verb == "op":
            self.op(words[1]).defined = True
        elif verb == "undef":
            del self.ops[words[1]]
        elif verb == "impl":
            name, key, label = [w for w in words if w != "-f"][1:]
            op = self.op(name)
            op.impls.append((label, key))
            op.refresh |= self.all_slots if key == "-" else self.layout.refreshed[key]
        elif verb == "fallback":
            self.change_fallback(words[2], self.layout.includes[words[1]])
        elif verb == "drop":
            self.drop(words[1])

    def change_fallback(self, label, slots):
        self.fallbacks.setdefault(label, []).extend(slots)
        self.refresh_all(slots)

    def refused_fallback(self, key):
        """Applies a refused fallback. For an alias key, 1.13.1 registers it slot by slot up to a
        slot that is in use, and then unregisters it."""
        done = []
        for slot in self.layout.includes.get(key, []):
            if self.empty.words[slot]:
                break
            done.append(slot)
        self.refresh_all(done)

    def refresh_all(self, slots):
        for op in self.ops.values():
            for slot in slots:
                op.refresh |= self.layout.refreshed[self.layout.slots[slot]]

    def drop(self, label):
        self.refresh_all(self.fallbacks.pop(label, []))
        for name, op in list(self.ops.items()):
            for impl in [i for i in op.impls if i[0] == label]:
                op.impls.remove(impl)
                key = "CompositeImplicitAutograd" if impl[1] == "-" else impl[1]
                op.refresh |= self.layout.refreshed[key]
            self.forget(name)

    def see_table(self, name, text):
        """Stores dkctl's table after a change, and copies the refreshed entries to the table that
        calls of 1.13.1 read."""
        words = rules.parse_runs(text, self.layout.num_entries)
        table = rules.Table(self.layout, words)
        if name == program.PROBE:
            self.empty = table
        op = self.ops.get(name)
        if not op:
            return
        op.fresh = table
        if op.stale is None or len(op.refresh) == len(words):
            op.stale = table
        elif op.refresh:
            mixed = list(op.stale.words)
            for slot in op.refresh:
                mixed[slot] = words[slot]
            op.stale = table if mixed == words else rules.Table(self.layout, mixed)
        op.refresh = set()

    # ---- answers --------------------------------------------------------------------

    def compare(self, expanded, ours, theirs):
        """Returns the first difference of the program, or None. ours has no answers to commands
        that only the oracle has."""
        answers = iter(ours)
        for at, command in enumerate(expanded):
            own = next(answers) if program.is_for_both(command) else None
            found = self.one(command, own, theirs[at])
            if found:
                return Difference(at, command, *found)
        return None

    def one(self, command, ours, theirs):
        words = command.split()
        verb = words[0]
        if verb in program.ORACLE_ONLY:
            return self.compare_hidden(verb, words[1], theirs)
        if ours.startswith("error:") and theirs.startswith("error:"):
            self.counts["refusals"] += 1
            if verb == "fallback":
                self.refused_fallback(words[1])
            return None
        if verb in ("route", "call"):
            return self.compare_route(words, ours.strip(), theirs.strip())
        if verb == "tls":
            return self.compare_local(ours.strip(), theirs.strip())
        if ours != theirs:
            return self.differ(words, ours.strip(), theirs.strip())
        if verb in ("local", "include", "exclude", "end"):
            if not self.local.run(words):
                return "no guard is open", "error", ours.strip()
        elif words[:2] == ["table", "-c"]:
            self.counts["entries"] += self.layout.num_entries
            self.see_table(words[2], ours)
        elif verb == "table":
            self.counts["texts"] += 1
        elif verb == "dump":
            self.counts["texts"] += 1
        else:
            self.change(words)
        return None

    def differ(self, words, ours, theirs):
        """Describes two answers that differ. Of two tables, lists only the entries that differ."""
        try:
            tables = [rules.parse_runs(text, self.layout.num_entries) for text in (theirs, ours)]
        except (ValueError, IndexError):
            tables = None
        if words[:2] != ["table", "-c"] or not tables:
            return "answers differ", theirs, ours
        wrong = [i for i, (a, b) in enumerate(zip(*tables)) if a != b]
        return ("entries differ",) + tuple(
            ", ".join(f"{self.layout.slots[i]} {table[i] or 'missing'}" for i in wrong[:8])
            for table in tables)

    def compare_hidden(self, verb, name, theirs):
        op = self.ops.get(name)
        if not op:
            return None if theirs.startswith("error:") else ("no such operator", "error", theirs)
        if verb == "masks":
            expected = " ".join(f"{m:#x}" for m in op.stale.masks)
            self.counts["masks"] += len(op.stale.masks)
            if theirs.strip() != expected:
                return "masks by 1.13.1's rule", theirs.strip(), expected
            return None
        got = rules.parse_runs(theirs, self.layout.num_entries)
        expected = [rules.label(w) for w in op.stale.words]
        if got != expected:
            slot = next(i for i, g in enumerate(got) if g != expected[i])
            return (f"the entry that 1.13.1 reads at {self.layout.slots[slot]}, by its rule",
                    got[slot], expected[slot])
        stale = sum(a != b for a, b in zip(op.stale.words, op.fresh.words))
        self.counts["stale entries"] += stale
        return None

    def compare_local(self, ours, theirs):
        if theirs != rules.put_local(self.local.theirs):
            return "local state by 1.13.1's rule", theirs, rules.put_local(self.local.theirs)
        if ours != rules.put_local(self.local.ours):
            return "local state", rules.put_local(self.local.ours), ours
        self.counts["local states"] += 1
        if ours != theirs:
            self.counts["local states that differ: guard"] += 1
        return None

    def compare_route(self, words, ours, theirs):
        op = self.ops.get(words[1])
        if not op or not op.defined or not op.fresh:
            return "an answer for what is not defined", "error", f"{theirs} and {ours}"
        raw = 0
        for word in words[2:]:
            raw |= self.layout.parse_set(word)
        if words[0] == "call":
            heads = [text.partition(" ")[0] for text in (ours, theirs)]
            if heads != [f"{raw:#x}"] * 2:
                return "sets of the arguments", theirs, ours
            ours, theirs = (text.partition(" ")[2] for text in (ours, theirs))
        state = raw, op.fresh, op.stale, self.local
        by_rule = rules.predict(*state, rules.CAUSES)
        if theirs != by_rule:
            return "route by 1.13.1's rule", theirs, by_rule
        own = rules.predict(*state, ())
        if ours != own:
            return "route by the product's own table", own, ours
        self.counts["routes"] += 1
        if ours != theirs:
            causes = " and ".join(rules.explain(*state, theirs))
            self.counts[f"routes that differ: {causes}"] += 1
        return None
