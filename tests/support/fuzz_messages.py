"""Rubbish as a function may be sent it: mutations of valid messages, envelopes and headers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from support.in_memory import audit_entry, event_body, push_body

HEADERS = {"Content-Type": "application/json"}
EVENT_HEADERS = {
    **HEADERS,
    "ce-id": "1",
    "ce-source": "//pubsub.googleapis.com/projects/my-project/topics/table-created",
    "ce-specversion": "1.0",
    "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
}
HOSTILE = [
    "customer`", "customer'", 'customer"', "shop.customer", "../shop", "a/b", "customer\n", "customer\r\nHost: evil",
    "a\x00b", "x`; DROP TABLE shop.customer_v_abc; --", "' OR 1=1 --", "customer_v_*", "$(id)", "{{7*7}}", "${x}", "%s%n",
    "", " ", "a" * 2_000, "\ud800", "\u202ecustomer", "customer\u2028", "INFORMATION_SCHEMA.TABLES", "__TABLES__",
    "@@version", "customer$20240101",
]  # fmt: skip
WRONG = [None, True, 0, -1, 10**300, 1.5, float("nan"), float("inf"), [], {}, ["customer"], {"name": "customer"}]
CONTENT_TYPES = [
    "application/json", "application/cloudevents+json", "application/cloudevents-batch+json", "text/plain", "", ";;;",
    "\xff", "multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
    "application/json; charset=utf-99",
]  # fmt: skip
RAW = [
    b"", b"{", b"\x00", b"null", b"NaN", b"[" * 5_000, b'{"message":' * 3_000, b"9" * 6_000, b'{"message":{"data":1e999}}',
    b'{"specversion":"1.0","data":' * 2_000, b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"message":{"data":"\\ud800"}}',
    b'{"message":{"attributes":{"dataset":"shop"},"messageId":"1"}}', b'{"message":{"data":"!!!!"}}', b"a=b&c=d",
    b"--x\r\n\r\n--x--",
]  # fmt: skip


class Fuzzer:
    """Seeded mutations of a message that is valid."""

    def __init__(self, seed: int, message: bytes) -> None:
        self.random = random.Random(seed)
        self.message = message
        self.mutations: list[Callable[[], bytes]] = [
            self.hostile_names, self.wrong_types, self.nested, self.duplicate_keys,
            self.truncated, self.flipped, self.audit, self.noise,
        ]  # fmt: skip

    def request(self) -> tuple[bytes, dict[str, str]]:
        if self.random.random() < 0.1:
            return self.random.choice(RAW), self.headers()
        envelopes: list[Callable[[bytes], bytes]] = [push_body, event_body]
        damages: list[Callable[[bytes], bytes]] = [self.cut, self.flip, self.swap, bytes, bytes]
        body = self.random.choice(envelopes)(self.random.choice(self.mutations)())
        return self.random.choice(damages)(body), self.headers()

    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": self.random.choice(CONTENT_TYPES)}
        for name in EVENT_HEADERS:
            if name.startswith("ce-") and self.random.random() < 0.5:
                headers[name] = self.random.choice([EVENT_HEADERS[name], "", "\xff\xfe", "2.0", "%00", "a" * 5_000])
        if self.random.random() < 0.2:
            headers["X-Cloud-Trace-Context"] = self.random.choice(["", "/;", "a/b;o=1", "x" * 1_000])
        return headers

    def name(self) -> Any:
        return self.random.choice([*HOSTILE, "customer", "shop", "abc"])

    def hostile_names(self) -> bytes:
        names = {"dataset": self.name(), "table": {"name": self.name(), "version": self.name()}}
        content = {**json.loads(self.message), **names}
        return json.dumps(content, ensure_ascii=self.random.random() < 0.5).encode(errors="surrogatepass")

    def wrong_types(self) -> bytes:
        content = json.loads(self.message)
        place = self.random.choice([content, *(part for part in content.values() if isinstance(part, dict))])
        place[self.random.choice([*place, "name", "version"])] = self.random.choice(WRONG)
        return json.dumps(content).encode()

    def nested(self) -> bytes:
        depth = self.random.choice([5, 100, 900, 960, 980, 990, 1_000, 20_000])
        opening, closing = self.random.choice([("[", "]"), ('{"table":', "}")])
        value = opening * depth + "1" + closing * depth
        return (
            self.random.choice(['{"dataset": %s}', '{"dataset": "shop", "table": {"name": %s}}', "%s"])
            .replace("%s", value)
            .encode()
        )

    def duplicate_keys(self) -> bytes:
        pairs = ", ".join(f'"dataset": {json.dumps(self.name())}' for _ in range(3))
        return f'{{{pairs}, "table": {{"name": "customer", "name": {json.dumps(self.name())}}}}}'.encode()

    def audit(self) -> bytes:
        table, project = self.random.choice([*HOSTILE, "customer_v_abc"]), self.random.choice([*HOSTILE, "my-project"])
        kind = self.random.choice(["tableCreation", "tableChange", "tableDeletion", "jobChange"])
        return audit_entry(f"{table}_v_abc" if self.random.random() < 0.5 else table, kind, project=project)

    def truncated(self) -> bytes:
        return self.cut(self.message)

    def flipped(self) -> bytes:
        return self.flip(self.message)

    def noise(self) -> bytes:
        return self.random.randbytes(self.random.randrange(200))

    def cut(self, data: bytes) -> bytes:
        return data[: self.random.randrange(len(data) + 1)]

    def flip(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            changed[self.random.randrange(len(changed))] ^= 1 << self.random.randrange(8)
        return bytes(changed)

    def swap(self, data: bytes) -> bytes:
        """Replace a value of the envelope by one of another type."""
        old = self.random.choice([b'"message"', b'"data"', b'"specversion"', b'"messageId"', b'"1234"', b"{", b'"'])
        new = json.dumps(self.random.choice(WRONG)).encode()
        return data.replace(old, new, 1)
