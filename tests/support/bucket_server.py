"""A stand-in for the buckets of Cloud Storage's JSON API, as far as Terraform's provider asks for one.

Honoured: create (409 for a name that is taken), read, change, and delete a bucket; 404 for one that is not there. The
location is answered in capitals, as Google does. Objects and rights are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.rest import Answer, HttpRequest, error, serving


@dataclass
class Buckets:
    url: str = ""
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, request: HttpRequest) -> Answer:
        name = request.path.rpartition("/b/")[2].split("/")[0]
        if request.method == "POST":
            return self._create(request.json)
        if name not in self.stored:
            return error(404, "notFound")
        if request.method == "DELETE":
            del self.stored[name]
            return 204, None
        if request.method == "PATCH":
            self.stored[name].update(request.json)
        return 200, self.stored[name]

    def _create(self, bucket: dict[str, Any]) -> Answer:
        name = bucket["name"]
        if name in self.stored:
            return error(409, "conflict")
        whole = {"projectNumber": "1", "selfLink": f"{self.url}b/{name}", "storageClass": "STANDARD", "id": name}
        self.stored[name] = {**whole, **bucket, "location": bucket["location"].upper()}
        return 200, self.stored[name]


@contextmanager
def bucket_server() -> Iterator[Buckets]:
    buckets = Buckets()
    with serving(buckets.answer) as address:
        buckets.url = f"{address}/storage/v1/"
        yield buckets
