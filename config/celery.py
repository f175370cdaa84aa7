"""The Celery application; tasks live in each app's `tasks.py`."""

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.base")

TRANSPORT_ALIASES["filesystem"] = "config.broker:Transport"

app = Celery("touchstone")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
