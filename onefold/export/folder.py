"""Generated files in a folder that people write into, too: no file of theirs is overwritten or removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onefold.core.errors import InvalidInput

Action = Literal["create", "update", "none", "remove"]


@dataclass(frozen=True)
class FileChange:
    """What becomes of a file.

    Attributes:
        file: its path in the folder.
        action: `none` where it has its text already.
        text: what it is to hold; empty where it is removed.
    """

    file: str
    action: Action
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {"file": self.file, "action": self.action}


def plan_files(
    folder: Path, texts: Mapping[str, str], mark: str, owned: Iterable[str] = (), shared: Collection[str] = ()
) -> list[FileChange]:
    """Return what has to become of each file, in the order of their paths.

    Args:
        folder: the folder; it need not exist.
        texts: the text of each file, by its path in the folder.
        mark: is in the first line of each file that was generated.
        owned: folders in it whose generated files are removed where they have no text any more.
        shared: files that stay as they are where somebody else wrote them.

    Raises:
        InvalidInput: files that somebody else wrote are in the way; the error lists all of them.
    """
    changes = [_change(folder, file, text, mark) for file, text in texts.items()]
    foreign = [file for (file, _), change in zip(texts.items(), changes, strict=True) if change is None]
    if problems := [_in_the_way(folder / file) for file in foreign if file not in shared]:
        raise InvalidInput(problems)
    removed = (FileChange(file, "remove") for file in _generated(folder, owned, mark) if file not in texts)
    return sorted([*(change for change in changes if change), *removed], key=lambda change: change.file)


def apply_files(folder: Path, changes: Iterable[FileChange]) -> None:
    """Write and remove files."""
    for change in changes:
        path = folder / change.file
        if change.action == "remove":
            path.unlink(missing_ok=True)
        elif change.action != "none":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(change.text, encoding="utf-8", newline="\n")


def _change(folder: Path, file: str, text: str, mark: str) -> FileChange | None:
    """Return what becomes of a file; None where somebody else wrote it."""
    path = folder / file
    if not path.exists():
        return FileChange(file, "create", text)
    if not _is_generated(path, mark):
        return None
    return FileChange(file, "none" if path.read_bytes() == text.encode() else "update", text)


def _is_generated(path: Path, mark: str) -> bool:
    return path.is_file() and mark.encode() in path.read_bytes().partition(b"\n")[0]


def _generated(folder: Path, owned: Iterable[str], mark: str) -> Iterator[str]:
    for path in (path for name in owned for path in (folder / name).rglob("*")):
        if _is_generated(path, mark):
            yield path.relative_to(folder).as_posix()


def _in_the_way(path: Path) -> str:
    return f"{path} exists, and this command did not write it: move it away, or name another folder with --output"
