"""The key of a captured table: what its versions declare, what its rows name, and what its base was made with."""

from __future__ import annotations

from typing import cast

import pytest
from support.tenants import ONE, SINCE, TWO
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.core.errors import InvalidInput, NothingToMerge, OnefoldError, SchemaConflict
from onefold.core.names import TableId
from onefold.merge.change_tables import ChangeTable
from onefold.merge.keys import captured_keys, still_key
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.schema.types import STRING
from onefold.schema.versions import Version

TABLE = TableId("my-project", "shop", "customer")
TENANT = ("source_name", "database_name")
CHANGES = tuple(ChangeTable(TABLE.sibling(one.name), Version(one.version, one.columns), SINCE) for one in (ONE, TWO))
BY_HAND = "name the columns of the key with --keys, or as `keys` of the table in onefold.yaml"
ANEW = f"drop {TABLE}_base, for the next merge to make it anew by the present key; to keep the base's, {BY_HAND}"
OR = "or exclude some from capture and delete their rows; or"
SO = "for customer under `tables` in onefold.yaml, so that no row hides another"

Keys = dict[str, str]
"""The key that the latest change of each tenant names, as JSON, by `source/database`."""


def told(declared: tuple[tuple[str, ...], ...], new: Keys, all_: Keys | None = None) -> ToldWarehouse:
    """Return a warehouse of captured versions.

    Args:
        declared: the columns that each version declares, without those of the tenant.
        new: what the rows tell that no merge has read.
        all_: what all rows tell, where that is something else.
    """
    keys = dict(zip((one.id for one in CHANGES), declared, strict=True))
    tables = {id_: StoredTable((), CREATED, primary_key=(*TENANT, *key) if key else ()) for id_, key in keys.items()}

    def rows(found: Keys) -> list[dict[str, object]]:
        split = ((tenant.split("/"), key) for tenant, key in found.items())
        return [
            {"source_name": source, "database_name": database, "primary_key": key, "_position": "1"}
            for (source, database), key in split
        ]

    return ToldWarehouse(tables, answers=[("WHERE v.", rows(new)), ("FROM", rows(new if all_ is None else all_))])


def key_of(warehouse: ToldWarehouse, base_keys: tuple[str, ...] = ()) -> tuple[str, ...]:
    return captured_keys(cast("BaseWarehouse", warehouse), TABLE, CHANGES, base_keys)


ID, CODE, BOTH = '["id"]', '["code"]', '["id", "code"]'
NONE: tuple[tuple[str, ...], ...] = ((), ())


@pytest.mark.parametrize(
    ("declared", "new", "key"),
    [
        ((("id",), ()), {}, ("id",)),
        ((("Id",), ("ID",)), {}, ("Id",)),
        ((("ID",), ()), {"eu/a": ID}, ("ID",)),
        ((("code",), ()), {"eu/a": ID}, ("id",)),
        ((("id",), ("code",)), {"eu/a": CODE}, ("code",)),
        (NONE, {"eu/a": BOTH, "eu/b": '["CODE", "ID"]'}, ("id", "code")),
    ],
    ids=[
        "declared before a row has landed",
        "declared by two versions in other cases",
        "declared and named, spelled as declared",
        "named by rows and not as declared, which is older",
        "declared differently",
        "named by rows alone",
    ],
)
def test_without_a_base_the_rows_tell_the_key_and_until_one_has_landed_what_is_declared(
    declared: tuple[tuple[str, ...], ...], new: Keys, key: tuple[str, ...]
) -> None:
    assert key_of(told(declared, new)) == (*TENANT, *key)


@pytest.mark.parametrize(
    ("declared", "new", "all_"),
    [
        (NONE, {}, None),
        (NONE, {"eu/a": ID}, None),
        ((("id",), ()), {}, None),
        ((("ID",), ()), {"eu/a": ID}, None),
        ((("code",), ()), {}, {"eu/a": ID}),
        (NONE, {"eu/a": CODE}, {"eu/a": ID}),
    ],
    ids=[
        "nothing new has landed",
        "new rows name it",
        "it is declared",
        "it is declared and named",
        "another is declared and the rows do not name that yet",
        "a late row names an earlier one",
    ],
)
def test_a_base_keeps_its_key_as_long_as_the_latest_change_of_each_tenant_names_it(
    declared: tuple[tuple[str, ...], ...], new: Keys, all_: Keys | None
) -> None:
    assert key_of(told(declared, new, all_), (*TENANT, "Id")) == (*TENANT, "Id")


