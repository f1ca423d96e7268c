"""How many tests of each kind have to run, in tests/counts.toml: what did not run must not count as passed.

`.ci/run` sets TEST_COUNTS=check; then a run of `make test` or `make test-long` fails where fewer or more tests ran than the
file says; `make test-ids` compares them with what is collected, before anything runs. `make test-counts` writes the numbers
after tests were added or removed, and keeps the skips, which are written by hand, each with its reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.kinds import PROPERTY, kinds, reason_of, reported_kinds

FILE = Path(__file__).parents[1] / "counts.toml"
SWITCH = "TEST_COUNTS"
RUNS = {"not long": "test", "long": "test-long"}
"""The runs that are counted, by the expression of `-m` that chooses their tests."""
RAN = ("passed", "failed", "error", "xfailed", "xpassed")


@dataclass(frozen=True)
class AllowedSkip:
    """Tests that may be skipped.

    run: "test" or "test-long".
    reason: what the reason of the skip begins with.
    kinds: how many tests of each kind.
    why: why they need not run here.
    """

    run: str
    reason: str
    kinds: Mapping[str, int]
    why: str


def counted(tests: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Return the number of tests by kind, from the kinds of each test; a test of two kinds counts for both."""
    return dict(sorted(Counter(kind for names in tests for kind in names).items()))


def problems(
    run: str,
    numbers: Mapping[str, int],
    allowed: Iterable[AllowedSkip],
    ran: Mapping[str, int],
    skipped: Iterable[tuple[str, tuple[str, ...]]],
) -> list[str]:
    """Return what differs between the tests that ran and those that have to, one line for each difference.

    Args:
        run: "test" or "test-long".
        numbers: how many tests of each kind the run has.
        allowed: the skips that are allowed.
        ran: how many tests of each kind ran, whatever their result.
        skipped: the reason and the kinds of each test that was skipped.
    """
    here, excused, lines = [one for one in allowed if one.run == run], Counter[str](), list[str]()
    used = Counter[tuple[str, str]]()
    for reason, names in skipped:
        allowance = next((one for one in here if reason.startswith(one.reason)), None)
        if allowance is None:
            lines.append(f"a test of kind {'+'.join(names)} was skipped: {reason}")
        else:
            used.update((allowance.reason, kind) for kind in names)
        excused.update(names)
    most = {(one.reason, kind): number for one in here for kind, number in one.kinds.items()}
    for (reason, kind), number in used.items():
        if number > most.get((reason, kind), 0):
            lines.append(f"{number} tests of kind {kind} were skipped, {most.get((reason, kind), 0)} may be: {reason}")
    return lines + differences(numbers, Counter(ran) + excused)


def differences(numbers: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Return a line for each kind of which another number of tests was found than the file says."""
    both = {kind: (numbers.get(kind, 0), found.get(kind, 0)) for kind in sorted({*numbers, *found})}
    return [
        f"expected {wanted} tests of kind {kind}, got {got}: if they were added or removed, make test-counts"
        for kind, (wanted, got) in both.items()
        if wanted != got
    ]


def read(path: Path = FILE) -> tuple[dict[str, dict[str, int]], list[AllowedSkip]]:
    """Return the numbers of each run by kind, and the skips that are allowed."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return values["tests"], [AllowedSkip(**skip) for skip in values.get("skips", ())]


def with_numbers(text: str, numbers: Mapping[str, Mapping[str, int]]) -> str:
    """Return the text of the file with other numbers; what is written by hand, before them, stays."""
    tables = [
        "\n".join([f"[tests.{run}]", *(f"{kind} = {number}" for kind, number in found.items())])
        for run, found in numbers.items()
    ]
    return "\n\n".join([text.partition("[tests.")[0].rstrip(), *tables]) + "\n"


def check_the_run(session: pytest.Session) -> list[str]:
    """Return what did not run, in a whole run where TEST_COUNTS is set; the process that has the workers asks."""
    run = RUNS.get(str(session.config.getoption("markexpr")).strip())
    if os.environ.get(SWITCH) != "check" or run is None or hasattr(session.config, "workerinput"):
        return []
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    ended = {
        name: [one for one in reporter.stats.get(name, ()) if isinstance(one, pytest.TestReport)]
        for name in (*RAN, "skipped")
    }
    ran = {report.nodeid: reported_kinds(report) for name in RAN for report in ended[name]}
    skipped = [(reason_of(report), found) for report in ended["skipped"] if (found := reported_kinds(report))]
    numbers, allowed = read()
    return problems(run, numbers[run], allowed, counted(ran.values()), skipped)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which not all tests ran."""
    lines = check_the_run(session)
    for line in lines:
        sys.stderr.write(f"\n{FILE.name}: {line}")
    if lines and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the kinds of each test for its reports; where TEST_COUNTS is `print`, print how many there are of each."""
    for item in session.items:
        item.user_properties.append((PROPERTY, "+".join(kinds(item))))
    if os.environ.get(SWITCH) == "print":
        sys.stdout.write("".join(f"\ncount {kind} {number}" for kind, number in counted(map(kinds, session.items)).items()))


def collected(expression: str) -> dict[str, int]:
    """Return the number of tests of a run by kind, from a collection in a process of its own.

    Raises:
        RuntimeError: pytest cannot collect.
    """
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:xdist", "-m", expression]
    done = subprocess.run(
        command, cwd=FILE.parents[1], env={**os.environ, SWITCH: "print"}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    lines = (line.split() for line in done.stdout.splitlines() if line.startswith("count "))
    return {kind: int(number) for _, kind, number in lines}


def main(words: Sequence[str]) -> int:
    """Write the numbers of the tests that are collected; with --check compare them with the file, and change nothing."""
    found = {run: collected(expression) for expression, run in RUNS.items()}
    if words == ["--check"]:
        numbers, _ = read()
        lines = [f"{FILE.name}: {run}: {line}" for run in found for line in differences(numbers[run], found[run])]
        print("\n".join(lines or [f"{FILE.name} has the number of tests of each kind"]))
        return 1 if lines else 0
    FILE.write_text(with_numbers(FILE.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
