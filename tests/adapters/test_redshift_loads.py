"""Tables of events in Redshift: the real client of AWS, statements on a real PostgreSQL, files in moto's S3."""

from __future__ import annotations

import boto3
import pytest
from support.redshift_loads import FULL, TABLE, load_all, recorded, rows, warehouse
from support.redshift_runs import BUCKET, READ_AT, event_table, run_address, stored
from support.redshift_server import SCHEMA, RedshiftServer

from onefold.adapters.redshift import loads as redshift_loads
from onefold.core.errors import LimitExceeded, NotFound, Rejected, TryAgain
from onefold.ports.event_tables import EventTable, EventTableLoad, FoundTable


def test_a_run_is_loaded_and_recorded_once(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a", "n": 1, "text": "x"}], [{"id_": "b", "n": None, "text": None}])
    (result,) = load_all([load])
    assert result.error is None
    assert result.job
    (again,) = load_all([load])
    assert (again.error, again.job) == (None, "")
    assert rows(redshift) == [("a", 1, "x"), ("b", None, None)]
    assert recorded(redshift) == [(run_address(1), TABLE.name, 2)]
    assert warehouse().recorded([run_address(1), run_address(2)]) == {(run_address(1), TABLE.name)}


@pytest.mark.parametrize("gzipped", [False, True])
def test_rows_are_what_the_files_mean(redshift: RedshiftServer, gzipped: bool) -> None:
    table = event_table(t="VARCHAR(60)", b="BOOLEAN", d="DATE", f="DOUBLE PRECISION", c="CHAR(3)", m="DECIMAL(36,2)")
    texts = ["tab\there", "line\nbreak", "cr\r\nlf", 'quote " and ""', "back\\slash", "", "ä€😀", " space ", "\\", "\\t"]
    given = [{"id_": f"{number:03}", "t": text, "b": number % 2 == 0} for number, text in enumerate(texts)]
    given.append({"id_": "900", "d": "2026-02-28", "f": 1e-7, "c": "abc", "m": "12.34"})
    assert load_all([stored(1, table, given, gzipped=gzipped)])[0].error is None
    found = rows(redshift, table, "root_id, t, b, d, f, c, m")
    assert [row[1] for row in found] == [*texts, None]
    assert [row[2] for row in found] == [*(number % 2 == 0 for number in range(len(texts))), None]
    assert [str(value) for value in found[-1][3:]] == ["2026-02-28", "1e-07", "abc", "12.34"]


def test_the_text_that_means_null_keeps_the_escape_of_its_file(redshift: RedshiftServer) -> None:
    given = [{"id_": str(number), "text": text} for number, text in enumerate(["\\N", "\\\\N", "N", None])]
    assert load_all([stored(1, TABLE, given)])[0].error is None
    assert [row[2] for row in rows(redshift)] == ["\\\\N", "\\\\\\N", "N", None]
    # The expression of the documentation gives the text of the event again.
    original = r"CASE WHEN text ~ '^\\\\+N$' THEN RIGHT(text, LENGTH(text) - 1) ELSE text END"
    assert [row[2] for row in rows(redshift, columns=f"root_id, n, {original}")] == ["\\N", "\\\\N", "N", None]


def test_texts_are_measured_in_bytes(redshift: RedshiftServer) -> None:
    table = event_table(text="VARCHAR(4)")
    (result,) = load_all([stored(1, table, [{"id_": "a", "text": "ok"}, {"id_": "b", "text": "äää"}])])
    assert isinstance(result.error, Rejected)
    part = f"{run_address(1)}/name={table.name}/part-0"
    assert f"{part}, line 2, column text: String length exceeds DDL length" in str(result.error)
    assert rows(redshift, table, "root_id, text") == []
    assert recorded(redshift) == []


def test_a_table_that_fails_leaves_the_other_tables_of_the_run_alone(redshift: RedshiftServer) -> None:
    loads = [
        stored(1, event_table(f"com_acme_{name}_1", n="INT"), [{"id_": name, "n": "x" if name in "bd" else 1}])
        for name in "abcde"
    ]
    results = load_all(loads)
    assert [result.error is None for result in results] == [True, False, True, False, True]
    for result in results:
        if result.error:
            assert f"{FULL}.{result.table}: ERROR: Load into table '{result.table}' failed" in str(result.error)
    assert [name for _, name, _ in recorded(redshift)] == [f"com_acme_{name}_1" for name in "ace"]
    # Once the files are right, the rest is loaded, and nothing twice.
    for load, name in zip(loads, "abcde", strict=True):
        stored(1, load.table, [{"id_": name, "n": 2}])
    assert [result.error for result in load_all(loads)] == [None] * 5
    found = [rows(redshift, load.table, "root_id, n") for load in loads]
    assert found == [[("a", 1)], [("b", 2)], [("c", 1)], [("d", 2)], [("e", 1)]]


def test_a_run_of_many_tables_takes_several_transactions(redshift: RedshiftServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # 40 statements: the lock, the check, and three or five for each table; with temporary tables one for their end.
    assert redshift_loads.TABLES == {"csv": 12, "parquet": 7}
    monkeypatch.setitem(redshift_loads.TABLES, "csv", 2)
    loads = [stored(1, event_table(f"com_acme_t{number}_1", n="INT"), [{"id_": "a", "n": 1}]) for number in range(5)]
    assert [result.error for result in load_all(loads)] == [None] * 5
    assert len(recorded(redshift)) == 5
    assert sum(text.startswith("LOCK") for text in redshift.log) == 3


def test_a_file_of_before_a_migration_loads_after_it(redshift: RedshiftServer) -> None:
    later = event_table(addition=1, n="INT", text="VARCHAR(30)", more="BOOLEAN", other="BIGINT")
    late = stored(1, TABLE, [{"id_": "late", "n": 1, "text": "x"}])
    assert load_all([stored(2, later, [{"id_": "new", "n": 2, "text": 25 * "y", "more": True}])])[0].error is None
    assert load_all([late])[0].error is None
    found = rows(redshift, columns="root_id, n, text, more, other")
    assert found == [("late", 1, "x", None, None), ("new", 2, 25 * "y", True, None)]


def test_a_table_is_migrated_one_committed_statement_at_a_time(redshift: RedshiftServer) -> None:
    to = warehouse()
    to.create(TABLE)
    later = event_table(addition=1, n="INT", text="VARCHAR(30)", b="BOOLEAN", a="DATE")
    before = to.find(TABLE.name)
    assert before == FoundTable(TABLE.columns, TABLE.uri)
    redshift.log.clear()
    to.change(TABLE.name, before, later)
    place = f'ALTER TABLE "{SCHEMA}"."{TABLE.name}"'
    assert [text for text in redshift.log if text.startswith("ALTER")] == [
        f'{place} ALTER COLUMN "text" TYPE VARCHAR(30)',
        f'{place} ADD COLUMN "b" BOOLEAN ENCODE ZSTD',
        f'{place} ADD COLUMN "a" DATE ENCODE ZSTD',
    ]
    assert not any(statement.is_batch for statement in redshift.statements.values())
    assert to.find(TABLE.name) == FoundTable(later.columns, later.uri)
    to.change(TABLE.name, before, later)  # by what was found before: each step is repeatable
    assert to.find(TABLE.name) == FoundTable(later.columns, later.uri)


def test_a_column_that_somebody_added_with_another_type_is_looked_at_again(redshift: RedshiftServer) -> None:
    to = warehouse()
    to.create(TABLE)
    before = to.find(TABLE.name)
    assert before
    redshift.run(f'ALTER TABLE "{SCHEMA}"."{TABLE.name}" ADD COLUMN "more" DATE ENCODE ZSTD')
    with pytest.raises(TryAgain, match="added more as DATE: look again"):
        to.change(TABLE.name, before, event_table(n="INT", text="VARCHAR(20)", more="INT"))


def test_a_column_whose_compression_forbids_a_longer_text_is_an_error(redshift: RedshiftServer) -> None:
    fields = ",\n  ".join(f'"{name}" {type_} ENCODE TEXT32K' for name, type_ in TABLE.columns if type_.startswith("VARCHAR"))
    redshift.run(f'CREATE TABLE "{SCHEMA}"."{TABLE.name}" (\n  {fields}\n)')
    to = warehouse()
    before = to.find(TABLE.name)
    assert before
    with pytest.raises(Rejected, match="the encoding of text does not allow it"):
        to.change(TABLE.name, before, EventTable(TABLE.name, (*before.columns[:-1], ("text", "VARCHAR(30)"))))


def test_types_of_tables_by_other_loaders_hold_what_they_can() -> None:
    grown = warehouse().grown
    assert grown("VARCHAR(65535)", "VARCHAR(5000)") == "VARCHAR(65535)"
    assert grown("VARCHAR(5000)", "VARCHAR(65535)") == "VARCHAR(65535)"
    assert grown("BIGINT", "SMALLINT") == "BIGINT"
    assert grown("VARCHAR(10)", "INT") == "VARCHAR(10)"
    assert [grown("SMALLINT", "INT"), grown("CHAR(3)", "CHAR(4)"), grown("SUPER", "INT")] == [None] * 3


def test_the_events_are_a_table_without_an_envelope(redshift: RedshiftServer) -> None:
    events = EventTable("events", (("event_id", "CHAR(36)"), ("collector_tstamp", "TIMESTAMP"), ("page", "VARCHAR(9)")))
    load = stored(1, events, b"e1\t2026-11-23 07:59:59\tp\n")
    assert load_all([load])[0].error is None
    assert rows(redshift, events, "event_id, page") == [("e1", "p")]
    assert warehouse().find("events") == FoundTable(events.columns)
    (created,) = [text for text in redshift.log if text.startswith("CREATE TABLE") and "onefold_manifest" not in text]
    assert created.endswith("DISTKEY (event_id)\nSORTKEY (collector_tstamp)")


@pytest.mark.usefixtures("redshift")
def test_what_is_planned_and_loaded_is_listed_by_table() -> None:
    to = warehouse()
    assert to.histories([TABLE.name]) == {}
    load_all([stored(1, TABLE, [{"id_": "a"}])])
    wide = event_table(addition=1, n="INT", text="VARCHAR(20)", more="INT")
    to.record_plan(run_address(2), READ_AT, [wide])
    found = to.histories([TABLE.name, "com_acme_other_1"])
    assert list(found) == [TABLE.name]
    assert {(one.columns, one.uri, one.registry_read_at, one.is_loaded) for one in found[TABLE.name]} == {
        (TABLE.columns, TABLE.uri, READ_AT, False),
        (TABLE.columns, TABLE.uri, READ_AT, True),
        (wide.columns, wide.uri, READ_AT, False),
    }
    to.finish(run_address(1))
    assert to.recorded([run_address(1)]) == {(run_address(1), TABLE.name), (run_address(1), "")}


@pytest.mark.usefixtures("redshift")
def test_results_of_many_rows_are_read_to_their_end() -> None:
    to = warehouse()
    to.prepare()
    runs = [run_address(number) for number in range(11)]
    for run in runs:
        to.finish(run)
    assert to.recorded(runs) == {(run, "") for run in runs}


def test_nothing_is_recorded_where_there_is_no_manifest_table(redshift: RedshiftServer) -> None:
    assert redshift
    assert warehouse().recorded([run_address(1)]) == frozenset()


def test_a_schema_that_is_missing_is_named(redshift: RedshiftServer) -> None:
    redshift.run(f"DROP SCHEMA {SCHEMA} CASCADE")
    with pytest.raises(NotFound, match=f"{FULL} does not exist: run CREATE SCHEMA {SCHEMA}"):
        warehouse().prepare()


def test_a_view_of_the_name_of_a_table_is_an_error(redshift: RedshiftServer) -> None:
    redshift.run(f'CREATE VIEW {SCHEMA}."{TABLE.name}" AS SELECT 1 AS n')
    with pytest.raises(Rejected, match=f"{TABLE.name} is a VIEW: expected a table"):
        warehouse().find(TABLE.name)


def test_a_file_that_is_missing_is_an_error_of_its_table(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a"}])
    boto3.client("s3").delete_object(Bucket=BUCKET, Key=load.files[0].address.removeprefix(f"s3://{BUCKET}/"))
    (result,) = load_all([load])
    assert load.files[0].address in str(result.error)
    assert rows(redshift) == []


def test_files_that_tasks_left_are_not_loaded(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a"}], [{"id_": "left"}])
    whole = EventTableLoad(load.run, load.registry_read_at, load.table, load.files[:1], load.compression)
    load_all([whole])
    assert [row[0] for row in rows(redshift)] == ["a"]


def test_what_copy_cannot_read_is_refused_before_it(redshift: RedshiftServer) -> None:
    load = stored(1, TABLE, [{"id_": "a"}])
    to = warehouse()
    to.prepare()
    snappy = EventTableLoad(load.run, READ_AT, TABLE, load.files, "snappy")
    elsewhere = EventTableLoad("gs://bucket/run=1", READ_AT, TABLE, load.files, "none")
    assert "expected a compression of none, gzip, zstd, got snappy" in str(to.load([snappy])[0].error)
    assert "expected files in S3" in str(to.load([elsewhere])[0].error)
    assert not any(text.startswith("LOCK") for text in redshift.log)


def test_a_table_that_is_too_wide_for_the_manifest_table_is_refused(redshift: RedshiftServer) -> None:
    wide = event_table("com_acme_wide_1", 0, **{f"{number:04}{'x' * 100}": "VARCHAR(4096)" for number in range(600)})
    to = warehouse()
    to.prepare()
    to.record_plan(run_address(1), READ_AT, [wide, TABLE])
    assert list(to.histories([wide.name, TABLE.name])) == [TABLE.name]
    with pytest.raises(LimitExceeded, match=r"columns take .* bytes in the manifest table"):
        to.create(wide)
    assert not redshift.query(f"SELECT 1 FROM svv_tables WHERE table_name = '{wide.name}'")
