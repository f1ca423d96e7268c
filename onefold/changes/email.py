"""Digests by e-mail: lines of the log of the job, which Cloud Monitoring sends to the owners."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from onefold.core.errors import Rejected
from onefold.core.log import LogSeverity, log_to

JOB = "CLOUD_RUN_JOB"
"""The variable by which a container knows that it is a job of Cloud Run ("Container runtime contract", 2026-11)."""
EVENT = "owner_digest"


@dataclass(frozen=True)
class DigestMail:
    """The e-mail of an owner.

    Attributes:
        owner: the pattern of the owner, by which the alert of its address finds the line.
        environ: the environment variables.
    """

    owner: str
    environ: Mapping[str, str]

    def post(self, content: Mapping[str, Any]) -> None:
        """Write the line of a digest. It has no address.

        Raises:
            Rejected: nobody reads the log of this process.
        """
        if JOB not in self.environ:
            raise Rejected(
                "an e-mail is sent by Cloud Monitoring, which reads the log of the job of infra/ alone: set notify_schedule "
                "there, or name a webhook or a topic"
            )
        severity = cast(LogSeverity, content["severity"])
        fields = {name: content[name] for name in ("digest", "owner", "shown")}
        log_to(sys.stderr, severity, content["text"], event=EVENT, text=content["text"], **fields)
