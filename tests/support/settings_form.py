"""onefold.yaml with its checked form, as the command writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onefold.settings.checked_form import form_of
from onefold.settings.checking import checked_text


def write_settings(folder: Path, text: str) -> None:
    """Write onefold.yaml and its checked form."""
    path = folder / "onefold.yaml"
    path.write_text(text)
    form_of(path).write_text(checked_text(path))


@contextmanager
def settings_in(folder: Path, text: str) -> Iterator[None]:
    """Both files, as long as the block runs."""
    write_settings(folder, text)
    try:
        yield
    finally:
        (folder / "onefold.yaml").unlink()
        form_of(folder / "onefold.yaml").unlink()
