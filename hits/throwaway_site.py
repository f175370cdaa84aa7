"""The whole site on a port of its own, for as long as whoever started it lives: `python -m hits.throwaway_site`.

It brings the database that the environment names up to date, says its address in one line, and serves until its
standard input ends. So it stops with its starter, however that one ends.
"""

import os
import sys
import threading
from typing import Any

HOST = "127.0.0.1"


def main() -> None:
    # Bound before Django is set up: the settings want to know the address.
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadedWSGIServer((HOST, 0), Quiet)
    address = f"http://{HOST}:{server.server_port}"
    os.environ["SITE_URL"] = address

    from django.core.management import call_command

    from config.wsgi import application

    call_command("migrate", verbosity=0)
    server.set_app(application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(address, flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
