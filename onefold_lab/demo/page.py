"""The page at the end of the tour: what the demo has shown, as a static page for each dataset."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from onefold.adapters.folder_objects import FolderObjects
from onefold.changes.page.index import file_name
from onefold.changes.page.write import write_pages
from onefold.inventory.page_source import read_page
from onefold.settings.environment import Settings


def show_page(console: Console, warehouse: Any, dataset: str) -> Path:
    """Write the page of the dataset into a new folder, say where it is, and open it where there is a screen.

    Args:
        console: where the address is printed; a page is opened only if it is a terminal.
        warehouse: the embedded BigQuery.
        dataset: the dataset of the tour.

    Returns:
        The file of the page.
    """
    folder = Path(tempfile.mkdtemp(prefix="onefold-demo-"))
    now = datetime.now(UTC)
    write_pages(FolderObjects(folder), str(folder), [read_page(warehouse, dataset, Settings(), now=now)], [], now)
    page = folder / file_name(dataset)
    console.print(f"[bold]As a page:[/] {page.as_uri()}", highlight=False, soft_wrap=True)
    if console.is_terminal and has_screen():
        webbrowser.open(page.as_uri())
    return page


def has_screen() -> bool:
    """Return whether a browser with windows can open: one in the terminal would take the place of the demo."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
