"""The templates of the datasets and names of views: ONEFOLD_VIEW_DATASET and ONEFOLD_VIEW_NAME."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onefold.core.names import LEAF_PREFIX, TEMPORARY_PREFIX, problems_of_name

if TYPE_CHECKING:
    from onefold.settings.environment import Settings

_FIELDS = ("dataset", "table")


def template_problems(settings: Settings) -> Iterator[str]:
    """Yield the problems of the templates."""
    templates = (
        ("ONEFOLD_VIEW_DATASET", settings.view_dataset, "dataset"),
        ("ONEFOLD_VIEW_NAME", settings.view_name, "table"),
    )
    wrong = [(variable, template) for variable, template, _ in templates if not _is_template(template)]
    for variable, template in wrong:
        yield f"{variable} {template!r}: a template may hold {{dataset}} and {{table}} and nothing else in braces"
    if wrong:
        return
    for variable, template, kind in templates:
        name = template.format(dataset="dataset", table="table")
        yield from (f"{variable}: {problem}" for problem in problems_of_name(kind, name))
    yield from _shared_view_problems(settings)


def view_name_problems(settings: Settings) -> Iterator[str]:
    """Yield a problem where views would be named like versioned tables."""
    if not _is_template(settings.view_name):
        return
    name = settings.view_name.format(dataset="dataset", table="table")
    if any(names.split(name) for names in (settings.names, *settings.dataset_names.values())):
        yield f"ONEFOLD_VIEW_NAME {settings.view_name!r}: a view must not be named like a versioned table"


def _shared_view_problems(settings: Settings) -> Iterator[str]:
    if "{table}" not in settings.view_name:
        yield f"ONEFOLD_VIEW_NAME {settings.view_name!r} must hold {{table}}, or all tables would share one view"
    if settings.view_name in ("{table}_current", "{dataset}_{table}_current"):
        yield f"ONEFOLD_VIEW_NAME {settings.view_name!r} is the name of the current view; use another, as {{table}}_unified"
    if settings.view_name == "{table}":
        yield "ONEFOLD_VIEW_NAME must not be the table's own name; add a suffix, as in {table}_unified"
    if settings.view_name.startswith((TEMPORARY_PREFIX, LEAF_PREFIX)):
        yield (
            f"ONEFOLD_VIEW_NAME {settings.view_name!r} must not begin with {TEMPORARY_PREFIX} or {LEAF_PREFIX}: the "
            "deployed accounts may delete what is named so"
        )
    if len(settings.datasets or ()) != 1 and "{dataset}" not in settings.view_dataset + settings.view_name:
        yield "ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME must hold {dataset}, or tables of two datasets would share one view"


def _is_template(text: str) -> bool:
    """Return whether a template has known fields only, without a format: {table:.3} would give two tables one name."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return False
    return all(
        field is None or (field in _FIELDS and not format_ and not conversion) for _, field, format_, conversion in parts
    )
