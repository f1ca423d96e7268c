"""Reads blocks of infra/*.tf as text, where a plan does not show what a block says: `depends_on`, unknown values."""

from __future__ import annotations

import re
from pathlib import Path


def resources(folder: Path) -> dict[str, str]:
    """The text of every resource by its address."""
    text = "\n".join(path.read_text() for path in sorted(folder.glob("*.tf")))
    found = re.findall(r'^resource "(\w+)" "(\w+)" \{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL)
    return {f"{type_}.{name}": body for type_, name, body in found}


def depends_on(body: str) -> frozenset[str]:
    found = re.search(r"^  depends_on = \[(.*?)\]", body, re.MULTILINE | re.DOTALL)
    return frozenset(re.findall(r"[\w.]+", re.sub(r"#.*", "", found[1]))) if found else frozenset()


def expression(body: str, attribute: str) -> str | None:
    """The only expression that an attribute of that name has in the block."""
    found = re.findall(rf"^ *{attribute} *= (.+)$", body, re.MULTILINE)
    return found[0].strip() if len(found) == 1 else None
