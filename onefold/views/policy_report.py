"""Drafts and checks of policies as text: YAML for onefold.yaml, and lines for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.views.policy_check import DraftedColumn, TablePolicyCheck

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def draft_lines(drafts: Sequence[tuple[TableId, Sequence[DraftedColumn]]]) -> Iterator[str]:
    """Yield the lines of a section `policies`, with the reasons as comments.

    Args:
        drafts: tables with their drafted columns; a table without any is left out.
    """
    yield "policies:"
    for base, columns in drafts:
        if columns:
            yield f"  {_key(f'{base.dataset}.{base.table}')}:"
        for column in columns:
            yield f"    {_key(column.path)}: {column.draft.action}  # {column.draft.reason}"


def check_lines(checked: Sequence[TablePolicyCheck]) -> Iterator[str]:
    """Yield a line for each column that waits for a decision, and one with their number."""
    for one in checked:
        yield from (f"{one.table}: {path} is masked until a policy names it" for path in one.waiting)
    waiting = sum(len(one.waiting) for one in checked)
    if waiting:
        yield f"{counted(waiting, 'column')} of {counted(len(checked), 'table')} to decide: see `onefold policies init`"
    else:
        yield f"{counted(len(checked), 'table')}: every column has a policy"


def _key(text: str) -> str:
    """Return a key of YAML, in quotes where YAML would read something else."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS else json.dumps(text, ensure_ascii=False)
