"""`python -m bench [throughput queue files numbers people slider artefacts prepare market hits start]`: measure, and print tables for bench/RESULTS.md."""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime

SECTIONS = (
    "throughput",
    "queue",
    "files",
    "numbers",
    "people",
    "slider",
    "artefacts",
    "prepare",
    "market",
    "hits",
    "start",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="what to measure; everything by default")
    parser.add_argument("--items", type=int, default=10_000, help="items of the throughput run")
    arguments = parser.parse_args()
    wanted = arguments.sections or SECTIONS
    print(f"{datetime.now(UTC):%Y-%m-%d}, {_machine()}, `{' '.join(['python -m bench', *sys.argv[1:]])}`")
    from tests.services import postgres

    with postgres(durable=True) as url:
        os.environ |= {"DATABASE_URL": url, "SECRET_KEY": "bench-" + "x" * 50, "LOG_LEVEL": "WARNING"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.base"
        _prepare()
        from bench import artefacts, files, hits, market, numbers, people, prepare, queue, slider, start, throughput

        if "throughput" in wanted:
            throughput.measure(arguments.items)
        for module in (queue, files, numbers, people, slider, artefacts, prepare, market, hits, start):
            if module.__name__.removeprefix("bench.") in wanted:
                module.measure()


def _prepare() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _machine() -> str:
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, {platform.system()}"


if __name__ == "__main__":
    main()
