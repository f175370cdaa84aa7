"""How many requests one caller may make."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module, by the settings


class FixedWindow(SimpleRateThrottle):
    """Count requests per window: one small number in the cache, where DRF keeps the time of every request.

    Around the turn of a window up to twice the rate gets through. With the default cache each process counts alone.
    """

    num_requests: int
    duration: int

    def allow_request(self, request: Request, view: "APIView") -> bool:
        key = self.get_cache_key(request, view) if self.rate else None
        if key is None:
            return True
        window, since = divmod(self.timer(), self.duration)
        self.left = self.duration - since
        key = f"{key}:{window:.0f}"
        if self.cache.add(key, 1, self.duration):
            return self.num_requests > 0
        try:
            return self.cache.incr(key) <= self.num_requests
        except ValueError:  # the window turned, or the cache made room, between the two calls
            return True

    def wait(self) -> float:
        return self.left


class PerWorker(FixedWindow, UserRateThrottle):
    """API_RATE for each worker."""


class PerAddress(FixedWindow, AnonRateThrottle):
    """For what is open to all: 60 requests a minute for each address."""


class PerJoiner(FixedWindow):
    """JOIN_RATE new people for each address, through open enrolment links."""

    scope = "join"

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        return f"throttle_join_{self.get_ident(request)}"


class PerVisitor(FixedWindow):
    """FRAME_RATE openings of tasks for each address, by whoever claims to have accepted one."""

    scope = "frame"

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        return f"throttle_frame_{self.get_ident(request)}"
