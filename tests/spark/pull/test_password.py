"""The password is in no event log, property, page of Spark's user interface, plan, argument of a process, log or file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.pull_job import PASSWORD, USER, create_user, submit_arguments
from support.python_process import ROOT, run_python
from support.source_database import SourceDatabase

LOG4J = """
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n%ex
logger.workers.name = org.apache.spark.api.python
logger.workers.level = trace
"""
"""More than a cluster logs: all that Spark may say about a task and its worker."""


def watched(source: SourceDatabase, folder: Path, password: str = PASSWORD) -> tuple[Mapping[str, Any], str]:
    """Pull a table, and a table that fails; return what was seen meanwhile, and what the process printed."""
    create_user(source)
    source.run("CREATE TABLE t (id INT PRIMARY KEY, p POINT NULL)", "INSERT INTO t VALUES (1, NULL)")
    source.run("CREATE TABLE lost (id INT PRIMARY KEY) ENGINE = MyISAM", "INSERT INTO lost VALUES (1)", "FLUSH TABLES")
    (file,) = (source.server.data / source.name).glob("lost.MYD")
    file.unlink()
    for name in ("events", "temporary", "files"):
        (folder / name).mkdir()
    (folder / "log4j2.properties").write_text(LOG4J.format(file=folder / "spark.log"))
    conf = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false", "spark.ui.enabled": "true", "spark.ui.port": "0",
        "spark.local.dir": str(folder / "temporary"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
    }  # fmt: skip
    wanted = {
        "host": "127.0.0.1", "port": source.server.address.port, "user": USER, "database": source.name,
        "folder": (folder / "files").as_uri(), "seen": str(folder / "seen.json"),
    }  # fmt: skip
    environ = {
        "PYSPARK_SUBMIT_ARGS": submit_arguments(**conf), "PULL_PASSWORD": password,
        "TMPDIR": str(folder / "temporary"), "NO_PROXY": "*",
    }  # fmt: skip
    done = run_python([str(ROOT / "tests" / "support" / "watched_pull.py"), json.dumps(wanted)], environ)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "seen.json").read_text()), done.stdout + done.stderr


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_the_password_is_nowhere(source: SourceDatabase, folder: Path) -> None:
    seen, printed = watched(source, folder)
    # What would have shown it was looked at, and did show the user or the query beside it.
    assert files_with(folder / "events", "PythonRDD")
    assert files_with(folder, "org.apache.spark.api.python")
    assert USER in seen["reader"]
    assert "spark.master" in seen["pages"]["environment"]
    assert "PythonRDD" in seen["pages"]["stages?details=true"]
    assert any("org.apache.spark.deploy.SparkSubmit" in words for words in seen["processes"])
    assert any("pyspark.daemon" in words for words in seen["processes"])
    assert seen["outcomes"] == {"t": "loaded", "lost": "failed"}
    assert ["spark.app.name", "pull"] in seen["properties"]
    assert not files_with(folder, PASSWORD)  # `seen.json` is one of them
    assert PASSWORD not in printed


@pytest.mark.long
def test_a_wrong_password_is_nowhere_either(source: SourceDatabase, folder: Path) -> None:
    wrong = f"{PASSWORD}-but-another"
    seen, printed = watched(source, folder, wrong)
    assert "Access denied" in seen["error"]
    assert not files_with(folder, wrong)
    assert wrong not in printed
