"""The key `sources` of onefold.yaml: what it gives, and every problem of it at once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.core.names import TableId
from onefold.settings.environment import load_settings
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn, dataset_of, pull_of

FULL = """
sources:
  fraud:
    host: db.example.com
    port: 3307
    user: reader
    password: projects/p/secrets/fraud-db
    tls: {mode: encrypt}
    time_zone: Europe/Berlin
    databases: [models, cards]
    tables:
      models.score: {watermark: updated_at, pull_overlap: 30m, drop: [pan], reload_days: 3}
      "*_log": {mode: incremental, watermark: {column: at, from: unix_seconds}}
      event: {watermark: id, pull_overlap: 500}
      "*": {mode: full}
    exclude: [cards.old_*, "tmp[[]1]"]
"""


def read(tmp_path: Path, text: str) -> dict[str, Source]:
    path = tmp_path / "onefold.yaml"
    path.write_text(text, encoding="utf-8")
    return dict(load_settings({}, path).sources)


def test_a_source_with_all_its_settings(tmp_path: Path) -> None:
    (source,) = read(tmp_path, FULL).values()
    assert (source.cluster, source.host, source.port, source.user) == ("fraud", "db.example.com", 3307, "reader")
    assert (source.password, source.tls, source.time_zone) == (
        "projects/p/secrets/fraud-db",
        Tls("encrypt"),
        "Europe/Berlin",
    )
    assert source.databases == ("models", "cards")
    score = TableLoad("incremental", WatermarkColumn("updated_at"), timedelta(minutes=30), ("pan",), 3)
    assert source.load_of("models", "score") == score
    assert source.load_of("cards", "score") == TableLoad("full")
    assert source.load_of("cards", "a_log") == TableLoad("incremental", WatermarkColumn("at", unix_seconds=True))
    assert source.load_of("cards", "event") == TableLoad("incremental", WatermarkColumn("id"), 500)


def test_an_excluded_table_is_not_pulled_and_keeps_the_settings_of_its_view(tmp_path: Path) -> None:
    (source,) = read(tmp_path, FULL).values()
    pulled = {
        name: source.load_of(*name.split(".")) is not None
        for name in ("cards.old_log", "models.old_log", "models.tmp[1]", "models.tmp1")
    }
    assert pulled == {"cards.old_log": False, "models.old_log": True, "models.tmp[1]": False, "models.tmp1": True}
    load = pull_of([source], TableId("p", "fraud_cards", "old_log"))
    assert load == TableLoad("incremental", WatermarkColumn("at", unix_seconds=True))


def test_certificates_are_verified_by_default_and_a_table_without_a_pattern_is_not_pulled(tmp_path: Path) -> None:
    (source,) = read(tmp_path, "sources: {a: {host: h, user: u, password: env:P, databases: [b]}}").values()
    assert (source.tls, source.port, source.time_zone) == (Tls("verify"), 3306, "UTC")
    assert source.load_of("b", "t") is None


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("sources: [a]", ["sources: expected a mapping"]),
        ("sources: {a: 7}", ["sources.a: expected a mapping"]),
        ("sources: {a: {}}", [f"sources.a.{key}: missing" for key in ("host", "user", "password", "databases")]),
        (
            "sources: {1a: {host: h, user: u, password: env:P, databases: [b]}}",
            ["sources.1a: expected the name of a source, which begins with a letter"],
        ),
        (
            "sources: {a: {host: h/x, user: u, password: env:P, databases: b, port: 0, time_zone: Mars, tls: {mode: no}}}",
            [
                "sources.a.host: expected the name or the address",
                "sources.a.port: expected a whole number from 1 to 65535",
                "sources.a.time_zone: 'Mars' is unknown", "sources.a.databases: expected a list of names",
            ],
        ),
        (
            "sources: {a: {host: h, user: u, password: env:P, databases: [b], tls: {mode: maybe, x: 1}, colour: 1}}",
            ["sources.a.colour: not a setting", "sources.a.tls.x: not a setting", "sources.a.tls.mode: expected verify"],
        ),
        (
            "sources: {a: {host: h, user: u, password: env:P, databases: [b], tables: {t: {mode: often}, "
            "u: {mode: incremental}, v: {mode: full, watermark: x}, w: {watermark: {column: x, from: y}}, "
            "n: {mode: incremental, watermark: }, m: {watermark: 7}, "
            "x: {pull_overlap: long}, y: {drop: a}, z: {reload_days: 0, size: 1}, e: {watermark: }}}}",
            [
                "sources.a.tables.t.mode: expected incremental or full, got 'often'",
                "sources.a.tables.u: an incremental table needs a `watermark`",
                "sources.a.tables.v: a full load has no `watermark`",
                "sources.a.tables.w.watermark.from: expected unix_seconds, got 'y'",
                "sources.a.tables.n: an incremental table needs a `watermark`",
                "sources.a.tables.m.watermark: expected a column, or {column: NAME, from: unix_seconds}, got 7",
                "sources.a.tables.x.pull_overlap: expected a time, as 15m, or a number of keys",
                "sources.a.tables.y.drop: expected a list of names",
                "sources.a.tables.z.reload_days: expected a whole number from 1 to 366",
                "sources.a.tables.z.size: not a setting",
                "sources.a.tables.e.watermark: `watermark` is empty: name a column",
            ],
        ),
        (
            "sources: {a_b: {host: h, user: u, password: env:P, databases: [c]}, "
            "a: {host: h, user: u, password: env:P, databases: [b_c, x-y, x_y]}}",
            [
                "sources.a_b database c and sources.a database b_c would both be the dataset a_b_c",
                "sources.a database x-y and sources.a database x_y would both be the dataset a_x_y",
            ],
        ),
    ],
)  # fmt: skip
def test_every_problem_is_reported_with_its_key(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(tmp_path, text)
    for problem in problems:
        assert sum(problem in line for line in error.value.problems) == 1, error.value.problems


def test_a_password_in_the_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    for password in ("hunter2", "1234567", "2026-01-01", "[hunter2]", "{value: hunter2}", "yes"):
        with pytest.raises(InvalidSettings) as error:
            read(tmp_path, f"sources: {{a: {{host: h, user: u, password: {password}, databases: [b]}}}}")
        assert "sources.a.password: expected " in str(error.value)
        assert not [one for one in ("hunter2", "1234567", "2026-01-01", "yes") if one in str(error.value)]


def test_a_password_at_the_wrong_place_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(tmp_path, "sources: {a: hunter2, b: {host: h, user: u, passwort: hunter2, databases: [b], tls: hunter2}}")
    assert "hunter2" not in str(error.value)
    assert "sources.b.passwort: not a setting (did you mean password?)" in str(error.value)


def test_datasets_have_allowed_characters() -> None:
    assert dataset_of("fraud-1", "модели") == "fraud_1_______"
