"""Mutation testing: mutmut changes the code of a package in one place at a time, and the fast tests have to notice it.

`make mutants P=onefold/changelog` runs one package, `make mutants` all of PACKAGES. `SAMPLE=3` runs only mutants whose
number within their function ends with 3, about a tenth. Each package runs in a copy of the checkout in build/mutants/,
with a fixed seed, so that two runs give the same answer.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOOR = 93.0
"""The least share of mutants, in percent, that the tests and the type checker have to notice."""
SURVIVORS = ROOT / "tests" / "mutants" / "survivors.txt"
CHOSEN = "not (emulator or mysql or postgres or spark or terraform or process or long)"
SEED = "12"
LISTED = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
"""The files of the checkout: those that git has, and new ones."""
NOTICED = {
    1: "tests",
    3: "tests",
    37: "type checker",
    36: "timeout",
    24: "timeout",
    -24: "timeout",
    152: "timeout",
    255: "timeout",
}
"""What noticed a mutant, by the exit code that mutmut keeps for it. A crash (-11, -9) counts as not noticed."""


@dataclass(frozen=True)
class Package:
    """Code to mutate, as patterns of files, the tests that have to notice, and tests of these that are left out."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def modules(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


PACKAGES: Mapping[str, Package] = {
    "onefold/refresh": Package(("onefold/refresh/*.py",), ("tests/refresh", "tests/views")),
    "onefold/views": Package(("onefold/views/*.py",), ("tests/views", "tests/refresh")),
    "onefold/merge": Package(("onefold/merge/*.py",), ("tests/merge", "tests/test_examples.py")),
    # Not its generators: they invent the data of a workload, and any other value would be as good.
    "onefold/changelog": Package(
        modules("onefold/changelog", "declared_keys", "digest", "key_columns", "metadata", "position"),
        (
            *modules(
                "tests/changelog",
                "test_declared_keys",
                "test_digest",
                "test_key_columns",
                "test_metadata",
                "test_position",
                "test_readable_sequence",
            ),
            *modules("tests/merge", "test_change_query", "test_keys"),
            *modules("tests/views", "test_current_text", "test_current_view"),
            *modules("tests/views", "test_clean_missing_current", "test_key_changes"),
            "tests/adapters/test_bigquery_layouts.py",
            "tests/capture/test_records.py",
            "tests/landing/test_table.py",
            "tests/sink",
            "tests/test_examples.py",
        ),
    ),
    "onefold/schema": Package(
        ("onefold/schema/*.py",),
        (
            "tests/schema",
            "tests/test_examples.py",
            *modules("tests/cli", "test_plan_findings", "test_schema", "test_schema_additions"),
            *modules("tests/events/load", "test_adoption", "test_plan"),
            *modules("tests/events/registry", "test_bigquery_columns", "test_classify", "test_columns"),
            *modules("tests/merge", "test_change_query", "test_schema_evolution"),
            *modules("tests/refresh", "test_announcement_ids", "test_display_tables", "test_order", "test_settings"),
            *modules("tests/settings", "test_yaml_file", "test_yaml_types"),
            *modules("tests/views", "test_target_types", "test_unified_view", "test_unknown_types"),
        ),
    ),
    "onefold/events/registry": Package(
        modules("onefold/events/registry", "order", "classify", "containment", "lint", "multiple_of", "subschemas"),
        ("tests/events/registry", *modules("tests/cli", "test_schema", "test_schema_additions")),
    ),
    "onefold/events/shred": Package(
        modules("onefold/events/shred", "values", "csv_values", "parquet_values"),
        ("tests/events/shred",),
        # mutmut calls each function through two more, and Python's stack ends at a third of the depth.
        ("tests/events/shred/test_values.py::test_the_deepest_value_is_written",),
    ),
    "onefold/pull/read": Package(modules("onefold/pull/read", "days", "key_ranges", "ranges"), ("tests/pull/read",)),
}


@dataclass(frozen=True)
class Score:
    """The mutants of a package: how many were noticed by what, and the names of those that were not."""

    package: str
    noticed: Mapping[str, int]
    survivors: tuple[str, ...]

    @property
    def total(self) -> int:
        return sum(self.noticed.values()) + len(self.survivors)

    @property
    def percent(self) -> float:
        return 100 * sum(self.noticed.values()) / self.total if self.total else 0.0


def score_of(package: str, exit_codes: Mapping[str, int | None]) -> Score:
    """Return the score from the exit code of each mutant; one that was not run counts as not noticed."""
    noticed = Counter(NOTICED[code] for code in exit_codes.values() if code in NOTICED)
    survivors = (name for name, code in exit_codes.items() if code not in NOTICED)
    return Score(package, noticed, tuple(sorted(survivors)))


