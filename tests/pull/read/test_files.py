"""The names of pulled files on disk: one folder for each window, the schema of each version, and no name twice."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from support.pulls import PullScene, by
from support.source_database import SourceDatabase

from onefold.settings.sources import TableLoad

AT = datetime(2026, 5, 4, 4, 15, tzinfo=UTC)


def names(folder: Path, part: str) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name.startswith(part))


def test_each_window_has_a_folder_of_its_own(source: SourceDatabase, tmp_path: Path) -> None:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME NULL, KEY (at))",
        "INSERT INTO t VALUES (1, '2026-05-03 10:00:00')",
    )
    scene = PullScene(source, tmp_path, {"t": by("at")})
    table = f"json/fraud/{source.name}/t"
    for window in ("15m", "15m", "day", "full"):
        assert scene.pull(window).run().count("loaded") == 1  # each 15 minutes later
    data = [name for name in names(tmp_path, "json/") if re.search(r"/\d{8}/\d{14}_\d+\.json$", name)]
    assert data == [
        f"{table}/first/20260504/20260504041500_0.json",
        f"{table}/full/20260504/20260504050000_0.json",
        f"{table}/partition/15m/20260504/20260504043000_0.json",
        f"{table}/partition/1d/20260504/20260504000000_0.json",
    ]


def test_a_repeated_pull_never_writes_under_a_name_that_is_taken(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME NULL)", "INSERT INTO t VALUES (1, '2026-05-03 10:00:00')")
    scene = PullScene(source, tmp_path, {"t": by("at")})
    scene.rows()
    contents: dict[str, bytes] = {}
    for number in range(3):
        source.run(f"INSERT INTO t VALUES ({number + 2}, '2026-05-03 10:00:00')")
        scene.loads.pulled = scene.loads.pulled[:1]  # as if the process had died before its load
        scene.rows(at=AT.replace(minute=45))
        found = {name: (tmp_path / name).read_bytes() for name in names(tmp_path, "json/")}
        assert contents.items() <= found.items()
        contents = found
    folder = f"json/fraud/{source.name}/t/partition/15m/20260504/"
    assert names(tmp_path, folder) == [f"{folder}20260504044500_{number}.json" for number in range(3)]


def test_the_schema_of_each_version_is_stored_once(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), pan TEXT)")
    scene = PullScene(source, tmp_path, {"t": TableLoad(drop=("pan",))})
    scene.pull("full").run()
    source.run("ALTER TABLE t ADD COLUMN é DECIMAL(9,2)")
    for _ in range(2):
        scene.pull("full").run()
    found = {Path(name).stem: json.loads((tmp_path / name).read_text()) for name in names(tmp_path, "schemas/")}
    assert set(names(tmp_path, "schemas/")) == {f"schemas/fraud/{source.name}/t/{version}.json" for version in found}
    versions = list(dict.fromkeys(pulled.version for pulled in scene.loads.pulled))
    assert set(versions) == found.keys()
    assert len(versions) == 2
    old, new = (found[version] for version in versions)
    assert (old["table"], old["version"]) == (f"fraud_{source.name}.t", versions[0])
    types = {column["name"]: column["type"] for column in old["columns"]}
    assert (types["id"], types["name"], types["_day"], types["_landed_at"]) == ("INT64", "STRING", "DATE", "TIMESTAMP")
    assert "pan" not in json.dumps(old)
    assert [column["name"] for column in new["source"]["columns"]] == ["id", "name", "é"]
