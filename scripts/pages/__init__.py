# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What manual pages are made from, and how; see scripts/man-pages.

A text is a list of nodes:

    ("section", TITLE)  ("subsection", TITLE)
    ("para", TEXT)                      TEXT has reST's inline markup
    ("plain", TEXT)                     without any
    ("code", LINES)
    ("bullets", [NODES, ...])
    ("terms", [(TERM, NODES), ...])     TERM has inline markup, too
    ("groff", LINES)                    as it is
"""
