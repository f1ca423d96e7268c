"""The tables of arguments in the reference say what the declarations say. UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from onefold.batches.declaration import Option
from onefold.batches.jobs import JOBS, Form

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = ("spark-jobs.md", "merge-job.md", "merge-job-dataset.md", "pull-job.md", "shredder.md", "cli.md")
FORMS = {form.__name__: form for job in JOBS.values() for form in job.forms}
# <!-- arguments: CheckArguments without source, database, tables -->
TABLE = re.compile(r"(?<=^<!-- arguments: )(\w+)(?: without (.+))? -->\n\n(?:\|.*\n)*", re.MULTILINE)


def table(match: re.Match[str]) -> str:
    name, without = match[1], match[2] or ""
    rows = [row(option) for option in FORMS[name].options() if option.field not in without.split(", ")]
    begin = match[0].split("\n")[0]
    return "\n".join([begin, "", "| argument | meaning | default |", "|---|---|---|", *rows, ""])


def row(option: Option) -> str:
    value = option.argument.metavar or "|".join(option.choices)
    given = " ".join([option.word, *([value] if value else []), *(["[...]"] if option.is_list else [])])
    cells = (f"`{given}`".replace("|", r"\|"), option.argument.help, "; ".join(defaults(option)))
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def defaults(option: Option) -> Iterator[str]:
    argument = option.argument
    if option.default is MISSING:
        yield "required"
    elif option.default_text:
        yield f"`{option.default_text}`" if option.choices else option.default_text
    if argument.of_batch:
        value = argument.of_batch.format(dataset="DATASET", table="TABLE")
        yield f"in a batch `{value}`" + "".join(f" unless `{other}` is there" for other in argument.unless)


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_a_page_are_those_of_the_declarations(page: str) -> None:
    path = REFERENCE / page
    wanted = TABLE.sub(table, path.read_text())
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(wanted)
    assert path.read_text() == wanted, f"UPDATE_GOLDEN=1 writes the tables of docs/reference/{page}"


@pytest.mark.parametrize("form", FORMS.values())
def test_every_field_of_a_job_is_an_option_of_its_command_line(form: Form) -> None:
    assert [option.field for option in form.options()] == [field.name for field in fields(form)]


@pytest.mark.parametrize("form", FORMS.values())
def test_every_form_of_a_job_has_a_table(form: Form) -> None:
    pages = "".join((REFERENCE / page).read_text() for page in PAGES)
    assert f"<!-- arguments: {form.__name__} -->" in pages
