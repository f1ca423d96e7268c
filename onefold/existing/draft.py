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
# Drafted by `onefold discover` from the metadata of {dataset}. Nothing was changed. Read it, and correct it: each command
# checks it. `onefold refresh '{dataset}.*'` writes the views, into a dataset of their own: docs/how-to/existing-dataset.md.
"""
_NO_KEY = "keys: [COLUMN]   # the columns that identify a row"


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
    settings, name = list(_settings(one)), json.dumps(f"{one.id.dataset}.{one.id.table}", ensure_ascii=False)
    mark = "" if settings else "# "
    lines = [*settings, *([f"{'# ' if settings else ''}{_NO_KEY}"] if _lacks_key(one) else [])]
    body = [f"  {mark}{name}:", *(f"  {mark}  {line}" for line in lines)] if lines else []
    return "\n".join(["", *(f"  # {line}" for line in _comments(one)), *body]), bool(settings)


def _comments(one: Discovered) -> Iterator[str]:
    found = one.found
    yield _one_line(
        f"{one.id.table}: {found.tool}, {found.form}: {found.rows}. {found.confidence.capitalize()}: {found.why}."
    )
    yield from (_one_line(f"{note[:1].upper()}{note[1:]}.") for note in found.notes)
    if found.rows == "current" and found.confidence != "guess" and not _is_of_tool(one):
        yield "The table is current already: its rows need no view to be the latest."
    yield from (_one_line(f"onefold.yaml cannot name it: {problem}.") for problem in problems_of_name("table", one.id.table))
    for column, variants in found.variants.items():
        yield _one_line(f"{column} is also in {', '.join(variants)}: the views unite them.")


def _settings(one: Discovered) -> Iterator[str]:
    """Yield the settings that the views of the table need."""
    found, check = one.found, "" if one.found.confidence == "certain" else "   # check "
    if problems_of_name("table", one.id.table):
        return
    if _is_of_tool(one):
        yield f"tool: {json.dumps(found.tool, ensure_ascii=False)}"
        yield f"rows: {found.rows}" + (check and f"{check}this: history, or current where each key has one row")
    if found.rows == "history" and found.key:
        yield f"keys: {_listed(found.key)}" + (check and f"{check}these")
    if found.rows == "history" and found.order_by and found.tool == "plain":
        yield f"order_by: {_listed(found.order_by)}" + (
            check and f"{check}this: the latest row of a key has the greatest value"
        )


def _is_of_tool(one: Discovered) -> bool:
    """Return whether a tool writes the table in a form of its own; Datastream's is that of Onefold's change tables."""
    return one.found.tool != "plain" and not has_metadata(one.table.columns)


def _lacks_key(one: Discovered) -> bool:
    """Return whether somebody has to name the key before the table can have a current view, or be checked by its key."""
    needs_one = one.found.rows == "history" or not _is_of_tool(one)
    return needs_one and not one.found.key and not one.found.active


def _listed(names: Iterable[str]) -> str:
    # JSON is YAML: names that YAML would read as something else are quoted.
    return json.dumps(list(names), ensure_ascii=False)


def _one_line(text: str) -> str:
    """Return a text on one line: a name with a line break must not end a comment."""
    return " ".join(text.split())
