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
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
CLOUD = "sh cloud"
TITLES = {
    "second terminal": "server", "third terminal": "capture", "Google Cloud": "cloud", "access.yaml": "access",
    "dags/onefold_models.py": "dag",
}  # fmt: skip
"""What the title of a block says about where its commands run."""
EXPORT = re.compile(r"^export (\w+)=(.*)$", re.MULTILINE)
_FENCE = re.compile(r'^( *)```(\w+)(?: title="([^"]+)")?\n(.*?)^ *```$', re.DOTALL | re.MULTILINE)
_OURS = ("ONEFOLD_", "BIGQUERY_EMULATOR_HOST", "DATAPROC_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST")
_SECONDS = 1_200


def fenced(text: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each block of a page, without the indentation of a list.

    A kind is the language, and the terminal that the title names: `sh`, `sh server`, `sh cloud`, `sql`, `yaml`, ...
    """
    return [
        (" ".join(filter(None, (language, TITLES[title] if title else ""))), re.sub(rf"^{indent}", "", inner, flags=re.M))
        for indent, language, title, inner in _FENCE.findall(text)
    ]


def blocks(page: Path, port: int) -> list[tuple[str, str]]:
    """Return the blocks of commands that run on this machine; the stack has three ports from `port` on."""
    found = fenced(page.read_text())
    return [(kind, _with_port(text, port)) for kind, text in found if kind.split()[0] in ("sh", "sql") and kind != CLOUD]


def _with_port(text: str, port: int) -> str:
    text = re.sub(r"onefold local start(?=$| --)", f"onefold local start --port {port}", text, flags=re.MULTILINE)
    for number in range(3):
        text = text.replace(str(9050 + number), str(port + number))
    return text


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
