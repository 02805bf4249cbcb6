# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Contains the parts of scripts/man-pages, which read the sources of manual pages and write
the pages.

A text is a list of nodes:

    ("section", TITLE)  ("subsection", TITLE)
    ("para", TEXT)                      TEXT has reST's inline markup
    ("plain", TEXT)                     TEXT has no markup
    ("code", LINES)
    ("bullets", [NODES, ...])
    ("terms", [(TERM, NODES), ...])     TERM has inline markup, too
    ("groff", LINES)                    LINES are copied as they are
"""
