"""Many clients at once, in one thread: each sends a request when it has the reply to the one before."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Load:
    """What came of it: seconds a request, and statuses."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    wall: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.statuses.get(200, 0) / self.wall

    def quantile(self, part: float) -> float:
        """Seconds within which a part of the replies came."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(part * len(self.seconds)))]


def ask_together(
    port: int, path: str, callers: list[str], bodies: Iterator[dict[str, object]], *, seconds: float
) -> Load:
    """Send requests for so many seconds: one client a caller, who says in a header line who she is."""
    return asyncio.run(_ask(port, path, callers, bodies, seconds))


async def _ask(
    port: int, path: str, callers: list[str], bodies: Iterator[dict[str, object]], seconds: float
) -> Load:
    load = Load()
    began = time.monotonic()

    async def client(caller: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        while time.monotonic() < began + seconds:
            body = json.dumps(next(bodies)).encode()
            sent = time.monotonic()
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: loopback\r\n{caller}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            await reader.readexactly(length)
            status = int(head.split(" ", 2)[1])
            load.statuses[status] = load.statuses.get(status, 0) + 1
            load.seconds.append(time.monotonic() - sent)
        writer.close()

    await asyncio.gather(*(client(caller) for caller in callers))
    load.wall = time.monotonic() - began
    return load
