"""A light HTTP client: many annotators as coroutines over keep-alive connections, so that the server is what is measured."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Timings:
    """Seconds of each request, by its name."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def percentile(self, name: str, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.seconds[name])
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Connection:
    """One keep-alive connection; opened anew when the server has closed it."""

    def __init__(self, port: int, timings: Timings) -> None:
        self.port, self.timings = port, timings
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def post(self, name: str, path: str, body: object, token: str = "") -> tuple[int, dict]:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\nAuthorization: Token {token}\r\n\r\n"
        )
        began = time.perf_counter()
        for attempt in (1, 2):
            try:
                if self.writer is None:
                    self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.writer.write(head.encode() + data)
                answer = await self._read()
                break
            except (ConnectionError, asyncio.IncompleteReadError):
                self.writer = None
                if attempt == 2:
                    raise
        self.timings.seconds[name].append(time.perf_counter() - began)
        return answer

    async def _read(self) -> tuple[int, dict]:
        assert self.reader
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await self.reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.writer = None
        return status, json.loads(body)


def run(annotators: list[Callable[[], Awaitable[int]]]) -> tuple[int, float]:
    """Let all annotators work until each has nothing left; (annotations, seconds)."""

    async def crowd() -> int:
        return sum(await asyncio.gather(*(annotator() for annotator in annotators)))

    began = time.perf_counter()
    made = asyncio.run(crowd())
    return made, time.perf_counter() - began
