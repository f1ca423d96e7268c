"""Tables, keys and names that a merge refuses: each error names the table and what to do, in full."""

from __future__ import annotations

import pytest
from support.changelogs import METADATA_TYPE
from support.columns import columns
from support.told_merges import (
    BASE,
    TABLE,
    A,
    Refused,
    base,
    entry,
    log,
    told,
    version,
)
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.changelog.metadata import METADATA
from onefold.core.errors import (
    InvalidInput,
    KeyUnknown,
    NoOwnDataset,
    NothingToMerge,
    SchemaConflict,
)
from onefold.ports.warehouse import StoredTable
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.settings.environment import Settings


def with_table(warehouse: ToldWarehouse, **types: str) -> ToldWarehouse:
    warehouse.tables[TABLE] = StoredTable(columns(**types), CREATED)
    return warehouse


def near() -> ToldWarehouse:
    found = told()
    found.bases = ("customers", "orders")
    return found


def with_view() -> ToldWarehouse:
    found = told(A)
    found.views = frozenset({BASE})
    return found


REFUSED: dict[str, Refused] = {
    "no key is known": Refused(
        lambda: told(A),
        KeyUnknown,
        (
            "my-project.shop.customer: name the columns of the key with --keys, or as `keys` of the table in onefold.yaml: "
            "`tables: {shop.customer: {keys: [COLUMN]}}`",
        ),
        keys=(),
    ),
    "the base has other keys": Refused(
        lambda: told(A, stored=base(A), rows=log(entry("merge", 5, "a"))),
        InvalidInput,
        (
            "my-project.shop.customer: the keys name are not those that its base was made with, id; leave them out, or drop "
            "my-project.shop.customer_base to start again with other keys",
        ),
        keys=("name",),
    ),
    "there is nothing of the name": Refused(
        told,
        NothingToMerge,
        (
            "there is neither a change table my-project.shop.customer nor a version of it, named as customer_v_VERSION, "
            "where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in customer_v_0123abcdef: correct the name",
        ),
    ),
    "the name is nearly that of a table": Refused(
        lambda: near(),
        NothingToMerge,
        (
            "there is neither a change table my-project.shop.customer nor a version of it (did you mean customers?): "
            "correct the name",
        ),
    ),
    "all versions are retired": Refused(
        lambda: told(A),
        NothingToMerge,
        ("all versions of my-project.shop.customer are retired in onefold.yaml: there is nothing to merge",),
        settings=Settings(rules=TableRules(retired=frozenset({"a"}))),
    ),
    "services write the rows": Refused(
        lambda: told(Version("a", columns(id="INT64"))),
        NothingToMerge,
        (
            "my-project.shop.customer has nothing to merge: no version in use has datastream_metadata, by which a row is a "
            "change. Its current view shows the latest rows",
        ),
    ),
    "the table is current already": Refused(
        lambda: with_table(told(), id="INT64", **{METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}),
        NothingToMerge,
        (
            "my-project.shop.customer is current already, with one row for each key: there is nothing to merge. Datastream "
            "keeps it so; `onefold current` writes a view without the metadata",
        ),
    ),
    "the table has no key at the source": Refused(
        lambda: with_table(told(), id="INT64", **{METADATA: "STRUCT<uuid STRING, source_timestamp INT64, is_deleted BOOL>"}),
        NothingToMerge,
        (
            "my-project.shop.customer has no key at the source, so Datastream's merge mode appends all of its changes, and "
            "they cannot be merged: give it a key at the source, or have the stream write in append-only mode",
        ),
    ),
    "a version lacks the key": Refused(
        lambda: told(A, version("b", name="STRING")),
        SchemaConflict,
        (
            "my-project.shop.customer_v_b has no column id for the key; `retire` the version in onefold.yaml, or name other "
            "keys",
        ),
    ),
    "the key is of a type that no key can have": Refused(
        lambda: told(version("a", id="JSON")),
        SchemaConflict,
        ("my-project.shop.customer: the key id is JSON, which has no equality to group rows by",),
    ),
    "a table without versions lacks the key": Refused(
        lambda: with_table(told(), name="STRING", **{METADATA: METADATA_TYPE}),
        SchemaConflict,
        ("my-project.shop.customer has no column id for the key; name other keys",),
    ),
    "a table has the name of the base": Refused(
        lambda: told(A, stored=StoredTable(columns(id="INT64", _deleted="BOOL"), CREATED)),
        SchemaConflict,
        ("my-project.shop.customer_base was not written by `onefold merge`: rename it",),
    ),
    "a view has the name of the base": Refused(
        lambda: with_view(),
        SchemaConflict,
        ("my-project.shop.customer_base was not written by `onefold merge`: rename it",),
    ),
    "there is no dataset for the base": Refused(
        lambda: told(A),
        NoOwnDataset,
        (
            "my-project.shop.customer gets no base and no current view: there is no dataset shop__onefold: create it, in "
            "the location of shop. ONEFOLD_PLAIN_DATASET names another dataset",
        ),
        settings=Settings(plain={"shop.customer": PlainTable("changes", "shop__onefold")}),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_every_problem_and_what_to_do(name: str) -> None:
    REFUSED[name].check()
