"""The arguments of the resources in infra/aws, as the schema of the provider hashicorp/aws 6.62 has them.

A block's arguments are separated by blanks; a required one ends with `!`. Blocks are named by their path. Meta-arguments of
Terraform (`depends_on`, `lifecycle`, `dynamic`) are not of the provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.hcl_text import resources

_RULE = "aws_s3_bucket_lifecycle_configuration.rule"
_KEY = "aws_s3_bucket_server_side_encryption_configuration.rule"
ARGUMENTS = {
    "aws_s3_bucket": "bucket bucket_prefix force_destroy object_lock_enabled region tags",
    "aws_s3_bucket_public_access_block": (
        "bucket! block_public_acls block_public_policy ignore_public_acls restrict_public_buckets region skip_destroy"
    ),
    "aws_s3_bucket_ownership_controls": "bucket! region rule!",
    "aws_s3_bucket_ownership_controls.rule": "object_ownership!",
    "aws_s3_bucket_server_side_encryption_configuration": "bucket! expected_bucket_owner region rule!",
    _KEY: "apply_server_side_encryption_by_default blocked_encryption_types bucket_key_enabled",
    f"{_KEY}.apply_server_side_encryption_by_default": "sse_algorithm! kms_master_key_id",
    "aws_s3_bucket_versioning": "bucket! expected_bucket_owner mfa region versioning_configuration!",
    "aws_s3_bucket_versioning.versioning_configuration": "status! mfa_delete",
    "aws_s3_bucket_lifecycle_configuration": (
        "bucket! expected_bucket_owner region rule transition_default_minimum_object_size"
    ),
    _RULE: (
        "id! status! abort_incomplete_multipart_upload expiration filter noncurrent_version_expiration "
        "noncurrent_version_transition prefix transition"
    ),
    f"{_RULE}.filter": "and object_size_greater_than object_size_less_than prefix tag",
    f"{_RULE}.expiration": "date days expired_object_delete_marker",
    f"{_RULE}.noncurrent_version_expiration": "noncurrent_days! newer_noncurrent_versions",
    f"{_RULE}.abort_incomplete_multipart_upload": "days_after_initiation",
    "aws_s3_bucket_policy": "bucket! policy! region",
    "aws_iam_role": (
        "assume_role_policy! description force_detach_policies max_session_duration name name_prefix path "
        "permissions_boundary tags"
    ),
    "aws_iam_role_policy": "policy! role! name name_prefix",
    "aws_iam_policy": "policy! delay_after_policy_creation_in_ms description name name_prefix path tags",
}
_META = {"depends_on", "for_each"}
_OF_TERRAFORM = {"lifecycle"}


def problems(folder: Path) -> list[str]:
    """Return each argument that a resource of a folder does not have, and each that it has to have and lacks."""
    return [
        problem
        for address, body in resources(folder).items()
        for path, given in _blocks(address.partition(".")[0], body)
        for problem in _problems(address, path, given)
    ]


def _problems(address: str, path: str, given: set[str]) -> Iterator[str]:
    known = ARGUMENTS.get(path)
    if known is None:
        yield f"{address}: there is no block {path}"
        return
    names = {name.rstrip("!") for name in known.split()}
    needed = {name.rstrip("!") for name in known.split() if name.endswith("!")}
    yield from (f"{address}: {path} has no argument {name}" for name in sorted(given - names))
    yield from (f"{address}: {path} lacks {name}" for name in sorted(needed - given))


def _blocks(path: str, body: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the path of each block with its arguments, for text as `terraform fmt` writes it."""
    given: list[tuple[str, set[str]]] = [(path, set())]
    closed: list[tuple[str, set[str]]] = []
    for line in body.splitlines():
        text = line.strip()
        if opened := re.fullmatch(r'(?:dynamic "(\w+)"|(\w+)) \{(\})?', text):
            name = opened[1] or opened[2]
            own = given[-1] if name == "content" else (f"{given[-1][0]}.{name}", set[str]())
            if name not in ("content", *_OF_TERRAFORM):
                given[-1][1].add(name)
            (closed if opened[3] else given).append(own)
        elif text == "}":
            closed.append(given.pop())
        elif (assigned := re.match(r"(\w+) += ", text)) and assigned[1] not in _META:
            given[-1][1].add(assigned[1])
    done = {id(arguments): (path, arguments) for path, arguments in (*closed, *given)}
    return (one for one in done.values() if not one[0].endswith(".lifecycle"))
