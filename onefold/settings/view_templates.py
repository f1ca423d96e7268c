"""The templates of datasets and names: ONEFOLD_VIEW_DATASET, ONEFOLD_VIEW_NAME and ONEFOLD_PLAIN_DATASET."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, problems_of_name
from onefold.core.problems import Problem
from onefold.core.versioned_names import VersionedNames

if TYPE_CHECKING:
    from onefold.settings.environment import Settings

_FIELDS = ("dataset", "table")


def template_problems(settings: Settings) -> Iterator[Problem]:
    """Yield the problems of the templates."""
    templates = (
        ("ONEFOLD_VIEW_DATASET", settings.view_dataset, "dataset"),
        ("ONEFOLD_VIEW_NAME", settings.view_name, "table"),
        ("ONEFOLD_PLAIN_DATASET", settings.plain_dataset, "dataset"),
    )
    wrong = [(variable, template) for variable, template, _ in templates if not _is_template(template)]
    for variable, template in wrong:
        advice = "a template may hold {dataset} and {table} and nothing else in braces"
        yield Problem(f"{variable} {template!r}: {advice}")
    if wrong:
        return
    for variable, template, kind in templates:
        name = template.format(dataset="dataset", table="table")
        yield from (Problem(text, file=variable) for text in problems_of_name(kind, name))
    yield from _shared_view_problems(settings)
    plain = settings.plain_dataset
    if "{dataset}" not in plain or "{table}" in plain:
        yield Problem(
            f"ONEFOLD_PLAIN_DATASET {plain!r} must hold {{dataset}} and not {{table}}: the bases and views of a dataset's "
            "plain change tables are in one dataset"
        )


def view_name_problems(template: str, naming: Iterable[VersionedNames]) -> Iterator[Problem]:
    """Yield a problem where views would be named like versioned tables.

    Args:
        template: the template of the name of a view.
        naming: the naming of versioned tables in each dataset.
    """
    name = template.format(dataset="dataset", table="table") if _is_template(template) else ""
    if name and any(names.split(name) for names in naming):
        yield Problem(f"ONEFOLD_VIEW_NAME {template!r}: a view must not be named like a versioned table")


def _shared_view_problems(settings: Settings) -> Iterator[Problem]:
    name, variable = settings.view_name, f"ONEFOLD_VIEW_NAME {settings.view_name!r}"
    if "{table}" not in name:
        yield Problem(f"{variable} must hold {{table}}, or all tables would share one view")
    if name in ("{table}_current", "{dataset}_{table}_current"):
        yield Problem(f"{variable} is the name of the current view; use another, as {{table}}_unified")
    if name == "{table}":
        yield Problem("ONEFOLD_VIEW_NAME must not be the table's own name; add a suffix, as in {table}_unified")
    if name.startswith((TEMPORARY_PREFIX, LEAF_PREFIX)):
        reason = "the deployed accounts may delete what is named so"
        yield Problem(f"{variable} must not begin with {TEMPORARY_PREFIX} or {LEAF_PREFIX}: {reason}")
    if len(settings.datasets or ()) != 1 and "{dataset}" not in settings.view_dataset + name:
        both = "ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME must hold {dataset}"
        yield Problem(f"{both}, or tables of two datasets would share one view")


def _is_template(text: str) -> bool:
    """Return whether a template has known fields only, without a format: {table:.3} would give two tables one name."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return False
    return all(
        field is None or (field in _FIELDS and not format_ and not conversion) for _, field, format_, conversion in parts
    )