def test_the_whole_history_is_read_only_where_the_new_rows_do_not_settle_the_key() -> None:
    settled, doubtful = told(NONE, {"eu/a": ID}), told(NONE, {"eu/a": CODE}, {"eu/a": ID})
    for warehouse in (settled, doubtful):
        key_of(warehouse, (*TENANT, "id"))
    assert ["WHERE" in sql for sql in settled.script] == [True]
    assert ["WHERE" in sql for sql in doubtful.script] == [True, False]


@pytest.mark.parametrize(
    ("declared", "found", "base_keys", "error", "problems"),
    [
        (NONE, {}, (), NothingToMerge, [
            f"{TABLE}: no row has landed yet that tells its key: wait for the first, or {BY_HAND}",
        ]),
        ((("id",), ("code",)), {}, (), NothingToMerge, [
            f"{TABLE}: no row has landed yet that tells its key: wait for the first, or {BY_HAND}",
        ]),
        (NONE, {"eu/a": ID, "eu/b": "[]", "us/c": "null"}, (), SchemaConflict, [
            f"{TABLE}: there is no key in eu/b, us/c: give the table one there, which its next change tells; or exclude it "
            f"from capture and delete its rows; or {BY_HAND}",
        ]),
        (NONE, {"eu/a": ID, "eu/b": CODE, "eu/c": ID}, (), SchemaConflict, [
            f"{TABLE}: the key is id in eu/a, eu/c, but code in eu/b: give the table the same key everywhere, which the "
            f'next change tells; {OR} set `keys: ["source_name", "database_name", "id", "code"]` {SO}',
        ]),
        (NONE, {"eu/a": ID, "eu/b": BOTH}, (*TENANT, "id"), SchemaConflict, [
            f"{TABLE}: the key is id in eu/a, but id, code in eu/b: give the table the same key everywhere, which the next "
            f'change tells; {OR} drop {TABLE}_base and set `keys: ["source_name", "database_name", "id", "code"]` {SO}',
        ]),
        (NONE, {"eu/a": ID, "eu/b": BOTH}, (*TENANT, "code", "id"), SchemaConflict, [
            f"{TABLE}: the key is id in eu/a, but id, code in eu/b: give the table the same key everywhere, which the next "
            f'change tells; {OR} set `keys: ["source_name", "database_name", "id", "code"]` {SO}',
        ]),
        (NONE, {"eu/a": CODE, "eu/b": '["CODE"]'}, (*TENANT, "id"), SchemaConflict, [
            f"{TABLE}: the key is code by now in eu/a, eu/b, and its base was made with source_name, database_name, id: "
            f"{ANEW}",
        ]),
        ((("code",), ()), {}, (*TENANT, "id"), SchemaConflict, [
            f"{TABLE}: its versions declare the key code, and its base was made with source_name, database_name, id: {ANEW}",
        ]),
    ],
)  # fmt: skip
def test_a_key_that_would_hide_rows_is_refused_with_every_tenant_and_the_way_out(
    declared: tuple[tuple[str, ...], ...],
    found: Keys,
    base_keys: tuple[str, ...],
    error: type[OnefoldError],
    problems: list[str],
) -> None:
    with pytest.raises(error) as raised:
        key_of(told(declared, found), base_keys)
    assert (
        [*raised.value.problems] == problems if isinstance(raised.value, InvalidInput) else [str(raised.value)] == problems
    )


def test_tables_that_are_not_captured_or_are_united_have_no_key_of_tenants() -> None:
    port = cast("BaseWarehouse", ToldWarehouse())
    plain = ChangeTable(TABLE, Version("", (Column("id", STRING),)))
    united = ChangeTable(TABLE, Version("", ONE.columns), added="dataset")
    assert captured_keys(port, TABLE, [plain, united]) == ()


@pytest.mark.parametrize(
    ("declared", "still"), [(NONE, True), ((("ID",), ()), True), ((("id",), ("code",)), False), ((("code",), ()), False)]
)
def test_a_key_stands_until_a_version_declares_another(declared: tuple[tuple[str, ...], ...], still: bool) -> None:
    assert still_key(cast("BaseWarehouse", told(declared, {})), CHANGES, (*TENANT, "id")) is still
