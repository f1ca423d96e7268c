"""The index of all pages of a folder: it says of each when it was written, and which were not written any more.

The index is its own memory: its rows are in it as data, and the next run reads them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from onefold.changes.page.compact import script_json, time_text
from onefold.changes.page.dataset import DatasetPage
from onefold.changes.page.document import document

INDEX = "index.html"
_DATA = re.compile(r'<script type="application/json" id="pages">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class IndexRow:
    """A page as the index has it.

    Attributes:
        dataset: the dataset.
        project: its project.
        written: when the page was written, as `time_text` gives it.
        tables: the number of its tables.
        waiting: the number of tables with columns that wait for a decision.
        lossy: the number of tables with casts that may lose values.
        problems: the number of tables with problems.
        gone: when it was found that the dataset is not there any more; empty where it is.
    """

    dataset: str
    project: str
    written: str
    tables: int = 0
    waiting: int = 0
    lossy: int = 0
    problems: int = 0
    gone: str = ""


def file_name(dataset: str) -> str:
    """Return the name of the page of a dataset in its folder. No name of a dataset has a dot or a slash.

    Examples:
        >>> file_name("shop")
        'dataset-shop.html'
    """
    return f"dataset-{dataset}.html"


def row_of(page: DatasetPage) -> IndexRow:
    """Return the row of a page."""
    return IndexRow(
        page.dataset,
        page.project,
        time_text(page.written_at) or "",
        len(page.tables),
        sum(table.with_kind("waiting") > 0 for table in page.tables),
        sum(table.with_kind("lossy") > 0 for table in page.tables),
        sum(bool(table.problems) for table in page.tables),
    )


def merged(former: Iterable[IndexRow], pages: Iterable[DatasetPage], gone: Iterable[str], now: str) -> list[IndexRow]:
    """Return the rows of the index after a run, in the order of their names.

    Args:
        former: the rows of the index as it is.
        pages: the pages of this run.
        gone: datasets that this run has not found.
        now: the time of the run, as `time_text` gives it.
    """
    rows = {row.dataset: row for row in former}
    rows |= {page.dataset: row_of(page) for page in pages}
    rows |= {name: replace(rows[name], gone=rows[name].gone or now) for name in gone if name in rows}
    return [rows[name] for name in sorted(rows)]


def index_rows(text: str) -> tuple[IndexRow, ...]:
    """Return the rows that an index has; none of a file that is no index of this form."""
    found = _DATA.search(text)
    try:
        return tuple(IndexRow(**row) for row in json.loads(found[1])) if found else ()
    except (ValueError, TypeError):
        return ()


def index_html(rows: Sequence[IndexRow], now: str) -> str:
    """Return the index.

    Args:
        rows: its rows.
        now: the time of the run, as `time_text` gives it.
    """
    heads = (("Dataset", ""), ("Tables", "number"), ("Marks", ""), ("Written", "time"), ("State", ""))
    head = "".join(f'<th scope="col" class="{kind}">{text}</th>' for text, kind in heads)
    body = "".join(_row(row, now) for row in rows)
    main = (
        "<h1>Datasets</h1>\n"
        '<div class="scroll" tabindex="0" role="group" aria-label="Datasets">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    data = f'<script type="application/json" id="pages">{script_json([asdict(row) for row in rows])}</script>'
    return document({"title": "Tables over time", "place": "all datasets", "written": now}, main, data=data)


def gone_html(row: IndexRow) -> str:
    """Return the page of a dataset that is not there any more, in the place of what was true once."""
    name = html.escape(row.dataset)
    main = (
        f"<h1>{name}</h1>\n"
        f'<p class="note">This dataset was not found on {_time(row.gone)}. '
        f"Its page was last written on {_time(row.written)}, and had {row.tables:,} tables.</p>\n"
        '<p><a href="index.html">All datasets</a></p>'
    )
    place = f"{row.project}.{row.dataset}"
    return document({"title": f"{row.dataset}: not found", "place": place, "written": row.gone}, main)


def _row(row: IndexRow, now: str) -> str:
    link = f'<a href="{html.escape(file_name(row.dataset))}">{html.escape(row.dataset)}</a>'
    marks = "".join(_mark(*mark) for mark in _marks(row) if mark[3])
    return (
        f'<tr><th scope="row">{link}</th><td class="number">{row.tables:,}</td><td class="marks">{marks}</td>'
        f'<td class="time">{_time(row.written)}</td><td>{_state(row, now)}</td></tr>'
    )


def _marks(row: IndexRow) -> tuple[tuple[str, str, str, int], ...]:
    return (
        ("problem", "!", "with problems", row.problems),
        ("k-waiting", "W", "waiting", row.waiting),
        ("k-lossy", "L", "lossy", row.lossy),
    )


def _mark(kind: str, sign: str, text: str, count: int) -> str:
    outer = " problem" if kind == "problem" else ""
    inner = "" if kind == "problem" else f" {kind}"
    return f'<span class="mark{outer}"><span class="sign{inner}" aria-hidden="true">{sign}</span>{text} {count:,}</span>'


def _state(row: IndexRow, now: str) -> str:
    if row.gone:
        return f"not found on {_time(row.gone)}"
    return "written by the last run" if row.written == now else "older: the last run did not write it"


def _time(text: str) -> str:
    return f"{text[:10]} {text[11:16]} UTC"
