"""References between variables, locals and resources of a folder of Terraform, read as text as `terraform fmt` writes it.

What `terraform validate` would find needs the provider: names that nothing has, and circles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_BLOCK = re.compile(r'^(resource|variable|output|locals)((?: "\w+")*) \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_LOCAL = re.compile(r"^  (\w+) += ", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.\"-])((?:var|local)\.\w+|aws_\w+\.\w+)")
_COMMENT = re.compile(r"^ *#.*$|(?<=[^\w\"])#[^\"{}\n]*$", re.MULTILINE)


def references(folder: Path) -> dict[str, set[str]]:
    """Return, by the address of each variable, local, resource and output, the addresses that it names."""
    text = _COMMENT.sub("", "\n".join(path.read_text() for path in sorted(folder.glob("*.tf"))))
    return {
        address: set(_NAME.findall(body)) - ({address} if address.startswith("var.") else set())
        for kind, names, block in _BLOCK.findall(text)
        for address, body in _addresses(kind, names.replace('"', "").split(), block)
    }


def _addresses(kind: str, names: list[str], block: str) -> Iterator[tuple[str, str]]:
    if kind == "locals":
        starts = list(_LOCAL.finditer(block))
        ends = [*(start.start() for start in starts[1:]), len(block)]
        yield from ((f"local.{start[1]}", block[start.end() : end]) for start, end in zip(starts, ends, strict=True))
    else:
        prefix = {"variable": "var.", "output": "output.", "resource": ""}[kind]
        yield prefix + ".".join(names), block


def unknown_names(found: Mapping[str, set[str]]) -> set[str]:
    """Return the addresses that are named and that nothing has."""
    return {name for names in found.values() for name in names if name not in found}


def circle(found: Mapping[str, set[str]]) -> list[str]:
    """Return addresses each of which needs the next one, and the last one the first; none where there is no circle."""
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        return [str(one) for one in error.args[1]]
    return []
