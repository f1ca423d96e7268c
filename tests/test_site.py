"""The site of the documentation loads nothing from outside, and is not built with mistakes. `make docs` builds all of it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import material
import pytest

from onefold.access.policy import SCHEMA as ACCESS
from onefold.settings.checked_form import SCHEMA as ONEFOLD
from onefold.settings.schema_check import load_schema

ROOT = Path(__file__).parents[1]


def copied(folder: Path) -> Path:
    """A copy of what the site is built from, without the reference of the Python API, which takes most of the time."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "README.md"):
        shutil.copy(ROOT / name, folder)
    (folder / "docs" / "reference" / "python-api.md").write_text("# Python API\n")
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = copied(tmp_path_factory.mktemp("site"))
    done = build(site)
    assert done.returncode == 0, done.stdout + done.stderr
    return site / "build" / "site"


def build(site: Path) -> subprocess.CompletedProcess[str]:
    (command,) = re.findall(r"\$\(BIN\)/mkdocs (.+)", (ROOT / "Makefile").read_text())
    arguments = [sys.executable, "-m", "mkdocs", *command.split()]
    return subprocess.run(arguments, cwd=site, capture_output=True, text=True, check=False)


def test_the_site_has_the_diagrams_and_no_code(built: Path) -> None:
    assert '<pre class="mermaid">' in (built / "index.html").read_text()
    assert not list(built.rglob("*.py"))


# Addresses in the theme's scripts that are asked for a repository, which mkdocs.yml does not name.
NEVER_ASKED = {"api.github.com", "$"}


class Loaded(HTMLParser):
    """The addresses that a page loads when it is opened; links to other sites are no part of these."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in ("a", "link") or (tag == "link" and given.get("rel") not in ("canonical", "next", "prev")):
            values = (given.get(name) for name in ("src", "srcset", "href", "data", "action"))
            self.addresses += [value for value in values if value and tag != "a"]


def test_the_site_loads_nothing_from_outside(built: Path) -> None:
    outside = re.compile(r"(?:https?:)?//[^/]")
    for page in built.rglob("*.html"):
        loaded = Loaded(page.read_text()).addresses
        assert any("javascripts/bundle." in address for address in loaded), page
        assert not [address for address in loaded if outside.match(address)], page
    for sheet in built.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text()), sheet
    (drawing,) = built.glob("assets/javascripts/mermaid.min.js")
    for script in set(built.rglob("*.js")) - {drawing}:
        assert set(re.findall(r"[\"'`]https?://([\w.$-]+)", script.read_text())) <= NEVER_ASKED, script


def test_diagrams_are_drawn_by_a_script_of_the_site(built: Path) -> None:
    (bundle,) = built.glob("assets/javascripts/bundle.*.js")
    text = bundle.read_text()
    (script,) = re.findall(r'typeof mermaid=="undefined"\|\|mermaid instanceof Element\?\w+\(new URL\("([\w.]+)"', text)
    drawing = (bundle.parent / script).read_text()
    assert drawing.startswith('"use strict";var __esbuild_esm_mermaid_nm')
    # It loads nothing in turn: what it imports is in the file.
    assert not re.findall(r"(?:unpkg|jsdelivr|cdnjs|importScripts\(|import\([\"'`])", drawing)


def test_the_reference_has_every_key_of_the_schemas_and_the_schemas_themselves(built: Path) -> None:
    reference = built / "reference"
    for name, page in ((ONEFOLD, "onefold-yaml.html"), (ACCESS, "access-yaml.html")):
        assert json.loads((reference / "schemas" / Path(name).name).read_text()) == load_schema(name)
        shown = set(re.findall(r"<tr>\s*<td><code>(\w+)</code></td>", (reference / page).read_text()))
        assert {"onefold-yaml.html": {"keys", "port", "ca", "watermark", "hash_key", "mask"}}.get(page, {"role"}) <= shown
    assert "a column, or {column: NAME, from: unix_seconds}" in html.unescape((reference / "onefold-yaml.html").read_text())


def test_a_table_of_keys_that_no_schema_has_fails_the_build(site: Path) -> None:
    with (site / "docs" / "index.md").open("a") as page:
        page.write("\n<!-- keys: settings/onefold.schema.json#/definitions/nothing -->\n")
    done = build(site)
    assert (done.returncode, "correct the line" in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr


@pytest.mark.long
def test_a_theme_that_loads_other_scripts_fails_the_build(site: Path) -> None:
    theme = site / "theme" / "assets" / "javascripts"
    theme.mkdir(parents=True)
    (bundle,) = (Path(material.__file__).parent / "templates" / "assets" / "javascripts").glob("bundle.*.min.js")
    (theme / bundle.name).write_text(bundle.read_text().replace("mermaid@11", "mermaid@12"))
    settings = (site / "mkdocs.yml").read_text()
    (site / "mkdocs.yml").write_text(settings.replace("  name: material\n", "  name: material\n  custom_dir: theme\n"))
    done = build(site)
    assert (done.returncode, "adapt the hook" in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr


@pytest.mark.long
def test_broken_links_and_a_page_that_is_missing_in_the_navigation_fail_the_build(site: Path) -> None:
    with (site / "docs" / "index.md").open("a") as page:
        page.write("\n[nowhere](no-such-page.md)\n\n[nowhere](glossary.md#no-such-anchor)\n")
    (site / "docs" / "how-to" / "forgotten.md").write_text("# Forgotten\n")
    done = build(site)
    shown = done.stdout + done.stderr
    named = [name in shown for name in ("no-such-page.md", "no-such-anchor", "how-to/forgotten.md")]
    assert (done.returncode, named) == (1, [True] * 3), shown


def test_a_file_that_is_to_be_included_and_is_not_there_fails_the_build(site: Path) -> None:
    with (site / "docs" / "index.md").open("a") as page:
        page.write('\n--8<-- "NO-SUCH-FILE.md"\n')
    done = build(site)
    assert (done.returncode, "NO-SUCH-FILE.md" in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr
