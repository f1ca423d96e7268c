"""A reader of a page, who runs its blocks of commands in their order, in as many terminals as it names."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from support.capture import eventually
from support.database_servers import DatabaseServer
from support.pages import EXPORT, background, blocks, run_script

from onefold.mysql.connection import connect, query
from onefold_lab.processes import free_port

_UNSET = re.compile(r"^unset (.*)$", re.MULTILINE)
_QUERY = re.compile(r"^(?=onefold local query )", re.MULTILINE)
_EVAL = 'eval "$(onefold local status)"'
_PORT = re.compile(r"--port (\d+)")
_READY = re.compile("All servers are ready|is served at")
"""What the servers of Onefold print when they answer; another one is ready when its port answers."""


def at_port(server: DatabaseServer) -> Callable[[str], str]:
    """Return the change of a block that leads to a server of its own instead of the reader's."""
    return lambda text: text.replace("--port 3306", f"--port {server.port}")


@dataclass
class Reader:
    """What the reader of a page has: variables, a folder, a database, and commands that run in other terminals.

    Attributes:
        shows: by a part of a command, what its output shows in the end, as a regular expression. Such a command is repeated
            until it does: what a function does with a message takes a while.
        edited: changes a block before it runs.
        database: takes the SQL of the page. Without one, SQL is something that a command prints.
        printed: the output of each block that ran in the first terminal.
        running: the commands in other terminals, by kind.
    """

    folder: Path
    environ: dict[str, str]
    stack: ExitStack
    shows: Mapping[str, str] = field(default_factory=dict)
    edited: Callable[[str], str] = str
    database: DatabaseServer | None = None
    printed: list[str] = field(default_factory=list)
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Not the stack of the person who runs the tests.
        self.environ = {"XDG_STATE_HOME": str(self.folder / "state-home"), "PWD": str(self.folder), **self.environ}

    def read(self, page: Path) -> list[str]:
        """Run the blocks of a page. Returns what each block of the first terminal prints."""
        steps = [(kind, self.edited(text.replace("$PWD", str(self.folder)))) for kind, text in blocks(page, free_port(3))]
        for kind, text in steps:
            self._run(kind, text)
        told = set(EXPORT.findall("".join(map(self.output, self.running))))
        assert told <= set(EXPORT.findall("".join(text for _, text in steps))), "the page sets what the stack prints"
        return self.printed

    def output(self, kind: str) -> str:
        """Return what a command in another terminal has printed so far. One that has ended is a failure."""
        printed = self._file(kind).read_text()
        assert self.running[kind].poll() is None, printed
        return printed

    def _run(self, kind: str, text: str) -> None:
        if kind == "sql":
            self._run_sql(text) if self.database else None
        elif kind == "sh":
            self.environ.update(EXPORT.findall(text))
            for name in " ".join(_UNSET.findall(text)).split():
                self.environ.pop(name, None)
            if "--detach" in text:
                self.stack.callback(run_script, "onefold local stop", self.folder, self.environ)
            self.printed.append("".join(self._run_piece(piece) for piece in _QUERY.split(text) if piece))
            if _EVAL in text:
                self.environ.update(EXPORT.findall(run_script("onefold local status", self.folder, self.environ)))
        else:
            self.running[kind] = self.stack.enter_context(background(text, self.folder, self.environ, self._file(kind)))
            if kind == "sh server":
                eventually(lambda: self._is_ready(kind, text))

    def _run_piece(self, script: str) -> str:
        wanted = [pattern for part, pattern in self.shows.items() if part in script]
        return eventually(lambda: self._try(script, wanted)) if wanted else run_script(script, self.folder, self.environ)

    def _try(self, script: str, wanted: list[str]) -> str:
        """Return the output of a command; nothing where it fails, or does not show yet what it has to."""
        for kind in self.running:
            self.output(kind)
        done = subprocess.run(
            ["bash", "-euc", script], cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        is_shown = all(re.search(pattern, done.stdout) for pattern in wanted)
        return done.stdout if done.returncode == 0 and is_shown else ""

    def _run_sql(self, text: str) -> None:
        assert self.database is not None
        with connect(self.database.address) as connection:
            for statement in filter(str.strip, text.split(";\n")):
                query(connection, statement)

    def _is_ready(self, kind: str, command: str) -> bool:
        if command.startswith("onefold"):
            return _READY.search(self.output(kind)) is not None
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", int(_PORT.findall(command)[0]))) == 0

    def _file(self, kind: str) -> Path:
        return self.folder / kind.partition(" ")[2]
