"""The lines of a run that alarms watch for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.registries import schema
from support.shred_events import parsed, registry_of

from onefold.events.shred.alarms import log_late, log_run
from onefold.events.shred.bad_reasons import (
    MOST_KEPT,
    MOST_REASONS,
    count_reasons,
    most_frequent,
    pattern_of,
    unknown_schemas,
)
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.manifest import RunManifest
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.runs import ShredRuns
from onefold.events.shred.shredder import Shredder

NOW = datetime(2026, 11, 23, 10, tzinfo=UTC)
OUTPUT = "gs://lake/shredded"
UNKNOWN = "the registry has no schema iglu:com.acme/x/jsonschema/1-0-0: add it, then shred the bad row again"


def logged(
    capsys: pytest.CaptureFixture[str], bad: int, reasons: Mapping[str, int], known: tuple[str, ...] = ()
) -> list[Any]:
    manifest = RunManifest(
        "2026-11-23-08-00-00",
        "csv",
        "none",
        "r",
        (),
        (),
        (),
        100,
        {"invalid": bad} if bad else {},
        NOW,
        NOW,
        reasons=reasons,
    )
    log_run(OUTPUT, manifest, known, bad_percent=5)
    output = capsys.readouterr()
    assert output.out == ""
    return [json.loads(line) for line in output.err.splitlines()]


def test_a_run_without_bad_rows_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = logged(capsys, 0, {})
    assert (line["event"], line["severity"]) == ("run_shredded", "NOTICE")
    assert (line["run"], line["output"], line["events"], line["bad"]) == ("2026-11-23-08-00-00", OUTPUT, 100, 0)


def test_more_bad_rows_than_the_limit_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line["event"] for line in logged(capsys, 5, {})] == ["run_shredded"]
    line = logged(capsys, 6, {})[1]
    assert (line["event"], line["severity"], line["bad_percent"], line["limit_percent"]) == (
        "many_bad_events",
        "ERROR",
        6.0,
        5,
    )


def test_only_reasons_that_no_earlier_run_had_are_new(capsys: pytest.CaptureFixture[str]) -> None:
    assert [one["event"] for one in logged(capsys, 1, {"a": 1}, known=("a",))] == ["run_shredded"]
    line = logged(capsys, 1, {"a": 1, "b": 2}, known=("a",))[1]
    assert (line["event"], line["severity"], line["reasons"]) == ("new_bad_reason", "ERROR", {"b": 2})


def test_a_schema_that_the_registry_lacks_has_an_event_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    line = logged(capsys, 1, {UNKNOWN: 1})[1]
    assert (line["event"], line["severity"], line["schemas"]) == (
        "unknown_schema",
        "ERROR",
        ["iglu:com.acme/x/jsonschema/1-0-0"],
    )
    assert [one["event"] for one in logged(capsys, 1, {UNKNOWN: 1, "b": 1})[1:]] == ["unknown_schema", "new_bad_reason"]
    assert len(logged(capsys, 1, {UNKNOWN: 1}, known=(UNKNOWN,))) == 1


def test_the_shredder_says_by_its_reasons_which_schemas_the_registry_lacks() -> None:
    shredder = Shredder(plan_shred(registry_of(schema("1-0-0")), "csv", "self-describing", NOW))
    uris = ["iglu:com.acme/other/jsonschema/1-0-0", "iglu:com.acme/ad_click/jsonschema/1-0-9"]
    bad = [shredder.shred(json.dumps({"schema": uri, "data": {}})).bad for uri in uris]
    counts: Counter[str] = Counter()
    count_reasons(counts, [one for one in bad if one])
    assert unknown_schemas(counts) == sorted(uris)


@pytest.mark.parametrize(
    ("reason", "pattern"),
    [
        ('u: /a/10: "say \\"x\\" 5" is not of type "integer"', 'u: /a/N: "..." is not of type "integer"'),
        ('u: /a: "cut off', 'u: /a: "..."'),
        ("u: 17.5 is greater than the maximum of 9", "u: N.N is greater than the maximum of N"),
        ('u: "id" is a required property', 'u: "id" is a required property'),
    ],
)
def test_a_reason_is_known_by_its_text_without_values(reason: str, pattern: str) -> None:
    assert pattern_of(reason) == pattern


def test_a_bad_row_counts_once_for_each_pattern_and_patterns_are_limited() -> None:
    counts: Counter[str] = Counter()
    count_reasons(counts, [BadRow("invalid", ("/a/1", "/a/2", "b"), ""), BadRow("invalid", ("b",), "")])
    assert counts == {"/a/N": 1, "b": 2}
    count_reasons(counts, [BadRow("invalid", (f"reason {'x' * number}", "b"), "") for number in range(MOST_REASONS)])
    assert (len(counts), counts["b"]) == (MOST_REASONS, MOST_REASONS + 2)
    kept = most_frequent(counts)
    assert (len(kept), next(iter(kept))) == (MOST_KEPT, "b")


def test_an_unknown_schema_is_kept_however_many_other_reasons_there_are() -> None:
    counts: Counter[str] = Counter()
    count_reasons(counts, [BadRow("invalid", ("x" * number,), "") for number in [*range(2 * MOST_REASONS)] * 2])
    count_reasons(
        counts, [BadRow("unknown_schema", (f"{UNKNOWN}{'x' * number}",), "") for number in range(2 * MOST_REASONS)]
    )
    assert len(counts) == 2 * MOST_REASONS
    kept = [*most_frequent(counts)]
    assert (len(kept), sum(map(bool, map(unknown_schemas, ([one] for one in kept))))) == (MOST_KEPT, MOST_KEPT // 2)


MADE_UP = st.text(st.sampled_from("§'\"\\:/ a1"), min_size=1, max_size=8).map(lambda text: f"§{text}")
"""Keys that an event makes up; the sign says where one shows."""
OPEN = parsed(
    {
        "properties": {"known": {"type": "integer"}, "open": {"additionalProperties": {"type": "integer"}},
                       "inner": {"additionalProperties": {"additionalProperties": False}}},
        "patternProperties": {"^§a": {"maximum": 5}}, "additionalProperties": False,
    },
    name="open",
)  # fmt: skip
SHREDDERS = [
    Shredder(plan_shred(registry_of(OPEN), "csv", form, NOW, unknown))
    for form in ("self-describing", "enriched-json") for unknown in ("bad_event", "keep_json")
]  # fmt: skip


@given(MADE_UP, MADE_UP)
def test_no_reason_without_values_has_a_key_that_an_event_made_up(key: str, other: str) -> None:
    data = {key: 7, "known": other, "open": {key: other}, "inner": {key: {other: 1}}}
    entity = {"schema": OPEN.key.uri, "data": data}
    no_schema = {"schema": f"iglu:com.acme/{key}/jsonschema/1-0-0", "data": {}}
    contexts = {"schema": "iglu:a/b/jsonschema/1-0-0", "data": [entity, {**entity, key: 1}, no_schema, {key: other}]}
    records = [entity, {**entity, key: 1}, {key: 1}, no_schema, {f"contexts_{key}": 1, key: other, "contexts": contexts}]
    lines = [*map(json.dumps, records), f"{{{json.dumps(key)}: 1, {json.dumps(key)}: 2}}"]
    reasons = [one for shredder in SHREDDERS for line in lines if (bad := shredder.shred(line).bad) for one in bad.reasons]
    assert any("§" in reason for reason in reasons)
    assert not [reason for reason in map(pattern_of, reasons) if "§" in reason]


@pytest.mark.parametrize(
    ("finished", "unfinished", "late"),
    [
        ([], ["08-59-59", "09-00-00", "09-00-01"], ["08-59-59", "09-00-00"]),
        (["09-30-00"], ["08-29-59", "08-30-00", "08-30-01"], ["08-30-01"]),
    ],
)
def test_a_run_is_late_after_an_hour_until_a_later_one_has_read_its_files(
    finished: list[str], unfinished: list[str], late: list[str]
) -> None:
    names = [frozenset(f"2026-11-23-{one}" for one in some) for some in (finished, unfinished)]
    assert ShredRuns(*names).late(NOW) == [f"2026-11-23-{one}" for one in late]


def test_late_runs_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_late(OUTPUT, ["2026-11-23-08-00-00"], 2.04)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["severity"], line["runs"]) == ("run_without_manifest", "ERROR", ["2026-11-23-08-00-00"])
    assert line["age_hours"] == 2.0
