"""Mutants of infra/: the comparison with everything.txt sees each of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.infra_lines import addresses, lines
from support.infra_mutants import GROUPS, Mutant
from support.terraform import EVERYTHING, Terraform

EXPECTED = Path(__file__).with_name("everything.txt")


@pytest.fixture
def mutated(terraform: Terraform, tmp_path: Path) -> Callable[[tuple[Mutant, ...]], Terraform]:
    """Return a function that copies infra/ with mutants in it; the copy shares the providers of the session."""

    def mutate(mutants: tuple[Mutant, ...]) -> Terraform:
        folder = tmp_path / "infra"
        shutil.copytree(terraform.folder, folder, symlinks=True, ignore=shutil.ignore_patterns(".terraform"))
        (folder / ".terraform").symlink_to(terraform.folder / ".terraform")
        for name in ("spark_jobs", "build"):
            (tmp_path / name).symlink_to(terraform.folder.parent / name)
        for one in mutants:
            path = folder / one.file
            text = path.read_text()
            assert one.old in text, f"{one.file} no longer holds {one.old}"
            path.write_text(text.replace(one.old, one.new))
        return replace(terraform, folder=folder)

    return mutate


def places(mutants: tuple[Mutant, ...]) -> set[str]:
    """Return where the mutants of a group have to be seen."""
    seen = [resource for one in mutants for resource in one.seen]
    assert len(set(seen)) == len(seen), (
        "expected each mutant of a group at a resource of its own: put one into another group"
    )
    return set(seen)


@pytest.mark.long
@pytest.mark.parametrize("mutants", GROUPS, ids=range(len(GROUPS)))
def test_every_mutant_changes_a_line_of_its_resource(
    mutated: Callable[[tuple[Mutant, ...]], Terraform], mutants: tuple[Mutant, ...]
) -> None:
    seen = places(mutants)
    terraform = mutated(mutants)
    outcome = terraform.tested(EVERYTHING)
    assert outcome.status == {"everything": "pass"}, outcome.said
    found = lines(outcome.plans["everything"], terraform)
    assert addresses(found, EXPECTED.read_text("utf-8").splitlines()) == seen
