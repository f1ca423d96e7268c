"""The core of capture connects to nothing: only the adapters import a client."""

from __future__ import annotations

from pathlib import Path

from test_architecture import imports

FOLDER = Path(__file__).resolve().parents[2] / "onefold" / "capture"
CLIENTS = {"pymysql", "pymysqlreplication"}
ADAPTERS = {
    "server", "binlog", "information_schema", "server_checks", "table_checks", "rights", "vantage", "snapshot", "source",
}  # fmt: skip


def test_only_the_adapters_import_a_client() -> None:
    using = {path.stem for path in FOLDER.glob("*.py") if {name.split(".")[0] for name in imports(path)} & CLIENTS}
    assert using <= ADAPTERS
