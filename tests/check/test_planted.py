"""Planted differences on real servers, with writers beside: all are found, nothing else is, and a repair ends them."""

from __future__ import annotations

import random

from support.check_scene import CheckScene
from support.checked_table import fill, writers
from support.database_servers import MariaDb, MySql
from support.source_database import on

from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT

pytestmark = on(MariaDb, long=MySql)

SPOILED = {
    "UPDATE {} SET name = CONCAT(name, ' ') WHERE id = %d": ("name",),
    "UPDATE {} SET name = CONCAT('Zoe\u0308 ', CAST(id AS STRING)) WHERE id = %d": ("name",),
    "UPDATE {} SET name = NULL WHERE id = %d": ("name",),
    "UPDATE {} SET price = CAST('%p' AS BIGNUMERIC) WHERE id = %d": ("price",),
    "UPDATE {} SET rate = rate * 1.0000000000000003 WHERE id = %d": ("rate",),
    "UPDATE {} SET data = CONCAT(data, b'\\x01') WHERE id = %d": ("data",),
    "UPDATE {} SET doc = %s WHERE id = %d": ("doc",),
    "DELETE FROM {} WHERE id = %d": (),
}


def test_fifty_planted_differences_are_found_and_nothing_else_while_writers_run(
    scene: CheckScene, chance: random.Random
) -> None:
    fill(scene, 300)
    scene.pull()
    document = "'[]'" if scene.source.on_mariadb else "JSON '[]'"  # MariaDB has JSON as text
    planted: set[tuple[str, str, str]] = set()
    with writers(scene, 1_000):
        for number, key in enumerate(chance.sample(range(1, 280), 50)):
            kind = number % (len(SPOILED) + 1)
            if kind == len(SPOILED):
                scene.source.run(f"DELETE FROM t WHERE id = {key}")
                planted.add((ONLY_RIGHT, str(key), ""))
                continue
            statement, columns = list(SPOILED.items())[kind]
            ((price,),) = scene.source.rows(f"SELECT CAST(price AS CHAR) FROM t WHERE id = {key}")
            # Its 30th decimal.
            other = f"{price[:-1]}{(int(price[-1]) + 1) % 10}"
            scene.spoil(statement.replace("%d", str(key)).replace("%s", document).replace("%p", other))
            planted.add((DIFFERENT if columns else ONLY_LEFT, str(key), "".join(columns)))
        found = scene.check_one(padding_minutes=30, rows=200)
    sentences = [sentence for chunk in found.chunks for sentence in chunk.findings]
    assert {_parts(sentence) for sentence in sentences} == planted
    assert len(sentences) == 50
    assert found.outcome == "different"
    assert found.counts
    missing = sum(kind == ONLY_LEFT for kind, *_ in planted) - sum(kind == ONLY_RIGHT for kind, *_ in planted)
    assert found.counts.source - found.counts.warehouse == missing
    with writers(scene, 1_000_000):  # which the first ones reach on no machine
        assert scene.check_one(padding_minutes=30, fix=True).outcome == "fixed"
        assert scene.check_one(padding_minutes=30).outcome == "same"


def _parts(sentence: str) -> tuple[str, str, str]:
    key = sentence.split('id="')[1].split('"')[0]
    if sentence.startswith("`"):
        return DIFFERENT, key, sentence.split("`")[1]
    return (ONLY_LEFT if sentence.endswith("is missing in BigQuery") else ONLY_RIGHT), key, ""
