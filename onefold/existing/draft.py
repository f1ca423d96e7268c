"""A draft of onefold.yaml for tables that other tools have written: what is known is written, the rest is a comment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from onefold.changelog.metadata import has_metadata
from onefold.core.names import problems_of_name
from onefold.existing.discover import Discovered
from onefold.settings.schema_check import modeline

_HEAD = """\
{modeline}
# Drafted by `onefold discover` from the metadata of {dataset}. Read it, correct it, then run `onefold settings check`.
# Nothing was changed. docs/how-to/existing-dataset.md says what to do with it.
"""


def draft(dataset: str, found: Sequence[Discovered]) -> str:
    """Return the text of the file.

    Args:
        dataset: the name of the dataset.
        found: its tables.
    """
    entries = [one for one in found if one.found.rows != "own"]
    own = [one for one in found if one.found.rows == "own"]
    lines = [_HEAD.format(modeline=modeline("settings/onefold.schema.json"), dataset=dataset)]
    written = [_entry(one) for one in entries]
    lines += ["tables:" if any(has_entry for _, has_entry in written) else "tables: {}", *(text for text, _ in written)]
    if own:
        lines.append("\n# Kept by the tools for themselves:\n" + "\n".join(f"#   {one.id.table}" for one in own))
    return "\n".join(lines) + "\n"


def _entry(one: Discovered) -> tuple[str, bool]:
    """Return the lines of a table, and whether one of them is a setting."""
    settings = list(_settings(one))
    name = json.dumps(f"{one.id.dataset}.{one.id.table}", ensure_ascii=False)
    head = [f"  # {line}" for line in _comments(one)]
    if settings:
        return "\n".join(["", *head, f"  {name}:", *(f"    {line}" for line in settings)]), True
    missing = "" if one.found.key else f"\n  # {name}:\n  #   keys: [COLUMN]   # the columns that identify a row"
    return "\n".join(["", *head]) + missing, False


def _comments(one: Discovered) -> Iterator[str]:
    found = one.found
    yield _one_line(
        f"{one.id.table}: {found.tool}, {found.form}: {found.rows}. {found.confidence.capitalize()}: {found.why}."
    )
    yield from (_one_line(f"{note[:1].upper()}{note[1:]}.") for note in found.notes)
    if found.rows == "history" and _needs_query(one):
        yield "onefold.yaml cannot say its order or deletions: `onefold discover --json` has a query of the present rows."
    if found.rows == "current" and found.confidence != "guess":
        yield "The table is current already: its rows need no view to be the latest."
    yield from (_one_line(f"onefold.yaml cannot name it: {problem}.") for problem in problems_of_name("table", one.id.table))
    for column, variants in found.variants.items():
        yield _one_line(f"{column} is also in {', '.join(variants)}: the query of `--json` unites them.")


def _settings(one: Discovered) -> Iterator[str]:
    """Yield the settings that a view of the table needs; none for a table that is current already."""
    found = one.found
    if found.rows != "history" or not found.key or _needs_query(one) or problems_of_name("table", one.id.table):
        return
    yield f"keys: {_listed(found.key)}" + ("" if found.confidence == "certain" else "   # check these")
    if found.order_by:
        yield f"order_by: {_listed(found.order_by)}"


def _needs_query(one: Discovered) -> bool:
    """Return whether keys and columns alone do not tell the present rows, as they do for Datastream's own metadata."""
    found = one.found
    if has_metadata(one.table.columns) and found.order and found.key_change:
        return False
    return bool(found.active or found.deleted or found.image or found.newest or not found.order_by)


def _listed(names: Iterable[str]) -> str:
    # JSON is YAML: names that YAML would read as something else are quoted.
    return json.dumps(list(names), ensure_ascii=False)


def _one_line(text: str) -> str:
    """Return a text on one line: a name with a line break must not end a comment."""
    return " ".join(text.split())
