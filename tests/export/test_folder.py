"""Generated files in a folder of people: theirs stay, ours follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidInput
from onefold.export.folder import FileChange, apply_files, plan_files

MARK = "generated"
TEXTS = {"a/one.sql": "-- generated\n1\n", "project.yml": "# generated\n"}


def planned(folder: Path, texts: dict[str, str] = TEXTS) -> dict[str, str]:
    changes = plan_files(folder, texts, MARK, owned=["a"], shared=["project.yml"])
    return {change.file: change.action for change in changes}


def written(folder: Path) -> Path:
    apply_files(folder, plan_files(folder, TEXTS, MARK))
    return folder


def test_files_are_created_with_their_folders_and_then_are_as_they_have_to_be(tmp_path: Path) -> None:
    assert planned(tmp_path / "new") == {"a/one.sql": "create", "project.yml": "create"}
    folder = written(tmp_path / "new")
    assert (folder / "a" / "one.sql").read_text() == TEXTS["a/one.sql"]
    assert planned(folder) == {"a/one.sql": "none", "project.yml": "none"}


def test_a_generated_file_with_another_text_is_updated_and_one_without_a_text_removed(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert planned(folder, {"a/two.sql": "-- generated\n"}) == {"a/one.sql": "remove", "a/two.sql": "create"}
    (folder / "a" / "one.sql").write_text("-- generated\nedited\n")
    assert planned(folder)["a/one.sql"] == "update"
    apply_files(folder, [FileChange("a/one.sql", "remove")])
    assert not (folder / "a" / "one.sql").exists()


def test_files_of_others_are_named_together_and_nothing_is_planned(tmp_path: Path) -> None:
    for name in ("a.sql", "b.sql"):
        (tmp_path / name).write_text("select 1 -- generated, it says, but not in the first\n".replace("-- g", "\n-- g"))
    with pytest.raises(InvalidInput) as refused:
        plan_files(tmp_path, {"a.sql": "-- generated", "b.sql": "-- generated"}, MARK)
    assert [line.split(" ")[0] for line in str(refused.value).splitlines()] == [
        str(tmp_path / "a.sql"),
        str(tmp_path / "b.sql"),
    ]


def test_a_shared_file_of_others_stays_and_so_do_their_files_in_our_folders(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "project.yml").write_text("name: theirs\n")
    (tmp_path / "a" / "theirs.sql").write_text("select 1\n")
    assert planned(tmp_path) == {"a/one.sql": "none"}


def test_a_folder_in_the_place_of_a_file_is_of_others(tmp_path: Path) -> None:
    (tmp_path / "a.sql").mkdir()
    with pytest.raises(InvalidInput, match="did not write it"):
        plan_files(tmp_path, {"a.sql": "-- generated"}, MARK)
