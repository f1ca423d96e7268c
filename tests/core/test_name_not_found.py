"""The error about a name that does not exist: the near name comes before the command that creates another one."""

from __future__ import annotations

import pytest

from onefold.adapters.bigquery.errors import not_found
from onefold.core.errors import NameNotFound, NotFound


def test_without_a_near_name_the_error_has_the_command_that_creates_it() -> None:
    error = NameNotFound("there is no shpo", "shpo", command="mk shpo")
    assert (str(error), str(error.with_near(""))) == ("there is no shpo; run: mk shpo",) * 2
    assert (
        str(error.with_near(" (did you mean shop?)")) == "there is no shpo (did you mean shop?); to create it, run: mk shpo"
    )


@pytest.mark.parametrize(
    ("text", "dataset", "table"),
    [
        ("dataset shpo: Not found: Dataset my-project:shpo was not found in location US", "shpo", None),
        ("Not found: Dataset example.com:p:shpo", "shpo", None),
        ("the query: Not found: Table my-project:shop.order-items was not found in location EU", "shop", "order-items"),
        ("Not found: Table local.shop.customer_v_1", "shop", "customer_v_1"),
        ("Not found: View shop.customer", "shop", "customer"),
    ],
)
def test_what_bigquery_did_not_find_is_named(text: str, dataset: str, table: str | None) -> None:
    error = not_found(text)
    assert isinstance(error, NameNotFound)
    assert (str(error), error.dataset, error.table) == (text, dataset, table)


def test_what_is_neither_a_dataset_nor_a_table_has_no_name() -> None:
    assert type(not_found("Not found: Job my-project:EU.job")) is NotFound
