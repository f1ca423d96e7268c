"""A stand-in for three REST APIs of Google, over HTTP: Service Usage, IAM, and the Policy Troubleshooter.

It honours:

- services.list with `filter=state:ENABLED`, in pages of two;
- projects.serviceAccounts.get, 404 for an account that does not exist;
- iam.troubleshoot (v1): NOT_GRANTED for what is in `lacks`, UNKNOWN_INFO_DENIED for what is in `unknown`, else GRANTED;
- 403 for each of these while `closed` is set;
- the token endpoint of service accounts, which gives a token or answers `invalid_grant`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.rest import Answer, HttpRequest, error, page_of, serving

from onefold.adapters.google_project import ADDRESSES
from onefold.doctor.rights import ACCOUNTS, APIS, TROUBLESHOOTER


@dataclass
class FakeGoogleProject:
    url: str = ""
    enabled: list[str] = field(default_factory=lambda: [*APIS, TROUBLESHOOTER])
    accounts: set[str] = field(
        default_factory=lambda: {f"{account.name}@my-project.iam.gserviceaccount.com" for account in ACCOUNTS}
    )
    lacks: set[tuple[str, str, str]] = field(default_factory=set)
    """Accounts, permissions and full names of resources."""
    unknown: set[str] = field(default_factory=set)
    """Permissions whose answer is not known."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    closed: bool = False
    gives_tokens: bool = True

    @property
    def addresses(self) -> dict[str, str]:
        return dict.fromkeys(ADDRESSES, self.url)

    def answer(self, request: HttpRequest) -> Answer:
        method, path = request.method, request.path
        if path == "/token":
            return (
                (200, {"access_token": "t", "expires_in": 3600}) if self.gives_tokens else (400, {"error": "invalid_grant"})
            )
        if self.closed:
            return error(403, "forbidden", "the caller may not do this")
        if (method, path) == ("GET", "/v1/projects/my-project/services") and request.query["filter"] == "state:ENABLED":
            names, more = page_of(self.enabled, request.query)
            return 200, {"services": [{"config": {"name": name}} for name in names], **more} if names else more
        if method == "GET" and path.startswith("/v1/projects/my-project/serviceAccounts/"):
            found = path.rpartition("/")[2] in self.accounts
            return (200, {}) if found else error(404, "notFound", "Unknown service account")
        if (method, path) == ("POST", "/v1/iam:troubleshoot"):
            return 200, {"access": self._access(**request.json["accessTuple"])}
        return error(400, "invalid", f"{method} {path} is not supported")

    def _access(self, principal: str, permission: str, fullResourceName: str) -> str:  # noqa: N803 the API's own name
        asked = (principal, permission, fullResourceName)
        self.asked.append(asked)
        return "UNKNOWN_INFO_DENIED" if permission in self.unknown else "NOT_GRANTED" if asked in self.lacks else "GRANTED"


@contextmanager
def serving_project() -> Iterator[FakeGoogleProject]:
    fake = FakeGoogleProject()
    with serving(fake.answer) as fake.url:
        yield fake
