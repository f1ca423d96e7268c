"""The files of a dbt project over the views that Onefold keeps: text from values, without a warehouse and without dbt.

A model selects from the view by `source()`, and names in a comment what the view reads, so that the lineage in dbt begins at
the tables that landed. dbt reads `source()` and `ref()` in comments too ("ref", forcing dependencies,
https://docs.getdbt.com/reference/dbt-jinja-functions/ref, 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from onefold.core.errors import InvalidInput
from onefold.core.names import TableId, quote
from onefold.export.product import ExportedView, Product
from onefold.schema.columns import Column, Schema

MARK = "Written by `onefold export dbt`, which replaces this file: do not edit it."
PROJECT_FILE = "dbt_project.yml"
FOLDERS = ("models/onefold", "tests/onefold")
"""The folders of the files, which have one folder for each dataset."""
_MAX_FILE_NAME = 255
_PROJECT = {"name": "onefold", "version": "1.0.0", "config-version": 2, "profile": "onefold"}


@dataclass(frozen=True)
class AgeLimits:
    """The age of the newest row, in hours, from which dbt warns or fails; None for never."""

    warn_after: int | None = 24
    error_after: int | None = None

    def as_dict(self) -> dict[str, Any] | None:
        """Return the value of `freshness`."""
        ages = {"warn_after": self.warn_after, "error_after": self.error_after}
        return {name: {"count": hours, "period": "hour"} for name, hours in ages.items() if hours is not None} or None


def dbt_files(products: Sequence[Product], limits: AgeLimits) -> dict[str, str]:
    """Return the text of each file, by its path in the dbt project.

    Args:
        products: the datasets to export.
        limits: those of all sources whose rows tell when they came.

    Raises:
        InvalidInput: two names are one in dbt, or a name is too long for a file; the error lists all of them.
    """
    _check_names(products)
    models = frozenset(view.id for product in products for view in product.views)
    files = {PROJECT_FILE: _yaml(_PROJECT)}
    for product in products:
        models_folder, tests_folder = (f"{folder}/{product.dataset}" for folder in FOLDERS)
        files[f"{models_folder}/_{product.dataset}.yml"] = _yaml(_properties(product, limits))
        for view in product.views:
            files[f"{models_folder}/{model_name(view.id)}.sql"] = _model(view, models)
            if len(view.keys) > 1:
                files[f"{tests_folder}/{_test_name(view.id)}.sql"] = _key_test(view)
    return files


def model_name(view: TableId) -> str:
    """Return the name of the model of a view: models have names of their own in a project, so the dataset is in it.

    Examples:
        >>> model_name(TableId("p", "shop", "order-line_current"))
        'shop__order_line_current'
    """
    return f"{view.dataset}__{_plain(view.table)}"


def _plain(name: str) -> str:
    """Return a name in the characters that dbt takes in all kinds of names."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _test_name(view: TableId) -> str:
    return f"{model_name(view)}__key"


def _check_names(products: Iterable[Product]) -> None:
    """Check that each table and view has a name of its own in dbt, also where files are found without case.

    Raises:
        InvalidInput: some have not; the error lists all of them.
    """
    named: dict[str, list[TableId]] = {}
    for id_ in dict.fromkeys(id_ for product in products for id_ in product.sources):
        named.setdefault(model_name(id_).lower(), []).append(id_)
    problems = [
        f"{' and '.join(map(str, ids))} have the same name in dbt, {model_name(ids[0])}: rename one of them"
        for ids in named.values()
        if len(ids) > 1
    ]
    problems += [
        f"{ids[0]}: the name of its file in dbt would be longer than {_MAX_FILE_NAME} bytes: give the view a shorter name"
        for name, ids in named.items()
        if len(f"{name}__key.sql") > _MAX_FILE_NAME
    ]
    if problems:
        raise InvalidInput(problems)


def _yaml(content: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=120)
    return f"# {MARK}\n{text}"


def _properties(product: Product, limits: AgeLimits) -> dict[str, Any]:
    datasets: dict[tuple[str, str], list[TableId]] = {}
    for id_ in product.sources:
        datasets.setdefault((str(id_.project), str(id_.dataset)), []).append(id_)
    return {
        "version": 2,
        "groups": [{"name": product.dataset, "owner": {"name": product.dataset}}],
        "sources": [
            {
                "name": dataset,
                "database": project,
                "schema": dataset,
                "tables": [_source_table(id_, product.loaded_at.get(id_), limits) for id_ in ids],
            }
            for (project, dataset), ids in datasets.items()
        ],
        "models": [_model_properties(view, product.dataset) for view in product.views],
    }


def _source_table(id_: TableId, loaded_at: str | None, limits: AgeLimits) -> dict[str, Any]:
    name = _plain(id_.table)
    identifier = {} if name == id_.table else {"identifier": id_.table}
    bounds = limits.as_dict()
    fresh = {"config": {"loaded_at_field": loaded_at, "freshness": bounds}} if loaded_at and bounds else {}
    return {"name": name, **identifier, **fresh}


def _model_properties(view: ExportedView, group: str) -> dict[str, Any]:
    return {
        "name": model_name(view.id),
        **_description(view.description),
        "config": {"group": group},
        "columns": [_column(column, view) for column in view.columns],
    }


def _column(column: Column, view: ExportedView) -> dict[str, Any]:
    # Quoted, because a column may be named by a word that SQL reserves.
    tests = {"quote": True, "data_tests": ["unique", "not_null"]} if view.keys == (column.name,) else {}
    described = _description(view.descriptions.get(column.name, ""))
    return {"name": column.name, "data_type": str(column.type), **described, **tests}


def _description(text: str) -> dict[str, str]:
    """Return the description: dbt renders it as a template, so what would begin an expression is written as a text."""
    return {"description": re.sub(r"\{[{%#]", lambda found: "{{ '" + found[0] + "' }}", text)} if text else {}


def _model(view: ExportedView, models: Collection[TableId]) -> str:
    reads = [f"-- depends_on: {_relation(id_, models)}" for id_ in view.reads]
    columns = ",\n".join(f"  {quote(name)}" for name in Schema(view.columns).names)
    return "\n".join((f"-- {MARK}", *reads, "select", columns, f"from {_relation(view.id, ())}", ""))


def _relation(id_: TableId, models: Collection[TableId]) -> str:
    """Return the call of `ref` for the view of a model, of `source` for another table or view."""
    if id_ in models:
        return f"{{{{ ref('{model_name(id_)}') }}}}"
    return f"{{{{ source('{id_.dataset}', '{_plain(id_.table)}') }}}}"


def _key_test(view: ExportedView) -> str:
    return "\n".join([f"-- {MARK}", *_key_query(view), ""])


def _key_query(view: ExportedView) -> Iterator[str]:
    keys = [quote(name) for name in view.keys]
    yield "-- Returns each key that several rows have, or that is NULL in a column."
    yield f"select {', '.join(keys)}"
    yield f"from {{{{ ref('{model_name(view.id)}') }}}}"
    yield f"group by {', '.join(keys)}"
    yield f"having count(*) > 1 or {' or '.join(f'{key} is null' for key in keys)}"
