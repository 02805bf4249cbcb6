# SPDX-License-Identifier: GPL-2.0-only
"""Prints results in TAP."""
import sys


class Tap:
    """Prints results, and the progress on a terminal."""

    def __init__(self):
        self.done = self.failed = 0
        self.is_terminal = sys.stderr.isatty()
        print("TAP version 13", flush=True)

    def result(self, passed, what, why=""):
        self.done += 1
        self.failed += not passed
        self.progress("")
        print(f"{'' if passed else 'not '}ok {self.done} - {what}", flush=True)
        if not passed and why:
            self.tell(why)

    def tell(self, text):
        self.progress("")
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def progress(self, text):
        if self.is_terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def finish(self):
        self.progress("")
        print(f"1..{self.done}", flush=True)
        return 1 if self.failed else 0
