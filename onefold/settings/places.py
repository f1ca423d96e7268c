"""The datasets, the topics and the folders that variables name, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from onefold.core.names import problems_of_name
from onefold.core.problems import Problem
from onefold.settings.batches import FOLDER

if TYPE_CHECKING:
    from onefold.settings.environment import Settings

_TOPIC = re.compile(r"(projects/[a-z0-9.:-]+/topics/)?(?!goog)[A-Za-z][A-Za-z0-9_.~+%-]{2,254}")


def datasets_of(environ: Mapping[str, str], variable: str) -> frozenset[str] | None:
    """Return the datasets that a variable names, separated by commas; None where it is not set."""
    if variable not in environ:
        return None
    return frozenset(name.strip() for name in environ[variable].split(",") if name.strip())


def dataset_problems(environ: Mapping[str, str], settings: Settings) -> Iterator[Problem]:
    """Yield the problems of the variables that name datasets."""
    if settings.changes_dataset:
        named = problems_of_name("dataset", settings.changes_dataset)
        yield from (Problem(text, file="ONEFOLD_CHANGES_DATASET") for text in named)
    for variable, names in (
        ("ONEFOLD_DATASETS", settings.datasets),
        ("ONEFOLD_CLEAN_DATASETS", settings.clean_datasets),
    ):
        for name in sorted(names or ()):
            yield from (Problem(text, file=variable) for text in problems_of_name("dataset", name))
    if environ.get("ONEFOLD_DATASETS") and not settings.datasets:
        advice = "make it empty to allow none, or unset it to allow all of the project"
        yield Problem(f"ONEFOLD_DATASETS names no dataset; {advice}")


def topic_problems(settings: Settings) -> Iterator[Problem]:
    """Yield the problems of the variables that name topics."""
    for purpose in ("table_created", "schema_changes", "change_records", "dead_letter"):
        topic = getattr(settings, f"topic_{purpose}")
        if topic and not _TOPIC.fullmatch(topic):
            variable = f"ONEFOLD_TOPIC_{purpose.upper()}"
            advice = "write its name, or projects/PROJECT/topics/NAME"
            yield Problem(f"{variable} {topic!r} is not a topic; {advice}")


def folder_problems(settings: Settings) -> Iterator[Problem]:
    """Yield the problems of the variables that name folders."""
    folders = {
        "ONEFOLD_LARGE_RECORDS": settings.large_records,
        "ONEFOLD_PULLED_FILES": settings.pulled_files,
        "ONEFOLD_PAGES": settings.pages,
    }
    named = [*folders.items(), *(("ONEFOLD_PAGE_CHECKPOINTS", folder) for folder in settings.page_checkpoints)]
    for variable, folder in named:
        if folder and not folder.startswith("file:///") and (not FOLDER.fullmatch(folder) or ".." in folder.split("/")):
            advice = "write gs://bucket/folder, or file:///folder on a laptop"
            yield Problem(f"{variable} {folder!r} is not a folder: {advice}")
