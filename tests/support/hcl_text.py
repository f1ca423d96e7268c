"""Reads blocks of infra/*.tf as text, where a plan does not show what a block says: `depends_on`, unknown values."""

from __future__ import annotations

import re
from pathlib import Path

_BLOCK = re.compile(r'^(resource|module) ("\w+"(?: "\w+")?) \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r'^((?:module\.\w+(?:\["[^"]*"\])?\.)*)(\w+\.\w+)')


def resources(folder: Path) -> dict[str, str]:
    """The text of every resource by its type and name, of those in modules, too."""
    return dict(_blocks(folder, "resource", "*.tf", "modules/*/*.tf"))


def module_calls(folder: Path) -> dict[str, str]:
    """The text of every call of a module by its address."""
    return {f"module.{name}": body for name, body in _blocks(folder, "module", "*.tf")}


def _blocks(folder: Path, kind: str, *patterns: str) -> list[tuple[str, str]]:
    text = "\n".join(path.read_text() for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [(names.replace('" "', ".").strip('"'), body) for found, names, body in _BLOCK.findall(text) if found == kind]


def place_and_name(address: str) -> tuple[str, str]:
    """The module, and the type and name, of the resource that a text begins with, without the key of its instance."""
    found = _ADDRESS.match(address)
    assert found, address
    return found[1], found[2]


def depends_on(body: str) -> frozenset[str]:
    found = re.search(r"^  depends_on = \[(.*?)\]", body, re.MULTILINE | re.DOTALL)
    return frozenset(re.findall(r"[\w.]+", re.sub(r"#.*", "", found[1]))) if found else frozenset()


def expression(body: str, attribute: str) -> str | None:
    """The only expression that an attribute of that name has in the block."""
    found = re.findall(rf"^ *{attribute} *= (.+)$", body, re.MULTILINE)
    return found[0].strip() if len(found) == 1 else None
