"""The state of single tables: quarantine, structures and base names, as the checkpoint keeps them."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from onefold.capture import quarantine_state as quarantine_state_module
from onefold.capture.checkpoint import Checkpoint, CopyRequest, Progress
from onefold.capture.checkpoint_json import from_json, to_json
from onefold.capture.quarantine import KnownStructure, Quarantined, TableProblem, shape_of
from onefold.capture.quarantine_state import QuarantineState
from onefold.capture.state import CaptureState
from onefold.core.errors import SchemaConflict
from onefold.landing.table import free_names, holder_of_name, versioned_table
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.table import SourceColumn, SourceType, Structure

T, U = TableName("shop", "t"), TableName("shop", "u")
INT = SourceType("int")
STRUCTURE = Structure(
    "t", (SourceColumn("id", INT), SourceColumn("e", SourceType("enum", 1), "utf8mb3", ("a", "b"))), ("id",)
)


def at(offset: int, epoch: int = 1) -> LogPosition:
    return LogPosition(epoch, "bin.000001", offset)


def entry_of(table: TableName = T, since: int = 10, until: int | None = None) -> Quarantined:
    problem = TableProblem(table, "structure", "t.a is COMPRESSED", "run: ALTER TABLE t")
    return Quarantined(problem, at(since), None if until is None else at(until))


def state_of(checkpoint: Checkpoint | None = None) -> QuarantineState:
    return QuarantineState(threading.RLock(), checkpoint or Checkpoint("s", "d"))


def reached(checkpoint: Checkpoint, offset: int) -> Checkpoint:
    return replace(checkpoint, reached=Progress(at(offset)))


FULL = Checkpoint(
    "s", "d", reached=Progress(at(5)), quarantine=(entry_of(), entry_of(U, 1, 9)), owners=(("a_b", "a b"),),
    structures=((T, KnownStructure("0123", at(3))), (TableName("shop2", "t"), KnownStructure("0123", at(4)))),
)  # fmt: skip


def test_a_checkpoint_keeps_the_state_of_single_tables() -> None:
    assert from_json(to_json(FULL)) == FULL
    assert state_of(FULL).added_to(FULL) == FULL


@pytest.mark.parametrize(("quarantine", "form"), [(FULL.quarantine, 2), ((), 1)])
def test_older_code_reads_a_checkpoint_only_where_no_table_is_in_quarantine(
    quarantine: tuple[Quarantined, ...], form: int
) -> None:
    assert json.loads(to_json(replace(FULL, quarantine=quarantine)))["form"] == form


def test_a_checkpoint_of_older_code_is_read() -> None:
    body = json.loads(to_json(Checkpoint("s", "d")))
    for name in ("quarantine", "structures", "owners"):
        del body[name]
    assert from_json(json.dumps(body).encode()) == Checkpoint("s", "d")


def test_rows_are_withheld_until_the_position_of_the_copy() -> None:
    found = state_of(FULL)
    assert [bool(found.find(T, at(offset))) for offset in (1, 10, 1000)] == [True, True, True]
    assert [bool(found.find(U, at(offset))) for offset in (1, 8, 9)] == [True, True, False]
    assert not found.find(U, at(1, epoch=2))
    assert [one.table for one in found.quarantined()] == [T]


def test_a_table_that_has_left_is_forgotten_when_the_log_is_confirmed_beyond_its_copy() -> None:
    found = state_of(FULL)
    assert [one.table for one in found.added_to(reached(FULL, 8)).quarantine] == [T, U]
    assert [one.table for one in found.added_to(reached(FULL, 9)).quarantine] == [T]


def test_a_table_in_quarantine_is_not_copied_until_it_leaves() -> None:
    state = CaptureState(
        Checkpoint("s", "d", reached=Progress(at(5)), copy_requests=(CopyRequest(T, at(1)), CopyRequest(U, at(1))))
    )
    state.enter_quarantine(entry_of())
    assert state.request_copies([T, U], at(20)) == []
    assert [one.table for one in state.checkpoint().copy_requests] == [U]
    state.leave_quarantine(entry_of(), at(50))
    assert state.request_copies([T], at(40)) == []  # the copy as of 50 shows it
    assert {one.table: one.since for one in state.checkpoint().copy_requests}[T] == at(50)


def test_a_copy_request_of_a_table_in_quarantine_waits() -> None:
    state = CaptureState(replace(FULL, copy_requests=(CopyRequest(T, at(1)),)))
    assert state.next_copy() is None


# Structures.


def test_a_structure_that_differs_from_the_last_one_was_changed_without_a_statement() -> None:
    found = state_of()
    other = replace(STRUCTURE, primary_key=())
    assert [found.changed_silently(T, one, at(place)) for place, one in enumerate([STRUCTURE, STRUCTURE, other, other])] == [
        False, False, True, False,
    ]  # fmt: skip


def test_events_before_the_last_known_structure_are_ignored() -> None:
    found = state_of()
    found.changed_silently(T, STRUCTURE, at(100))
    assert not found.changed_silently(T, replace(STRUCTURE, primary_key=()), at(99))
    assert found.changed_silently(T, replace(STRUCTURE, primary_key=()), at(101))


def test_after_a_statement_any_structure_is_expected() -> None:
    found = state_of()
    found.changed_silently(T, STRUCTURE, at(1))
    found.forget_structures([T, U])
    assert not found.changed_silently(T, replace(STRUCTURE, primary_key=()), at(2))


def test_the_structures_that_changed_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine_state_module, "MAX_STRUCTURES", 2)
    found = state_of()
    for number, name in enumerate(["t", "u", "v"]):
        found.changed_silently(TableName("shop", name), STRUCTURE, at(number))
    assert found.tables_with_structure() == [U, TableName("shop", "v")]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(STRUCTURE, columns=(STRUCTURE.columns[0], replace(STRUCTURE.columns[1], charset="utf8mb4"))), True),
        (replace(STRUCTURE, columns=(STRUCTURE.columns[0], replace(STRUCTURE.columns[1], values=("b", "a")))), False),
        (replace(STRUCTURE, columns=STRUCTURE.columns[::-1]), False),
        (replace(STRUCTURE, primary_key=("e",)), False),
    ],
)
def test_the_digest_of_a_structure_holds_what_rows_depend_on(other: Structure, same: bool) -> None:
    assert (shape_of(other) == shape_of(STRUCTURE)) == same


def test_the_digest_of_a_structure_stays_as_it_is() -> None:
    """It is kept in checkpoints: another one would copy every table after an update."""
    assert shape_of(STRUCTURE) == "9690b78cf333"


# Names.


@pytest.mark.parametrize(
    ("name", "owners", "present", "holder"),
    [
        ("a b", {}, {"a b"}, None),
        ("a b", {}, {"a b", "a_b"}, "a_b"),
        ("a_b", {}, {"a b", "a_b"}, None),
        ("a b", {"a_b": "a b"}, {"a b", "a_b"}, None),
        ("a_b", {"a_b": "a b"}, {"a b", "a_b"}, "a b"),
        ("a_b", {"a_b": "a b"}, {"a_b"}, None),
        ("a.b", {}, {"a b", "a.b"}, "a b"),
        ("a b", {}, {"a b", "a.b"}, None),
        ("a b", {"a_b": "a.b"}, {"a b", "a.b"}, "a.b"),
        ("a b", {"a_b": "a.b"}, {"a b"}, None),
        ("a-b", {}, {"a-b", "a_b"}, None),
    ],
)
def test_one_source_table_has_a_base_name(name: str, owners: dict[str, str], present: set[str], holder: str | None) -> None:
    assert holder_of_name(name, owners, present) == holder


def test_a_table_of_the_base_name_itself_takes_the_name_over() -> None:
    found = state_of()
    found.own("a b")
    assert found.owners == {"a_b": "a b"}
    found.own("a_b")
    assert found.owners == {}


@pytest.mark.parametrize(
    ("names", "renamed"),
    [
        (["a b", "a_b"], {"a b": "a_b_2"}),
        (["a b", "a-b", "a_b_2"], {"a-b": "a_b_3"}),
        (["A", "a b", "a"], {"a": "a_2"}),
        (["x" * 63 + "-", "x" * 63 + "_"], {"x" * 63 + "-": "x" * 60 + "_2"}),
    ],
)
def test_new_names_make_columns_fit(names: list[str], renamed: dict[str, str]) -> None:
    structure = Structure("t", tuple(SourceColumn(name, INT) for name in names))
    assert free_names(structure) == renamed
    versioned_table(Structure("t", tuple(SourceColumn(renamed.get(name, name), INT) for name in names)))


def test_an_unknown_type_is_named_in_the_error() -> None:
    with pytest.raises(SchemaConflict, match=r"t\.x is of the type xmltype"):
        versioned_table(Structure("t", (SourceColumn("x", SourceType("xmltype")),)))
