"""Where workers come from, noted once for each address, and what looks suspicious about it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count
from django.http import HttpRequest

from marketplace.models import Address, Worker

MANY_ACCOUNTS, MANY_ADDRESSES = 3, 10  # from so many on


def note(request: HttpRequest, worker: Worker, *, at: datetime) -> None:
    """Behind a proxy that is trusted, the server is told the client's own address."""
    address = request.META.get("REMOTE_ADDR") or "0.0.0.0"  # no address, not one to listen on
    if not Address.objects.filter(worker=worker, address=address).exists():
        Address.objects.get_or_create(worker=worker, address=address, defaults={"at": at})


@dataclass(frozen=True)
class Suspicion:
    """words: what is noticed. workers: whom it is about. Evidence for a person, never a verdict."""

    words: str
    workers: list[str]


def suspicions() -> list[Suspicion]:
    """Many accounts on one address, and one account on many."""
    shared = Address.objects.values_list("address").annotate(n=Count("worker")).filter(n__gte=MANY_ACCOUNTS)
    found = []
    for address, count in shared.order_by("-n")[:50]:
        workers = Worker.objects.filter(addresses__address=address).values_list("worker_id", flat=True)
        found.append(Suspicion(f"{count} accounts work from {address}", sorted(workers)))
    roaming = Worker.objects.annotate(n=Count("addresses")).filter(n__gte=MANY_ADDRESSES).order_by("-n")[:50]
    found += [Suspicion(f"One account works from {worker.n} addresses", [worker.worker_id]) for worker in roaming]
    return found
