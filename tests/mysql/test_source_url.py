"""URLs of a MySQL or MariaDB, as people type them."""

from __future__ import annotations

import pytest

from onefold.core.errors import InvalidInput
from onefold.mysql.source_url import SourceUrl, parse_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://reader@db.internal", SourceUrl("db.internal", 3306, "reader")),
        ("mariadb://a%40b@127.0.0.1:3307/shop/", SourceUrl("127.0.0.1", 3307, "a@b", "shop")),
        ("mysql://reader@[::1]:3307/a%2Fb", SourceUrl("::1", 3307, "reader", "a/b")),
    ],
)
def test_a_url_is_parsed(text: str, expected: SourceUrl) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("postgres://reader:hush@db", ["not a URL of MySQL"]),
        ("db.internal", ["not a URL of MySQL"]),
        ("mysql://reader:hush@db/a/b?tls=1", ["contains a password", "more than one database", "options"]),
        ("mysql://reader:@db", ["contains a password"]),
        ("mysql://reader:hu/sh@db", ["without a password"]),
        ("mysql://", ["names no user", "names no host"]),
        ("mysql://reader@db:99999", ["not the URL of a database"]),
    ],
)
def test_all_problems_of_a_url_are_reported_without_its_password(text: str, problems: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_source(text)
    assert all(part in problem for part, problem in zip(problems, refused.value.problems, strict=True))
    assert "hu" not in str(refused.value)
