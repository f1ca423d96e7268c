"""Hook of MkDocs: the site ships the script that draws its diagrams, so that it works without a network.

The theme loads the script from a server on the internet when a page has a diagram. Without an answer there is no diagram,
and no search on that page.
"""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

SCRIPT = "mermaid.min.js"
# Beside the theme's own script, wherever the page is.
LOCAL = f"""new URL("{SCRIPT}",document.querySelector("script[src*='/javascripts/bundle.']").src).href"""
FROM_OUTSIDE = {
    '"https://unpkg.com/mermaid@11/dist/mermaid.min.js"': LOCAL,
    # For browsers from before 2020: without it the theme measures nothing.
    '"https://unpkg.com/resize-observer-polyfill"': '"data:text/javascript,"',
}
"""What the theme's script loads from outside, and what it loads instead."""


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the script of the package mermaidx into the site, and have the theme load it from there.

    Raises:
        PluginError: the theme loads scripts otherwise than the version that this hook knows.
    """
    (bundle,) = Path(config.site_dir).glob("assets/javascripts/bundle.*.min.js")
    text = bundle.read_text(encoding="utf-8")
    if [address for address in FROM_OUTSIDE if text.count(address) != 1] or text.count("unpkg.com") != len(FROM_OUTSIDE):
        raise PluginError(f"{bundle.name} loads other scripts from outside than docs/mermaid.py knows: adapt the hook")
    for address, instead in FROM_OUTSIDE.items():
        text = text.replace(address, instead)
    bundle.write_text(text, encoding="utf-8")
    with (files("mermaidx") / "assets" / "mermaid.js").open("rb") as script, (bundle.parent / SCRIPT).open("wb") as copy:
        shutil.copyfileobj(script, copy)
