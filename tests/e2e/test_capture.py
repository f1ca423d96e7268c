"""Tables are changed in every way there is: after each change, the views in BigQuery equal the source, row by row.

One scenario, walked step by step: the tables of two tenants, and what happens to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest
from support.database_servers import DatabaseServer
from support.end_to_end import Flow, new_dataset, new_source
from support.source_types import SAMPLES

from onefold.mysql.table import GEOMETRIES

pytestmark = pytest.mark.heavy

NORTH, SOUTH = "north", "south"
CUSTOMER = (
    "CREATE TABLE {}.customer (id INT PRIMARY KEY, name VARCHAR(30), price DECIMAL(10,2), code INT, "
    "at TIMESTAMP(3) NULL, note VARCHAR(2000) CHARACTER SET latin1)"
)
# BIGNUMERIC is left out, of which the emulator makes no table; how shapes are written is the tests' of values.
TYPES = [one for one in SAMPLES if one.bigquery != "BIGNUMERIC" and (one.type not in GEOMETRIES or one.declared == "point")]


def every_type() -> Iterator[str]:
    """A table with a column of each type, and rows with each of their values."""
    yield f"CREATE TABLE types (id INT PRIMARY KEY, {', '.join(f'c{n} {one.declared}' for n, one in enumerate(TYPES))})"
    for number, row in enumerate(zip_longest(*([literal for literal, _ in one.values] for one in TYPES), fillvalue="NULL")):
        yield f"INSERT IGNORE INTO types VALUES ({number}, {', '.join(row)})"


@dataclass(frozen=True)
class Step:
    """Statements at the source, in the database of the north if none is named."""

    name: str
    statements: tuple[str, ...]
    tables: tuple[str, ...]


def step(name: str, *statements: str, tables: tuple[str, ...] = ("customer",)) -> Step:
    return Step(name, statements, tables)


STEPS = [
    step(
        "rows that were there before",
        CUSTOMER.format(NORTH),
        CUSTOMER.format(SOUTH),
        "INSERT INTO customer VALUES (1, 'Ada', 0.50, 1, '2024-02-29 03:04:05.678', 'é'), (2, '日本', NULL, 2, NULL, '')",
        "INSERT INTO south.customer VALUES (1, 'of the south', -1, NULL, NULL, NULL), (2, NULL, NULL, NULL, NULL, NULL)",
    ),
    step(
        "new rows",
        "INSERT INTO customer VALUES (3, 'c', 3, 3, NULL, 'x'), (4, 'd', 4, 4, NULL, 'x'), (5, 'e', 5, 5, NULL, 'x')",
        "INSERT INTO south.customer VALUES (3, 'c of the south', 3, 3, NULL, 'x')",
    ),
    step(
        "rows that change",
        "UPDATE customer SET name = 'new', price = price + 1 WHERE id > 2",
        "UPDATE customer SET at = NULL",
    ),
    step(
        "keys that change",
        "UPDATE customer SET id = 100 WHERE id = 1",
        "UPDATE customer SET id = id + 1 WHERE id IN (4, 5) ORDER BY id DESC",
        "UPDATE customer SET id = id - 1 WHERE id IN (5, 6) ORDER BY id",
    ),
    step("rows that go", "DELETE FROM customer WHERE id = 2", "DELETE FROM south.customer WHERE id = 1"),
    step("a key that comes again", "INSERT INTO customer (id, name) VALUES (2, 'again'), (1, 'once more')"),
    step(
        "rows that replace others",
        "REPLACE INTO customer (id, name) VALUES (2, 'replaced'), (6, 'new')",
        "INSERT INTO customer (id, name) VALUES (6, 'x'), (7, 'y') ON DUPLICATE KEY UPDATE name = 'known'",
    ),
    step(
        "a row too large for a message",
        "INSERT INTO customer (id, note) VALUES (8, REPEAT('ü', 2000)), (9, 'short')",
        "UPDATE customer SET note = REPEAT('z', 2000) WHERE id = 9",
    ),
    step(
        "a column added in the middle",
        "ALTER TABLE customer ADD COLUMN mail VARCHAR(40) AFTER name",
        "INSERT INTO customer (id, mail) VALUES (10, 'a@b')",
        "UPDATE customer SET mail = 'm' WHERE id = 1",
    ),
    step(
        "a column added in the middle, with a default",
        "ALTER TABLE customer ADD COLUMN level INT NOT NULL DEFAULT 7 AFTER id",
    ),
    step(
        "the other tenant, altered later",
        "INSERT INTO south.customer (id, name) VALUES (4, 'as before')",
        "ALTER TABLE south.customer ADD COLUMN level INT NOT NULL DEFAULT 9, ADD COLUMN mail VARCHAR(40)",
        "UPDATE south.customer SET mail = 's', level = 8 WHERE id = 4",
    ),
    step(
        "a column renamed",
        "ALTER TABLE customer CHANGE name title VARCHAR(30)",
        "UPDATE customer SET title = 'titled' WHERE id = 3",
    ),
    # Further tables, since the emulator takes longer with every version of one.
    step(
        "numbers and texts that grow",
        "CREATE TABLE product (id INT PRIMARY KEY, label VARCHAR(30), price DECIMAL(10,2), code INT, rank INT)",
        "INSERT INTO product VALUES (1, 'one', 1, 1, 1), (2, '日本 é', NULL, -2, 2), (3, NULL, 0.5, 3, NULL)",
        "ALTER TABLE product MODIFY rank BIGINT, MODIFY label TEXT",
        "UPDATE product SET rank = 1099511627776 WHERE id = 3",
        tables=("product",),
    ),
    step(
        "a number that becomes a text, and a decimal with more digits",
        "ALTER TABLE product MODIFY code VARCHAR(20), MODIFY price DECIMAL(12,4)",
        "UPDATE product SET code = 'x-1', price = 0.1234 WHERE id = 1",
        tables=("product",),
    ),
    step(
        "another character set, which some letters are not in",
        "ALTER TABLE product CONVERT TO CHARACTER SET latin1",
        tables=("product",),
    ),
    step(
        "columns that move, and one that goes",
        "ALTER TABLE product MODIFY price DECIMAL(12,4) FIRST, MODIFY code VARCHAR(20) AFTER rank",
        "INSERT INTO product (id, code) VALUES (4, NULL)",
        "ALTER TABLE product DROP COLUMN rank",
        "DELETE FROM product WHERE id = 2",
        tables=("product",),
    ),
    step(
        "a column that comes again with another type",
        "ALTER TABLE product ADD COLUMN rank VARCHAR(9) DEFAULT 'high'",
        tables=("product",),
    ),
    step(
        "a table renamed",
        "CREATE TABLE account (id INT PRIMARY KEY, name VARCHAR(30))",
        "CREATE TABLE south.account (id INT PRIMARY KEY, name VARCHAR(30))",
        "INSERT INTO account VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "INSERT INTO south.account VALUES (1, 'a of the south'), (2, 'b of the south')",
        "RENAME TABLE account TO client",
        "INSERT INTO client VALUES (12, NULL)",
        tables=("client", "account"),
    ),
    step(
        "and back again",
        "DELETE FROM client WHERE id = 2",
        "ALTER TABLE client RENAME account",
        tables=("client", "account"),
    ),
    step("a table emptied", "TRUNCATE south.account", "INSERT INTO south.account (id) VALUES (2)", tables=("account",)),
    step(
        "a table dropped, and made again in another form",
        "DROP TABLE account",
        "CREATE TABLE account (id INT PRIMARY KEY, born DATE, price DECIMAL(12,4))",
        "INSERT INTO account VALUES (1, '1815-12-10', 0.0001), (4, NULL, NULL)",
        tables=("account",),
    ),
    step(
        "rows that follow another table's",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) "
        "ON DELETE CASCADE ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1), (2), (3)",
        "INSERT INTO child VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, NULL)",
        tables=("child", "parent"),
    ),
    step(
        "and go with it",
        "DELETE FROM parent WHERE id = 1",
        "UPDATE parent SET id = 9 WHERE id = 2",
        tables=("child", "parent"),
    ),
    step("rows of every type", *every_type(), tables=("types",)),
]


ON_MYSQL = (
    "rows that were there before", "rows that change", "keys that change", "rows that go", "a row too large for a message",
    "a column added in the middle, with a default", "rows that follow another table's", "and go with it",
)  # fmt: skip


class Walk:
    """The scenario, played as far as the tests have needed it."""

    def __init__(self, flow: Flow, steps: Iterable[Step]) -> None:
        self.flow = flow
        self._steps = iter(steps)
        self._done: set[str] = set()

    def to(self, name: str) -> None:
        while name not in self._done:
            step = next(self._steps)
            self.flow.run(*step.statements)
            self.flow.capture(snapshot=True)
            self._done.add(step.name)


@contextmanager
def walk_on(server: DatabaseServer, emulator_host: str, folder: Path, steps: Iterable[Step]) -> Iterator[Walk]:
    with new_source(server, NORTH, SOUTH) as source:
        dataset = new_dataset(emulator_host, f"walk_{type(server).__name__.lower()}")
        yield Walk(Flow(source, dataset, folder, (NORTH, SOUTH), limit=2_000), steps)


@pytest.fixture(scope="module")
def walk(mariadb: DatabaseServer, emulator_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with walk_on(mariadb, emulator_host, tmp_path_factory.mktemp("walk"), STEPS) as walk:
        yield walk


@pytest.fixture(scope="module")
def mysql_walk(mysql: DatabaseServer, emulator_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    steps = [step for step in STEPS if step.name in ON_MYSQL]
    with walk_on(mysql, emulator_host, tmp_path_factory.mktemp("walk"), steps) as walk:
        yield walk


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_views_equal_the_source_after(walk: Walk, step: Step) -> None:
    check(walk, step)


@pytest.mark.long
@pytest.mark.parametrize("step", [step for step in STEPS if step.name in ON_MYSQL], ids=lambda step: step.name)
def test_views_equal_the_source_on_mysql_after(mysql_walk: Walk, step: Step) -> None:
    check(mysql_walk, step)


def check(walk: Walk, step: Step) -> None:
    walk.to(step.name)
    for table in step.tables:
        walk.flow.check(table)
