#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""drive.py COMPLETION - types lines into a bash with a terminal, and completes.

Each line of standard input is typed as it is; then readline inserts all
completions of the last word (M-*), or in a line that ends in "\\t" what is
common to them (Tab). What then stands in the place of that word is printed,
a line each line; "-" is what was there before.
"""
import os
import pty
import select
import sys
import time

LIMIT = 60  # seconds for an answer
MARK = "\x01"


class Shell:
    """A bash that waits for keys."""

    def __init__(self, completion):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(PS1="", TERM="dumb", INPUTRC="/dev/null", HISTFILE="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.seen = ""
        # What is typed is seen twice; a mark in the answer alone tells them apart.
        self.type("PS1= PS2=; stty -echo cols 4000\n")
        self.type("bind 'set bell-style none' 'set enable-bracketed-paste off'\n")
        self.type(". /usr/share/bash-completion/bash_completion\n")
        self.type(f". '{completion}'\n")
        self.type("show() { printf '\\1%s\\1' \"$READLINE_LINE\"; READLINE_LINE=; }\n")
        self.type("bind -x '\"\\C-x\\C-o\": show'\n")
        self.answer("printf '\\1ready\\1'\n")

    def type(self, text):
        os.write(self.fd, text.encode())

    def answer(self, text):
        """What stands between two marks after this was typed."""
        self.seen = ""
        self.type(text)
        end = time.monotonic() + LIMIT
        while self.seen.count(MARK) < 2:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise SystemExit(f"no answer to {text!r}: {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return self.seen.split(MARK)[1]

    def complete(self, line):
        """What completion makes of the last word."""
        key = "\x1b*"
        if line.endswith("\\t"):
            line, key = line[:-2], "\t"
        last = line[line.rfind(" ") + 1:]
        found = self.answer(f"{line}{key}\x18\x0f")[len(line) - len(last):].rstrip()
        return "-" if found == last else found


def main():
    shell = Shell(os.path.abspath(sys.argv[1]))
    for line in sys.stdin:
        print(shell.complete(line.rstrip("\n")), flush=True)


if __name__ == "__main__":
    main()
