# SPDX-License-Identifier: GPL-2.0-only
"""Computes the route of a call by the rules of 1.13.1 and by those of dispatchkey.

1.13.1 has three rules that dispatchkey does not have. The tables are not computed here:
they are those that dkctl prints after each command.

  guard   the end of an include or exclude removes the keys that the guard added,
          except backends; the earlier set is not restored
  mask    the fallthroughs of the arguments' backend are removed, without regard to
          local state
  stale   a change refreshes only some entries of the table that calls read
"""
from itertools import combinations

CAUSES = ("guard", "mask", "stale")


def parse_runs(text, n):
    """Parses FIRST[..LAST]=WORD runs. Returns the word of each slot, or an empty string."""
    words = [""] * n
    text = text.strip()
    if text == "-":
        return words
    for run in text.split(" "):
        slots, _, word = run.partition("=")
        first, _, last = slots.partition("..")
        for slot in range(int(first), int(last or first) + 1):
            words[slot] = word
    return words


def label(word):
    """Returns the answer of a call that reaches this entry of table -c."""
    if not word:
        return "missing"
    name = word.rpartition("/")[0]
    return "fallthrough" if is_fallthrough(word) else name


def is_fallthrough(word):
    return word == "fallthrough/backend-fallback" or "(fallthrough)/" in word


def masks(layout, words):
    """Returns, for each backend, the functionalities whose entry is not a fallthrough."""
    functionalities = layout.full & ~layout.backend_mask
    common, own = functionalities, [0] * layout.num_backends
    for f in layout.functionalities[1:]:
        if not f.per_backend:
            if is_fallthrough(words[f.offset]):
                common &= ~(1 << f.bit)
            continue
        for b in range(layout.num_backends):
            if is_fallthrough(words[f.offset + b]):
                own[b] |= 1 << f.bit
    return [common & ~bits for bits in own]


class Table:
    """The table of an operator at one time, and its masks."""

    def __init__(self, layout, words):
        self.layout = layout
        self.words = words
        self._masks = None

    @property
    def masks(self):
        if self._masks is None:
            self._masks = masks(self.layout, self.words)
        return self._masks

    def route(self, raw, local, mask_by_raw):
        """Returns the answer of the command route."""
        layout = self.layout
        included, excluded = local
        merged = layout.sub(raw | included, excluded)
        by = layout.backend_index(raw if mask_by_raw else merged)
        effective = merged & (self.masks[by] | layout.backend_mask)
        slot, name = layout.top(effective)
        return f"{effective:#x} {name} {label(self.words[slot])}"


class Local:
    """The local states of 1.13.1 and of dispatchkey, changed by the same guards."""

    def __init__(self, layout, included, excluded):
        self.layout = layout
        self.theirs = [included, excluded]
        self.ours = [included, excluded]
        self.guards = []

    def run(self, words):
        """Runs local, include, exclude or end. Returns false if the command is refused."""
        if words[0] == "local":
            sets = [self.layout.parse_set(w) for w in words[1:]]
            self.theirs, self.ours = list(sets), list(sets)
        elif words[0] == "end":
            if not self.guards:
                return False
            which, added, saved = self.guards.pop()
            self.theirs[which] = self.layout.sub(self.theirs[which], added)
            self.ours[which] = saved
        else:
            which = ("include", "exclude").index(words[0])
            ks = self.layout.parse_set(words[1])
            added = self.layout.sub(ks, self.theirs[which])
            self.guards.append((which, added, self.ours[which]))
            self.theirs[which] |= added
            self.ours[which] |= ks
        return True


def put_local(local):
    return f"included={local[0]:#x} excluded={local[1]:#x}"


def predict(raw, fresh, stale, local, causes):
    """Returns the route by dispatchkey's rules and those rules of 1.13.1 that are in causes."""
    table = stale if "stale" in causes else fresh
    sets = local.theirs if "guard" in causes else local.ours
    return table.route(raw, sets, "mask" in causes)


def explain(raw, fresh, stale, local, theirs):
    """Returns the fewest rules of 1.13.1 that explain the route in 1.13.1, or None."""
    for n in range(len(CAUSES) + 1):
        for causes in combinations(CAUSES, n):
            if predict(raw, fresh, stale, local, causes) == theirs:
                return causes
    return None
