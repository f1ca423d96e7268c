"""Pages in a real Chromium, Debian's, driven by Playwright; and what axe-core finds in them.

Each visit is a context of its own, without a cache. It remembers what the page asks for and what it says in the console.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import resources, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
DESK = {"viewport": {"width": 1280, "height": 900}}
DARK = {**DESK, "color_scheme": "dark"}
_AXE = "axe_playwright_python"


@dataclass
class Visit:
    """A page that is open, what it has asked for, and what it has said in the console, errors of scripts included."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))

    def open(self, file: Path, table: str = "") -> Visit:
        self.page.goto(f"{file.as_uri()}{f'#{table}' if table else ''}")
        return self

    def find(self, selector: str, has_text: str | None = None) -> Locator:
        return self.page.locator(selector, has_text=has_text)

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.find(selector).all_inner_texts()]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    @property
    def active(self) -> str:
        """What a screen reader says of the active cell of the picture."""
        return str(self.run("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
                            "?.getAttribute('aria-label') || document.activeElement.tagName"))  # fmt: skip

    @property
    def nodes(self) -> int:
        return int(self.run("document.querySelectorAll('*').length"))

    @property
    def overflow(self) -> int:
        """The pixels by which the page is wider than the window."""
        return int(self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def violations(self) -> list[str]:
        """Return what axe-core finds against WCAG 2.2 AA and its own best practices: the rule, and the element."""
        script = resources.files(_AXE).joinpath("axe.min.js").read_text("utf-8")
        self.run(script)
        found = self.run("axe.run(document)")
        return [
            f"{one['id']}: {node['html']} {json.dumps(node.get('failureSummary', ''))}"
            for one in found["violations"]
            for node in one["nodes"]
        ]


Visitor = Callable[..., Visit]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole session; it takes a second to start."""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("Chromium is missing: .ci/chromium installs it")
    if not util.find_spec("playwright") or not util.find_spec(_AXE):
        pytest.skip("Playwright or axe-core is missing: make install installs them")
    from playwright.sync_api import sync_playwright

    # Chromium refuses its sandbox to root, as whom containers run.
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visitor]:
    """A function that opens a page; its keywords are those of a context, such as PHONE and DARK."""
    contexts = []

    def open_(file: Path, table: str = "", **how: Any) -> Visit:
        context = browser.new_context(**(how or DESK))
        contexts.append(context)
        return Visit(context.new_page()).open(file, table)

    yield open_
    for context in contexts:
        context.close()
