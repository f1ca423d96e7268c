"""Pages of the documentation whose commands run as they are written, with free ports in place of theirs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(sh|sh server|sh capture|sql)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
_OURS = ("ONEFOLD_", "BIGQUERY_EMULATOR_HOST", "DATAPROC_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST")
_SECONDS = 1_200


def blocks(page: Path, port: int) -> list[tuple[str, str]]:
    """Return the kind and the text of each block of commands; the stack has three ports from `port` on."""
    return [(kind, _with_port(text, port)) for kind, text in BLOCK.findall(page.read_text())]


def _with_port(text: str, port: int) -> str:
    text = re.sub(r"onefold local start(?=$| --)", f"onefold local start {port}", text, flags=re.MULTILINE)
    for number in range(3):
        text = text.replace(str(9050 + number), str(port + number))
    return text


def is_ready(process: subprocess.Popen[str], output: Path) -> bool:
    """Return whether the servers that a page starts answer. A process that has ended is a failure with its output."""
    printed = output.read_text()
    assert process.poll() is None, printed
    return "All servers are ready" in printed


def clean_environ() -> dict[str, str]:
    """Return the environment of a new user: the project's commands on the PATH, and none of its settings."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(_OURS)}, "PATH": PATH}


def run_script(script: str, folder: Path, environ: Mapping[str, str]) -> str:
    """Run commands in one shell, check that all succeed, and return what they print."""
    done = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def background(command: str, folder: Path, environ: Mapping[str, str], output: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command until the block ends, as in a terminal of its own. Its output goes to a file."""
    with output.open("w") as file:
        process = subprocess.Popen(
            ["bash", "-euc", f"exec {command}"], cwd=folder, env=environ, stdout=file, stderr=file, text=True
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()
