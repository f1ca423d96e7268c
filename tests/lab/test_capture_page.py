"""The page "Capture on a laptop": its commands run as they are written, in their order, with a real server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from support.capture import eventually
from support.database_servers import DatabaseServer
from support.pages import EXPORT, ROOT, background, blocks, clean_environ, run_script

from onefold.capture.source import CapturedSource
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter
from onefold_lab.processes import free_port

pytestmark = [pytest.mark.emulator, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "capture-on-a-laptop.md"
UNSET = re.compile(r"^unset (.*)$", re.MULTILINE)
COUNT = "onefold local query 'SELECT COUNT(*) AS n FROM shop.customer_unified WHERE {}'"


@dataclass
class Terminals:
    """What the reader of the page has: variables, a folder, and commands that run in other terminals."""

    server: DatabaseServer
    folder: Path
    environ: dict[str, str]
    stack: ExitStack
    printed: str = ""
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def do(self, kind: str, text: str) -> None:
        text = text.replace("--port 3306", f"--port {self.server.port}")
        if kind == "sql":
            self._run_sql(text)
        elif kind == "sh":
            self.environ.update(EXPORT.findall(text))
            for name in " ".join(UNSET.findall(text)).split():
                self.environ.pop(name, None)
            self.printed += run_script(text, self.folder, self.environ)
        else:
            output = self.folder / kind.partition(" ")[2]
            self.running[kind] = self.stack.enter_context(background(text, self.folder, self.environ, output))

    def output(self, kind: str) -> str:
        assert self.running[kind].poll() is None, self._read(kind)
        return self._read(kind)

    def _read(self, kind: str) -> str:
        return (self.folder / kind.partition(" ")[2]).read_text()

    def _run_sql(self, text: str) -> None:
        with connect(self.server.address) as connection:
            for statement in filter(str.strip, text.split(";\n")):
                query(connection, statement)

    def is_copied(self, status: str) -> bool:
        """Tell whether the copy is done and the lag is known: then the command for the status exits with 0."""
        if '"event": "copied"' not in self.output("sh capture"):
            return False
        done = subprocess.run(["bash", "-c", status], cwd=self.folder, env=self.environ, capture_output=True, check=False)
        return done.returncode == 0

    def has_landed(self, condition: str, rows: int) -> bool:
        """Tell whether the unified view has so many rows; while there is none, it has no rows."""
        done = subprocess.run(
            ["bash", "-c", COUNT.format(condition)],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return any(int(number) >= rows for number in re.findall(r"\d+", done.stdout))


@pytest.fixture
def terminals(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Terminals]:
    with ExitStack() as stack:
        yield Terminals(mariadb, tmp_path, clean_environ(), stack)
    with connect(mariadb.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS laptop_shop")
        query(connection, "DROP USER IF EXISTS laptop_reader@'%'")


def test_the_statements_of_the_guide_make_a_user_who_may_capture(mariadb: DatabaseServer) -> None:
    (statements,) = [text for kind, text in blocks(ROOT / "docs" / "how-to" / "run-capture.md", 9050) if kind == "sql"]
    with connect(mariadb.address) as connection:
        try:
            for statement in filter(str.strip, statements.split(";\n")):
                query(connection, statement.replace("onefold@", "guided@"))  # the server has a user onefold
            reader = replace(mariadb.address, user="guided", password="a-long-password")
            assert CapturedSource(reader, TableFilter(("nothing",)), 4711).check().problems == ()
        finally:
            query(connection, "DROP USER IF EXISTS guided@'%'")


def test_the_commands_of_the_page_run(terminals: Terminals) -> None:
    steps = blocks(PAGE, free_port(3))
    assert [kind for kind, _ in steps].count("sql") == 3
    for kind, text in steps:
        if "customer_unified" in text:
            eventually(lambda: terminals.output("sh capture") and terminals.has_landed("TRUE", 3))
        if "onefold plan" in text:
            eventually(lambda: terminals.output("sh capture") and terminals.has_landed("email IS NOT NULL", 1))
        if "status" in text:
            eventually(partial(terminals.is_copied, text))
        before = len(terminals.printed)
        terminals.do(kind, text)
        if kind == "sh server":
            eventually(lambda: "All servers are ready" in terminals.output("sh server"))
            exports = terminals.output("sh server")
            assert set(EXPORT.findall(exports)) < set(EXPORT.findall(next(text for kind, text in steps if kind == "sh")))
        if "email FROM shop.customer_current" in text:
            shown = terminals.printed[before:]
            assert "New York" in shown
            assert "barbara@example.com" in shown
            assert "Edsger" not in shown
            eventually(lambda: "schema-changes: " in terminals.output("sh server"))
    assert "everything is ok" in terminals.printed
