"""The pages as HTML: one file each, which loads nothing from anywhere.

The policy of the page (Content-Security-Policy) names its own style and script by their digests and forbids everything else,
so that neither a name nor a statement can become code, and nothing can be sent or fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from onefold.changes.page.compact import page_json, time_text
from onefold.changes.page.dataset import DatasetPage

SCRIPTS = ("data.js", "elements.js", "overview.js", "grid.js", "detail.js", "table.js", "print.js", "start.js")
"""The scripts of a page of a dataset, in the order in which they are put together."""
_MARKER = re.compile(r"\{\{(\w+)\}\}")


@cache
def asset(name: str) -> str:
    """Return a file of the page, which is a part of this package."""
    return resources.files("onefold.changes.page").joinpath("assets", name).read_text("utf-8")


def dataset_html(page: DatasetPage) -> str:
    """Return the page of a dataset."""
    script = '"use strict";\n' + "\n".join(asset(name) for name in SCRIPTS)
    data = f'<script type="application/json" id="data">{page_json(page)}</script>'
    return document(
        {
            "title": f"{page.dataset}: tables over time",
            "place": f"{page.project}.{page.dataset}",
            "written": time_text(page.written_at) or "",
        },
        filled(asset("main.html"), {"dataset": html.escape(page.dataset)}),
        script,
        data,
    )


def document(texts: Mapping[str, str], main: str, script: str = "", data: str = "") -> str:
    """Return a whole document.

    Args:
        texts: `title`, `place`, and `written`, a time as `time_text` gives it; not yet escaped.
        main: the content, as HTML.
        script: its script; empty for none.
        data: the data of the script, as an element.
    """
    style = asset("page.css")
    sources = f"style-src {_digest(style)}" + (f"; script-src {_digest(script)}" if script else "")
    written = texts["written"]
    parts = {name: html.escape(text) for name, text in texts.items()}
    parts |= {
        "policy": f"default-src 'none'; {sources}; img-src data:; base-uri 'none'; form-action 'none'",
        "style": style,
        "written_text": f"{written[:10]} {written[11:16]} UTC",
        "main": main,
        "scripts": f"{data}\n<script>{script}</script>" if script else data,
    }
    return filled(asset("page.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a template with its markers replaced, in one pass: a marker in a part is a text as any other.

    Examples:
        >>> filled("<b>{{name}}</b>", {"name": "{{name}}"})
        '<b>{{name}}</b>'
    """
    return _MARKER.sub(lambda match: parts[match[1]], template)


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
