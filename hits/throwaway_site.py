"""The whole site on a port of its own, for as long as whoever started it lives: `python -m hits.throwaway_site`.

It makes the tables of the database that the environment names, says its address in one line, and serves until its
standard input ends. So it stops with its starter, however that one ends.
"""

import logging
import os
import sys
import threading
from typing import Any

HOST = "127.0.0.1"


def main() -> None:
    # Bound before Django is set up: the settings want to know the address.
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    class Quiet(WSGIRequestHandler):
        disable_nagle_algorithm = True  # or every answer waits for the client to acknowledge its head

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadedWSGIServer((HOST, 0), Quiet)
    address = f"http://{HOST}:{server.server_port}"
    os.environ["SITE_URL"] = address

    from django.apps import apps
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    logging.disable(logging.WARNING)  # refusals are part of the play
    # Straight from the models: to walk through all that once was takes longer than many a rehearsal.
    settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}
    call_command("migrate", run_syncdb=True, verbosity=0)
    server.set_app(application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(address, flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
