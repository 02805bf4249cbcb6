# SPDX-License-Identifier: GPL-2.0-only
"""Reduces a failing program: removes commands, then simplifies those that are left.

fails(candidates) returns for each candidate whether it still fails. It runs many
candidates at once, because each run starts PyTorch.
"""


def first(candidates, fails):
    """Returns the first candidate that fails, or None."""
    if not candidates:
        return None
    for candidate, failed in zip(candidates, fails(candidates)):
        if failed:
            return candidate
    return None


def fewer(commands, fails):
    """Removes commands (delta debugging) until no single command can be removed."""
    size = max(len(commands) // 2, 1)
    while commands:
        cuts = [commands[:i] + commands[i + size:] for i in range(0, len(commands), size)]
        shorter = first(cuts, fails)
        if shorter is not None:
            commands = shorter
            size = min(size, max(len(commands) // 2, 1))
        elif size == 1:
            break
        else:
            size = max(size // 2, 1)
    return commands


def simpler_words(command):
    """Yields variants of a command: with a smaller set, with one set less, or without -f."""
    words = command.split(" ")
    where = {"route": (2,), "call": range(2, len(words)), "include": (1,), "exclude": (1,),
             "local": (1, 2)}.get(words[0], ())
    for i in where:
        if words[0] == "call" and len(words) > 3:
            yield " ".join(words[:i] + words[i + 1:])
        for word in simpler_sets(words[i]):
            yield " ".join(words[:i] + [word] + words[i + 1:])
    if words[0] == "impl" and words[1] == "-f":
        yield " ".join([words[0]] + words[2:])


def simpler_sets(word):
    if word.startswith("0x"):
        bits = [1 << i for i in range(64) if int(word, 16) >> i & 1]
        size = len(bits)
        while size > 1:
            size = (size + 1) // 2
            for i in range(0, len(bits), size):
                yield f"{sum(bits[:i] + bits[i + size:]):#x}"
    else:
        names = word.split("|")
        for i in range(len(names)):
            if len(names) > 1:
                yield "|".join(names[:i] + names[i + 1:])


def simpler(commands, fails):
    """Simplifies commands: removes names and bits of sets, and arguments of calls."""
    while True:
        candidates = [commands[:i] + [c] + commands[i + 1:]
                      for i, command in enumerate(commands) for c in simpler_words(command)]
        better = first(candidates, fails)
        if better is None:
            return commands
        commands = better


def shrink(commands, fails):
    """Returns a small program that still fails."""
    commands = fewer(commands, fails)
    simple = simpler(commands, fails)
    return fewer(simple, fails) if simple != commands else commands
