"""A view over the versions of a table, in the fake BigQuery, with the annotations of its columns."""

from __future__ import annotations

from support.fake_bigquery import Crash, FakeBigQuery, Request
from support.rest import PROJECT, Resource

from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, Warehouse

BASE = TableId(PROJECT, "shop", "customer")
VIEW = BASE.sibling("customer_unified")
QUERY = f"SELECT * FROM `{PROJECT}.shop.customer_v_abc`"
OTHER_QUERY = f"SELECT * FROM `{PROJECT}.shop.customer_v_abc` -- again"
TAGS = {"names": ["projects/p/locations/eu/taxonomies/1/policyTags/2"]}


def stored_view(warehouse: Warehouse) -> StoredView:
    stored = warehouse.get_view(VIEW)
    assert stored
    return stored


def annotate(resource: Resource) -> None:
    """Annotate columns as people do: a description and a policy tag, and a description of a nested field."""
    id_, address = resource["schema"]["fields"]
    id_["description"] = "The number on the card.\nNever `NULL`."
    id_["policyTags"] = TAGS
    address["fields"][1]["description"] = "Five digits."


def describe(resource: Resource) -> None:
    resource["schema"]["fields"][0]["description"] = "The number on the card."


def annotated(cloud: FakeBigQuery) -> bool:
    id_, address = cloud.resource("customer_unified")["schema"]["fields"]
    return (id_.get("description"), id_.get("policyTags"), address["fields"][1].get("description")) == (
        "The number on the card.\nNever `NULL`.",
        TAGS,
        "Five digits.",
    )


def die_after(cloud: FakeBigQuery, kind: str, error: Exception | None = None, before_that: int = 0) -> None:
    """Lose the answer to a request of a kind that is carried out: the next one, or the one after `before_that` others."""
    pending: list[Exception | None] = [error or Crash(), *[None] * before_that]

    def after(request: Request) -> None:
        if request.kind == kind and pending and (lost := pending.pop()):
            raise lost

    cloud.after = after
