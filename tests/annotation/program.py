"""An annotator who is a program: what tests of the API call with."""

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from annotation import links
from annotation.models import Worker

PROBLEM = "application/problem+json"


class Program(Client):
    """Sends JSON with a worker's token; `ask` gives (status, body)."""

    def __init__(self, worker: Worker | None = None, *, token: str = "") -> None:
        if worker:
            token = links.sign(worker, links.TOKEN, at=timezone.now())
        super().__init__(headers={"Authorization": f"Token {token}"} if token else {})

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        response = self.send(method, path, b"" if body is None else json.dumps(body).encode())
        return response.status_code, response.json()

    def send(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json", **more: Any
    ) -> HttpResponse:
        """path: below /api/v1/."""
        return self.generic(method, f"/api/v1/{path}", body, content_type, **more)

    def lease(self, slug: str = "crepe-a", stage: str = "generate") -> dict[str, Any]:
        status, body = self.ask("POST", f"studies/{slug}/sittings/", {"stage": stage})
        assert status in (200, 201), body
        return body

    def submit(self, sitting: dict[str, Any], answer: object) -> tuple[int, Any]:
        """The same answer for every assignment."""
        return self.ask("POST", f"sittings/{sitting['id']}/submit/", {"answers": dict.fromkeys(ids(sitting), answer)})


def ids(sitting: dict[str, Any]) -> list[int]:
    return [assignment["id"] for assignment in sitting["assignments"]]
