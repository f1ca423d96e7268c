"""A plan as lines: `address attribute = value` for each value that infra/ gives, as in tests/infra/everything.txt.

Only what infra/ says is compared, and not what Google would choose. What a plan does not show is taken from the text:
`lifecycle`, commands, `depends_on`, and expressions with values that are not known yet. So there is a line for whatever a
resource says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.hcl_text import depends_on, module_calls, place_and_name, resources
from support.terraform import Plan, Terraform

# The state of the code: each change of a job or a function has another digest, which `test_everything` computes.
_CODE = re.compile(r"(spark/)[0-9a-f]{16}|(functions/)[0-9a-f]{64}")
_SAID = re.compile(r"^  (?:lifecycle|provisioner \"[\w-]+\") \{\n.*?^  \}", re.MULTILINE | re.DOTALL)
_ASSIGNED = re.compile(r"^( +)(\w+) += (.+(?:\n\1[ \])}].*)*)", re.MULTILINE)
_LONG = 600
"""A longer text, the dashboard, is compared by its digest."""


def lines(plan: Plan, terraform: Terraform) -> list[str]:
    """Return the lines of a plan, sorted by address."""
    blocks = resources(terraform.folder)
    managed = [change for change in plan.changes if change["mode"] == "managed"]
    found = [line for change in managed for line in _resource(change, blocks[f"{change['type']}.{change['name']}"])]
    found += [line for name, body in blocks.items() for line in (*_said(name, body), *_unseen(name, body, found))]
    ordered = {**blocks, **module_calls(terraform.folder)}.items()
    found += [f"{name}: depends_on = [{', '.join(sorted(after))}]" for name, body in ordered if (after := depends_on(body))]
    found += [line for name, change in plan.outputs.items() for line in _output(f"output.{name}", change.get("after"))]
    return sorted(_CODE.sub(lambda code: f"{code[1] or code[2]}<code>", line) for line in found)


def addresses(one: Sequence[str], other: Sequence[str]) -> set[str]:
    """Return the resources and outputs whose lines differ, without the keys of their instances."""
    return {_subject(line) for line in set(one) ^ set(other)}


def _subject(line: str) -> str:
    return re.split(r"[\[ :]", line, maxsplit=1)[0] if line.startswith("output.") else "".join(place_and_name(line))


def _resource(change: Mapping[str, Any], body: str) -> Iterator[str]:
    names = _names(body)
    for name, value in change["change"]["after"].items():
        if name in names:
            yield from _values(f"{change['address']} {name}", value, names)


def _names(body: str) -> frozenset[str]:
    """The attributes and blocks that a resource names."""
    return frozenset(re.findall(r'^ *(?:dynamic ")?(\w+)"?(?: *=| \{)', body, re.MULTILINE))


def _values(path: str, value: Any, names: frozenset[str]) -> Iterator[str]:
    """Yield a line for each value below a path; of a block, only those that the text names."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _values(f"{path}.{name}", one, names)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value):
            inner = {name: found for name, found in one.items() if name in names}
            yield from _values(f"{path}[{number}]", inner, names) if inner else [f"{path}[{number}] = {{}}"]
    elif value not in (None, []):
        text = json.dumps(_readable(path, value), ensure_ascii=False, sort_keys=True)
        yield f"{path} = {text if len(text) <= _LONG else hashlib.sha256(text.encode()).hexdigest()}"


def _output(path: str, value: Any) -> Iterator[str]:
    """Yield a line for each value of an output; lists have no numbers, so that one more grant is one more line."""
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from _output(f"{path}.{name}", one)
    for one in value if isinstance(value, list) else [] if isinstance(value, dict) else [value]:
        yield f"{path} = {json.dumps(one, ensure_ascii=False, sort_keys=True)}"


def _readable(path: str, value: Any) -> Any:
    """The message of a schedule is base64."""
    return json.loads(base64.b64decode(value)) if path.endswith("pubsub_target[0].data") else value


def _said(name: str, body: str) -> Iterator[str]:
    for found in _SAID.findall(body):
        without = re.sub(r"^ *#.*$", "", found, flags=re.MULTILINE)
        yield f"{name}: {' '.join(without.split())}"


def _unseen(name: str, body: str, found: list[str]) -> Iterator[str]:
    """Yield what a resource assigns to attributes that no line of the plan has."""
    known = (line for line in found if place_and_name(line)[1] == name and "null" not in line)
    seen = {word for line in known for word in re.findall(r"\w+", line)}
    for _, attribute, expression in _ASSIGNED.findall(_SAID.sub("", body)):
        if attribute not in seen | {"for_each", "count", "depends_on"}:
            yield f"{name}: {attribute} = {' '.join(re.sub(r'#.*', '', expression).split())}"
