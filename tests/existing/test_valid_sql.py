"""Google's analyzer takes every query that is made for a documented table: current rows, counts and examples."""

from __future__ import annotations

import pytest
from support.described_dataset import DescribedDataset
from support.existing_tables import DOCUMENTED, Documented
from support.zetasql_judge import Judge

from onefold.core.names import TableId
from onefold.existing.audit.metadata_checks import metadata_findings
from onefold.existing.audit.run import plan_audit
from onefold.existing.discover import DatasetTables, discover

NAME = "`p.shop.{}`"
VARIANTS = {"score": "INT64", "score__v_double": "FLOAT64", "score__v_text": "STRING"}
PSEUDO = (("_PARTITIONTIME", "TIMESTAMP"),)


@pytest.mark.parametrize("number", range(len(DOCUMENTED)), ids=[f"{one.tool} {one.form}" for one in DOCUMENTED])
def test_every_query_for_a_documented_table_is_valid(judge: Judge, number: int) -> None:
    one: Documented = DOCUMENTED[number]
    table = one.table(VARIANTS)
    found = discover(DatasetTables(TableId("p", "shop", ""), {one.name: table}))
    (audit,) = plan_audit(DescribedDataset([]), found)
    texts = [audit.query] if audit.checks else []
    texts += [check.examples for check in audit.checks]
    texts += [finding.query for finding in metadata_findings(found) if finding.query]
    texts += [current] if (current := found[0].current) else []
    columns = [(column.name, str(column.type)) for column in table.columns]
    columns += PSEUDO if one.partition == "_PARTITIONTIME" else ()
    for text in texts:
        judge.accept(text.replace(NAME.format(one.name), "orders_table"), {"orders_table": columns})
    assert texts or not one.key