def function_of(mutant: str) -> str:
    """Return the function that a mutant changes, as `module.Class.function`.

    >>> function_of("onefold.schema.types.xǁTypeǁtext__mutmut_3"), function_of("onefold.schema.order.x__rank__mutmut_12")
    ('onefold.schema.types.Type.text', 'onefold.schema.order._rank')
    """
    module, name = mutant.rpartition("__mutmut_")[0].rsplit(".", 1)
    return f"{module}.{name[1:].strip('ǁ').replace('ǁ', '.') if 'ǁ' in name else name[2:]}"


def explained(text: str) -> dict[str, int]:
    """Return how many survivors of each function survivors.txt explains. A line is `function number reason`."""
    lines = (line.split(maxsplit=2) for line in text.splitlines() if line and not line.startswith("#"))
    return {function: int(number) for function, number, _ in lines}


def unexplained(survivors: Iterable[str], known: Mapping[str, int]) -> list[str]:
    """Return the survivors of each function that has more of them than are explained."""
    mutants = list(survivors)
    counts = Counter(map(function_of, mutants))
    return [name for name in mutants if counts[function_of(name)] > known.get(function_of(name), 0)]


def report(score: Score, known: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} by {what}" for what, count in sorted(score.noticed.items()))
    new = unexplained(score.survivors, known)
    return "\n".join(
        [
            f"{score.package}: {score.total} mutants, {score.percent:.1f} % noticed ({parts}), expected {FLOOR:.0f} %",
            f"  {len(score.survivors) - len(new)} survivors are explained in {SURVIVORS.name}, {len(new)} are not",
            *(f"  {name}" for name in new),
        ]
    )


def prepare(name: str, folder: Path) -> None:
    """Write a copy of the checkout's files and the settings of mutmut to `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for path in listed:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    (folder / "setup.cfg").write_text(settings(name, sorted({path.partition("/")[0] for path in listed})))


def settings(name: str, copied: Sequence[str]) -> str:
    """Return the settings of mutmut for a package; `copied` names what the tests may read of the checkout."""
    package = PACKAGES[name]
    left_out = [f"--deselect={test}" for test in package.left_out]
    lists = {
        "source_paths": [name],
        "only_mutate": package.files,
        "also_copy": copied,
        "pytest_add_cli_args_test_selection": package.tests,
        "pytest_add_cli_args": ["-m", CHOSEN, "-n0", "-p", "no:cacheprovider", *left_out],
        "type_check_command": ["mypy", "--no-warn-unused-ignores", "--output", "json", name],
    }
    # A list of one is read as a text unless its line is a line of its own.
    return "[mutmut]\n" + "".join(
        f"{key}=\n" + "".join(f"    {value}\n" for value in values) for key, values in lists.items()
    )


def run(name: str, sample: str = "") -> Score:
    """Make the mutants of a package, run the tests against each, and return the score.

    Args:
        name: the package, one of PACKAGES.
        sample: the last digits of the numbers of the mutants to run; empty for all mutants.

    Raises:
        RuntimeError: mutmut could not run, as where a test fails without a mutant.
    """
    folder = ROOT / "build" / "mutants" / name.replace("/", ".")
    prepare(name, folder)
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "TEST_PROFILE": "mutants", "TEST_SEED": SEED, "PYTHONHASHSEED": "0"}
    names = [f"*__mutmut_*{sample}"] if sample else []
    done = subprocess.run([str(programs / "mutmut"), "run", *names], cwd=folder, env=environ, check=False)
    codes = {mutant: code for mutant, code in exit_codes(folder).items() if mutant.endswith(sample)}
    if done.returncode or not codes:
        raise RuntimeError(f"mutmut could not run {name} (exit code {done.returncode}): read what it printed above")
    return score_of(name, codes)


def exit_codes(folder: Path) -> dict[str, int | None]:
    """Return the exit code of each mutant, from the files that mutmut writes beside the code."""
    files = (json.loads(path.read_text()) for path in sorted((folder / "mutants").rglob("*.py.meta")))
    return {name: code for file in files for name, code in file["exit_code_by_key"].items()}


def chosen(word: str) -> list[str]:
    """Return the packages to run: all, or the one that is named.

    Raises:
        SystemExit: no such package is among PACKAGES.
    """
    name = re.sub(r"/+$", "", word)
    if name and name not in PACKAGES:
        raise SystemExit(f"expected one of {', '.join(PACKAGES)}, got {name}: name one with P=, or none for all")
    return [name] if name else list(PACKAGES)


def main(words: Sequence[str]) -> int:
    known = explained(SURVIVORS.read_text())
    package, sample = [*words, "", ""][:2]
    scores = [run(name, sample) for name in chosen(package)]
    print(*(report(score, known) for score in scores), sep="\n")
    return int(any(score.percent < FLOOR for score in scores))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
