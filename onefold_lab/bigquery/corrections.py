"""Corrections of `bqemulator` 1.4.0 where it differs from BigQuery, applied in the process of the server.

Each correction replaces a function of exactly this version, so no other version is started. What remains unsupported is an
error of the statement; docs/how-to/run-on-a-laptop.md lists it.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Callable
from typing import Any

from onefold.core.errors import Rejected
from onefold.core.names import problems_of_name

VERSION = "1.4.0"


def install() -> None:
    """Correct the server of this process, before it starts.

    Raises:
        Rejected: another version is installed.
    """
    found = importlib.metadata.version("bqemulator")
    if found != VERSION:
        raise Rejected(f"expected bqemulator {VERSION}, got {found}: pip install bqemulator=={VERSION}")
    # Load every module before functions are replaced, since some modules import functions by name.
    import bqemulator.server  # noqa: F401

    from onefold_lab.bigquery import parsing

    parsing.install()

    _use_one_thread()
    _correct_types()
    _correct_functions()
    _correct_translation()
    _correct_views()
    _correct_tables()
    _correct_answers()
    _correct_loads()


def _use_one_thread() -> None:
    """Let DuckDB use one thread: over a few rows others take a sixth more processor time, and answer no sooner."""
    from bqemulator.storage.engine import DuckDBEngine

    original = DuckDBEngine._apply_session_pragmas

    def apply_session_pragmas(self: DuckDBEngine) -> None:
        original(self)
        self.connection.execute("SET threads = 1")

    DuckDBEngine._apply_session_pragmas = apply_session_pragmas  # type: ignore[method-assign]


def _correct_types() -> None:
    """Keep all digits of numbers, allow any character in field names, and return declared column types."""
    from bqemulator.api.routes import tabledata
    from bqemulator.catalog import ddl_sync
    from bqemulator.jobs import executor
    from bqemulator.storage import arrow_bridge, type_map
    from sqlglot import exp
    from sqlglot.generators.duckdb import DuckDBGenerator

    from onefold_lab.bigquery import wire
    from onefold_lab.bigquery.bignumeric import STORED

    type_map._BQ_TO_DUCKDB["BIGNUMERIC"] = STORED
    _replace(type_map.bq_schema_to_duckdb_columns, wire.stored_columns)
    _replace(ddl_sync._introspect_schema, wire.introspected_schema)
    _replace(
        executor._arrow_field_to_schema_entry, functools.partial(wire.schema_entry, executor._arrow_field_to_schema_entry)
    )
    _replace(arrow_bridge._format_bq_value, functools.partial(wire.written_value, arrow_bridge._format_bq_value))
    _replace(arrow_bridge._coerce_to_arrow_value, functools.partial(wire.read_value, arrow_bridge._coerce_to_arrow_value))
    _replace(tabledata._build_insert_select, wire.inserted_columns)
    _replace(tabledata._bq_type_to_arrow, functools.partial(wire.arrow_type, tabledata._bq_type_to_arrow))
    original = DuckDBGenerator.TRANSFORMS[exp.DataType]

    def datatype_sql(self: DuckDBGenerator, type_: exp.DataType) -> str:
        """Write NUMERIC with 38 digits: DECIMAL without parameters has 18 digits in DuckDB."""
        if type_.this == exp.DataType.Type.DECIMAL and not type_.expressions:
            return "DECIMAL(38, 9)"
        return STORED if type_.this == exp.DataType.Type.BIGDECIMAL else original(self, type_)

    # Not by assignment to the method: compiled SQLGlot would go on calling its own.
    DuckDBGenerator.TRANSFORMS[exp.DataType] = datatype_sql


def _correct_functions() -> None:
    """Add the functions of this package to those that the server adds to DuckDB."""
    from bqemulator.sql import builtin_udfs

    from onefold_lab.bigquery.functions import register

    original = builtin_udfs.register_builtin_udfs

    def registered(connection: Any) -> None:
        original(connection)
        register(connection)

    _replace(original, registered)


def _correct_translation() -> None:
    """Replace casts and JSON functions by functions of this package, and count offsets from 0.

    The statement is rewritten after views were inserted. The next step of the server inserts VALUES of
    INFORMATION_SCHEMA, after which the statement is not BigQuery SQL any more.
    """
    from bqemulator.catalog import ddl_sync
    from bqemulator.jobs import executor, routine_ddl
    from bqemulator.sql import catalog_schema
    from bqemulator.sql.rewriter import (
        create_table_schema_ctas,
        division_by_zero,
        row_access_filter,
        struct_helpers,
        unnest_offset,
        unnest_struct,
    )
    from bqemulator.sql.rules.datetime_semantics import ConcatStringTypeRule
    from sqlglot import exp

    from onefold_lab.bigquery.parsing import concatenated_text, only_where, reading
    from onefold_lab.bigquery.rewriting import rebase_offsets, rewrite

    with_views = row_access_filter.rewrite_for_row_access

    def rewritten(bq_sql: str, **options: Any) -> str:
        return rewrite(with_views(bq_sql, **options))

    _replace(with_views, rewritten)
    _replace(unnest_offset._rebase_offset_columns, rebase_offsets)
    ConcatStringTypeRule.rewrite = concatenated_text  # type: ignore[method-assign, assignment]
    for function in (
        catalog_schema.build_catalog_schema,
        ddl_sync._detect_catalog_drop,
        ddl_sync._detect_create_schema,
        ddl_sync._detect_plain_create_table,
        ddl_sync._detect_plain_create_view,
        executor._parse_for_classification,
        executor._reject_dml_on_immutable,
        routine_ddl.detect_drop_routine,
    ):
        _replace(function, reading(function))
    for rewriter, kind in (
        (create_table_schema_ctas.rewrite_create_table_schema_ctas, exp.Create),
        (division_by_zero.rewrite_division_by_zero, exp.Div),
        (struct_helpers.rewrite_struct_helpers, exp.Struct),
        (unnest_offset.rewrite_unnest_offset, exp.Unnest),
        (unnest_struct.rewrite_unnest_struct, exp.Unnest),
    ):
        _replace(rewriter, only_where(rewriter, kind))


def _correct_views() -> None:
    """Quote the alias of an inserted view.

    The server replaces the name of a view by its query with the name as alias, and the name may contain a hyphen.
    """
    from bqemulator.sql.rewriter.row_access_filter import _Rewriter
    from sqlglot import exp

    def quoting(method: Callable[..., bool]) -> Callable[..., bool]:
        def quoted(self: _Rewriter, node: exp.Table, *arguments: Any, **options: Any) -> bool:
            parent = node.parent
            done = method(self, node, *arguments, **options)
            for found in parent.iter_expressions() if parent and done else ():
                if isinstance(found, exp.Subquery) and found.alias:
                    found.args["alias"].this.set("quoted", True)
            return done

        return quoted

    _Rewriter._expand_view = quoting(_Rewriter._expand_view)  # type: ignore[method-assign]
    _Rewriter._wrap_with_filter = quoting(_Rewriter._wrap_with_filter)  # type: ignore[method-assign]


def _correct_tables() -> None:
    """Return declared primary keys, list labels, allow all names that BigQuery allows, and follow renamed tables.

    A list of tables has all of them. Tables of a dataset that is missing are neither listed nor made.
    """
    from bqemulator.api.routes import tables
    from bqemulator.catalog import ddl_sync
    from bqemulator.domain.errors import ResourceRef, resource_not_found
    from bqemulator.storage import sql_identifiers

    from onefold_lab.bigquery.constraints import list_item, table_meta, table_resource
    from onefold_lab.bigquery.renames import sync_renamed_table

    _replace(tables._rest_to_table_meta, functools.partial(table_meta, tables._rest_to_table_meta))
    _replace(tables._table_to_list_item, functools.partial(list_item, tables._table_to_list_item))
    _replace(tables._table_to_rest, functools.partial(table_resource, tables._table_to_rest))
    dropped = ddl_sync.sync_dropped_object
    _replace(dropped, functools.partial(sync_renamed_table, dropped))
    listing = tables.list_tables

    def check_dataset(project_id: str, dataset_id: str, ctx: Any) -> None:
        """Check that a dataset exists.

        Raises:
            resource_not_found: it does not.
        """
        if ctx.catalog.get_dataset(project_id, dataset_id) is None:
            raise resource_not_found(ResourceRef("dataset", project_id, dataset_id))

    def list_tables(project_id: str, dataset_id: str, ctx: Any, maxResults: int = 0) -> dict[str, Any]:  # noqa: ARG001, N803
        """List all tables in one answer, as the server has no further pages."""
        check_dataset(project_id, dataset_id, ctx)
        found: dict[str, Any] = listing(project_id, dataset_id, ctx, sys.maxsize)
        return found

    insert = tables.insert_table

    async def insert_table(project_id: str, dataset_id: str, request: Any, ctx: Any) -> dict[str, Any]:
        check_dataset(project_id, dataset_id, ctx)
        made: dict[str, Any] = await insert(project_id, dataset_id, request, ctx)
        return made

    _reroute(tables, listing, list_tables, tables.router.get("/projects/{project_id}/datasets/{dataset_id}/tables"))
    _reroute(tables, insert, insert_table, tables.router.post("/projects/{project_id}/datasets/{dataset_id}/tables"))
    only_ascii = sql_identifiers._validate_sql_id

    def valid(value: str, kind: str) -> str:
        """Check a name before it becomes part of SQL: a valid name of a table has no quote, space or control character."""
        return value if kind == "table" and not problems_of_name("table", value) else only_ascii(value, kind)

    _replace(only_ascii, valid)


def _correct_answers() -> None:
    """Answer a failed `jobs.query` with an HTTP error, keep the texts of errors, and execute nothing in a dry run."""
    from bqemulator.api.routes import jobs
    from bqemulator.grpc_api import read_servicer
    from bqemulator.jobs import error_mapper, executor

    from onefold_lab.bigquery.dry_runs import AllButSelect, statement_type
    from onefold_lab.bigquery.wire import failed, named_error, read_session

    # Only of dry runs: the executor asks for the type of each statement that it runs.
    usual = executor.classify_statement_type
    jobs.classify_statement_type = functools.partial(statement_type, usual)  # type: ignore[attr-defined]
    jobs._DESTRUCTIVE_STATEMENT_TYPES = AllButSelect()  # type: ignore[assignment]
    session = read_servicer._build_read_session_response
    _replace(session, functools.partial(read_session, session))

    _replace(error_mapper.translate_runtime_error, functools.partial(named_error, error_mapper.translate_runtime_error))
    answer = jobs.query

    async def query(project_id: str, request: Any, ctx: Any, caller: Any) -> dict[str, Any]:
        found: dict[str, Any] = await answer(project_id, request, ctx, caller)
        if found.get("errors"):
            raise failed(found["errors"][0])
        return found

    _reroute(jobs, answer, query, jobs.router.post("/projects/{project_id}/queries"))


def _correct_loads() -> None:
    """Run a load job once, load Parquet by the names of columns, and add the columns of an update to the stored table."""
    from bqemulator.api.routes import jobs, tables
    from bqemulator.jobs import executor

    from onefold_lab.bigquery import loads

    envelope = jobs._handle_load_job_with_async_envelope
    _replace(envelope, functools.partial(loads.run_once, envelope))
    _replace(executor._load_path_into_target, functools.partial(loads.load_files, executor._load_path_into_target))
    patch = tables.patch_table

    async def patch_table(project_id: str, dataset_id: str, table_id: str, request: Any, ctx: Any) -> dict[str, Any]:
        async with ctx.engine.write_lock():
            before, body = ctx.catalog.get_table(project_id, dataset_id, table_id), await request.json()
            if before is not None and before.table_type == "TABLE" and "schema" in body:
                loads.check_unchanged(request.headers.get("If-Match"), before)
                loads.grow_columns(before, body["schema"], ctx)
            found: dict[str, Any] = await patch(project_id, dataset_id, table_id, request, ctx)
            return found

    path = "/projects/{project_id}/datasets/{dataset_id}/tables/{table_id}"
    _reroute(tables, patch, patch_table, tables.router.patch(path))


def _reroute(module: Any, old: Any, new: Any, add: Callable[[Any], Any]) -> None:
    """Answer the requests of a route by another function.

    FastAPI reads the annotations of a route to inject its parameters, and resolves them in the globals of the function.

    Args:
        module: the module of the server with the route.
        old: the function that has answered so far.
        new: the function that answers instead.
        add: adds a route.
    """
    new.__annotations__ = dict(old.__annotations__)
    new.__globals__.update({name: getattr(module, name) for name in ("Request", "_Ctx", "_Caller") if hasattr(module, name)})
    module.router.routes[:] = [route for route in module.router.routes if getattr(route, "endpoint", None) is not old]
    add(new)


def _replace(old: Any, new: Any) -> None:
    """Replace a function in every module of the server that has a name for it."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "bqemulator"]
    for module in modules:
        for name in [name for name, value in vars(module).items() if value is old]:
            setattr(module, name, new)
