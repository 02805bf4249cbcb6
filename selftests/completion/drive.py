#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""drive.py bash|zsh COMPLETION - types lines into a shell on a terminal, and completes them.

Types each line of standard input, and completes its last word. For each line, prints
the completed word, or "-" if it was not changed. In bash, types M-*, which inserts
all completions; for a line that ends in "\\t", types Tab, which inserts their common
beginning. In zsh, always types Tab. For a line that ends in "\\l", prints zsh's list.
"""
import os
import pty
import select
import sys
import time

LIMIT = 60  # seconds for an answer
MARK = "\x01"


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, arguments, **environment):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", HISTFILE="", **environment)
            os.execvp(arguments[0], arguments)
        self.seen = ""

    def type(self, text):
        """Types these keys."""
        os.write(self.fd, text.encode())

    def answer(self, text):
        """Types a text. Returns what the terminal shows before and between two marks."""
        self.seen = ""
        self.type(text)
        end = time.monotonic() + LIMIT
        while self.seen.count(MARK) < 2:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise SystemExit(f"no answer to {text!r}: {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return self.seen.split(MARK)[:2]

    def replaced(self, line, key):
        """Types a line and a key. Returns the text that replaces the last word, or "-"."""
        last = line[line.rfind(" ") + 1:]
        found = self.answer(f"{line}{key}\x18\x0f")[1][len(line) - len(last):].rstrip()
        return "-" if found == last else found


class Bash(Shell):
    """bash, with its completion package."""

    def __init__(self, completion):
        super().__init__(["bash", "--norc", "--noprofile", "-i"], PS1="", INPUTRC="/dev/null")
        # The terminal echoes typed keys. Marks distinguish the answer from the echo.
        self.type("PS1= PS2=; stty -echo cols 4000\n")
        self.type("bind 'set bell-style none' 'set enable-bracketed-paste off'\n")
        self.type(". /usr/share/bash-completion/bash_completion\n")
        self.type(f". '{completion}'\n")
        self.type("show() { printf '\\1%s\\1' \"$READLINE_LINE\"; READLINE_LINE=; }\n")
        self.type("bind -x '\"\\C-x\\C-o\": show'\n")
        self.answer("printf '\\1ready\\1'\n")

    def complete(self, line):
        """Inserts all candidates, or their common beginning."""
        if line.endswith("\\t"):
            return self.replaced(line[:-2], "\t")
        return self.replaced(line, "\x1b*")


class Zsh(Shell):
    """zsh, with its completion system."""

    def __init__(self, completion):
        super().__init__(["zsh", "-f", "-i"])
        self.type(f"PS1= PS2= PROMPT_EOL_MARK=; fpath=('{os.path.dirname(completion)}' $fpath)\n")
        self.type("autoload -U compinit && compinit -u -D; stty -echo cols 400 rows 400\n")
        self.type("unsetopt beep list_beep; setopt no_always_last_prompt; LISTMAX=1000\n")
        self.type("show() { printf '\\1%s\\1' \"$BUFFER\"; BUFFER= }; zle -N show\n")
        self.type("bindkey '^X^O' show; bindkey '^D' list-choices\n")
        # Wait until the line editor runs: before that, keys such as Ctrl-D have another meaning.
        self.answer("zle-line-init() { printf '\\1ready\\1' }; zle -N zle-line-init\n")

    def complete(self, line):
        """Completes or prints the list, with single blanks."""
        if not line.endswith("\\l"):
            return self.replaced(line, "\t")
        shown = self.answer(f"{line[:-2]}\x04\x18\x0f")[0]
        return " | ".join(" ".join(entry.split()) for entry in shown.splitlines()[1:]
                          if " -- " in entry)


def main():
    """Runs the given shell."""
    shell = {"bash": Bash, "zsh": Zsh}[sys.argv[1]](os.path.abspath(sys.argv[2]))
    for line in sys.stdin:
        print(shell.complete(line.rstrip("\n")), flush=True)


if __name__ == "__main__":
    main()
