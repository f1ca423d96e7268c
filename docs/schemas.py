"""Hook of MkDocs: the JSON Schemas of onefold.yaml and access.yaml, as tables in the pages and as files of the site.

A line `<!-- keys: settings/onefold.schema.json#/definitions/table -->` of a page becomes the table of the keys that the
rule at that place of the schema names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import reduce

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from onefold.access.policy import SCHEMA as ACCESS
from onefold.settings.checked_form import SCHEMA as ONEFOLD
from onefold.settings.schema_check import Schema, expected, load_schema, resolved

_LINE = re.compile(r"^<!-- keys: ([\w/.]+)#(/?[\w/]*) -->$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the schemas to the site, in `reference/schemas/`."""
    for name in (ONEFOLD, ACCESS):
        place = f"reference/schemas/{name.rpartition('/')[2]}"
        files.append(File.generated(config, place, content=json.dumps(load_schema(name), indent=2, ensure_ascii=False)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 MkDocs' names
    """Return the text of a page with the tables of keys.

    Raises:
        PluginError: a line names a place that the schema does not have.
    """
    try:
        return _LINE.sub(lambda found: table(found[1], found[2]), markdown)
    except KeyError as error:
        raise PluginError(f"{page.file.src_uri}: a schema has no {error}: correct the line `<!-- keys: -->`") from error


def table(name: str, place: str) -> str:
    """Return the table of the keys of a mapping.

    Args:
        name: the schema, as `settings/onefold.schema.json`.
        place: the place of the rule of the mapping, as `/definitions/table`; empty for the whole file.
    """
    schema = load_schema(name)
    rule = reduce(lambda part, step: part[step], place.split("/")[1:], schema)
    return "\n".join(("| key | value | default | meaning |", "|---|---|---|---|", *_rows(rule["properties"], schema)))


def _rows(properties: Schema, schema: Schema) -> Iterator[str]:
    for key, one in properties.items():
        rule = resolved(one, schema)
        default = f"`{json.dumps(rule['default'])}`".replace('"', "") if "default" in rule else ""
        # Braces at the end of a cell would be attributes of it.
        yield f"| `{key}` | {expected(rule).replace('{', '&#123;')} | {default} | {rule['description']} |"
