""".ci/run and .ci/terraform, with recorded programs instead of builds: the calls, and the results of failures."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What the scripts call of the system's own programs.
TOOLS = (
    "basename", "bash", "chmod", "dirname", "env", "head", "mkdir", "mktemp", "mv", "nice", "rm", "sed", "sleep", "timeout",
    "tr", "uname",
)  # fmt: skip
NOTE = '#!/usr/bin/env bash\necho "$(basename "$0") $*" >> calls\n'
NO_PYTHON = "#!/usr/bin/env bash\nexit 1\n"
GO = """#!/usr/bin/env bash
if [ "$1" = mod ]; then printf '{\\n\\t"Dir": "%s"\\n}\\n' "$PWD"; exit; fi
while [ "$1" != -o ]; do shift; done
echo half of it > "$2"
"""
SECONDS = 300
COMMIT = "0a0b0c0d" * 5


class Checkout:
    """A folder with .ci/, and a PATH of nothing but what is put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        for name in TOOLS:
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def put(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": str(self.bin), "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    @property
    def built(self) -> list[str]:
        return os.listdir(self.folder / "cache" / "onefold" / "bin")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    checkout.put("bin/python3", NO_PYTHON)
    checkout.put("bin/git", f"#!/usr/bin/env bash\necho {COMMIT}\n")
    return checkout


def test_everything_runs_and_the_tests_are_counted(checkout: Checkout) -> None:
    checkout.put("bin/make", '#!/usr/bin/env bash\necho "make $* ${TEST_COUNTS:-} ${TEST_SEED:-}" >> calls\n')
    checkout.put(".ci/terraform", NOTE)
    done = checkout.run(".ci/run")
    assert done.returncode == 0, done.stderr
    assert list(map(str.rstrip, (checkout.folder / "calls").read_text().splitlines())) == [
        "make PYTHON=python3 install", "make lint", "make test-ids", "make docs", "make package", "make dist", "terraform",
        f"make test check {0x0A0B0C0D}", f"make test-long check {0x0A0B0C0D}",
        f"make bench-quick check {0x0A0B0C0D}",
    ]  # fmt: skip


TARGETS = ("install", "lint", "test-ids", "docs", "package", "dist", "test", "test-long", "bench-quick")


@pytest.mark.parametrize("target", TARGETS)
def test_a_failed_step_ends_the_run(checkout: Checkout, target: str) -> None:
    checkout.put("bin/make", f'{NOTE}[ "${{!#}}" != {target} ]')
    checkout.put(".ci/terraform", NOTE)
    assert checkout.run(".ci/run").returncode != 0
    assert (checkout.folder / "calls").read_text().splitlines()[-1].endswith(target)


def test_missing_go_is_reported_and_fails_only_a_run_that_needs_terraform(checkout: Checkout) -> None:
    done = checkout.run(".ci/terraform")
    assert done.returncode == 0, done.stderr
    assert "Go is missing, so that OpenTofu cannot be built" in done.stderr
    assert "the tests of infra/ that need it are skipped" in done.stderr
    assert "checkov cannot be installed" in done.stderr
    assert checkout.run(".ci/terraform", "version").returncode == 1


@pytest.mark.parametrize("ends", ["exit 1", "exec sleep 1000"])
def test_a_build_that_fails_or_does_not_end_is_reported_and_leaves_no_file(checkout: Checkout, ends: str) -> None:
    script = checkout.folder / ".ci" / "terraform"
    assert "\nlimit=1800\n" in script.read_text()
    checkout.put(".ci/terraform", script.read_text().replace("\nlimit=1800\n", "\nlimit=1\n"))
    checkout.put("bin/go", GO + ends)
    done = checkout.run(".ci/terraform")
    assert done.returncode == 0, done.stderr
    assert "Terraform is not ready" in done.stderr
    assert checkout.built == ["tofu.new"], "under a name that nobody looks for"


def test_a_successful_build_is_used(checkout: Checkout) -> None:
    checkout.put("bin/go", GO + 'echo "#!/usr/bin/env bash" > "$2"; chmod +x "$2"')
    assert "building OpenTofu" in checkout.run(".ci/terraform").stderr
    assert checkout.built == ["tofu"]
    assert "building OpenTofu" not in checkout.run(".ci/terraform").stderr
