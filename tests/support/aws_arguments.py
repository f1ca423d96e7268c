"""The arguments of the resources in infra/aws, as the schema of the provider hashicorp/aws 6.62 has them.

aws_arguments.txt has each block by its path, and below it its arguments; a required one ends with `!`. Meta-arguments of
Terraform (`depends_on`, `lifecycle`, `dynamic`) are not of the provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.hcl_text import resources


def _arguments() -> dict[str, str]:
    found: dict[str, str] = {}
    block = ""
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith(" "):
            found[block] += line
        else:
            block = line
            found[block] = ""
    return found


ARGUMENTS = _arguments()
_META = {"count", "depends_on", "for_each"}
_OF_TERRAFORM = {"lifecycle"}


def problems(folder: Path) -> list[str]:
    """Return each argument that a resource of a folder does not have, and each that it has to have and lacks."""
    return [
        problem
        for address, body in resources(folder).items()
        for path, given in _blocks(address.partition(".")[0], body)
        for problem in _problems(address, path, given)
    ]


def _problems(address: str, path: str, given: set[str]) -> Iterator[str]:
    known = ARGUMENTS.get(path)
    if known is None:
        yield f"{address}: there is no block {path}"
        return
    names = {name.rstrip("!") for name in known.split()}
    needed = {name.rstrip("!") for name in known.split() if name.endswith("!")}
    yield from (f"{address}: {path} has no argument {name}" for name in sorted(given - names))
    yield from (f"{address}: {path} lacks {name}" for name in sorted(needed - given))


def _blocks(path: str, body: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the path of each block with its arguments, for text as `terraform fmt` writes it."""
    given: list[tuple[str, set[str]]] = [(path, set())]
    closed: list[tuple[str, set[str]]] = []
    for line in body.splitlines():
        text = line.strip()
        if opened := re.fullmatch(r'(?:dynamic "(\w+)"|(\w+)) \{(\})?', text):
            name = opened[1] or opened[2]
            own = given[-1] if name == "content" else (f"{given[-1][0]}.{name}", set[str]())
            if name not in ("content", *_OF_TERRAFORM):
                given[-1][1].add(name)
            (closed if opened[3] else given).append(own)
        elif text == "}":
            closed.append(given.pop())
        elif (assigned := re.match(r"(\w+) += ", text)) and assigned[1] not in _META:
            given[-1][1].add(assigned[1])
    done = {id(arguments): (path, arguments) for path, arguments in (*closed, *given)}
    return (one for one in done.values() if not one[0].endswith(".lifecycle"))
