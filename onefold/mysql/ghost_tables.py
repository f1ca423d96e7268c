"""The tables that tools for online schema changes make: gh-ost and pt-online-schema-change.

Each is built beside the table that it replaces, and the names say which one. Sources: gh-ost, "Cut-over",
https://github.com/github/gh-ost/blob/master/doc/cut-over.md, and Percona Toolkit, "pt-online-schema-change",
https://docs.percona.com/percona-toolkit/pt-online-schema-change.html, 2026-11.
"""

from __future__ import annotations

import re

_GHOST = re.compile(r"_(.+)_(?:gho|ghc|del|new|old)", re.DOTALL)
_TIME = re.compile(r"_\d{14}\Z")
"""gh-ost's `--timestamp-old-table` puts a time before the last part of the name."""


def originals(table: str) -> tuple[str, ...]:
    """Return the tables that a ghost table may stand for; none for any other table.

    pt-online-schema-change puts more underscores in front where a name is taken, so a table may stand for several.

    Examples:
        >>> originals("_customer_gho"), originals("__customer_new"), originals("customer")
        (('customer',), ('_customer', 'customer'), ())
    """
    match = _GHOST.fullmatch(table)
    if match is None:
        return ()
    found = [match[1]]
    while found[-1].startswith("_") and found[-1] != "_":
        found.append(found[-1][1:])
    return tuple(dict.fromkeys(name for one in found for name in (one, _TIME.sub("", one)) if name))
