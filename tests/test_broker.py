"""The broker in a folder."""

import threading

from kombu import Connection

from config.celery import app


def test_a_message_is_there_whole_or_not_at_all(tmp_path):
    """A worker that looked between opening and filling a message's file used to end."""
    folder = str(tmp_path)
    options = {"data_folder_in": folder, "data_folder_out": folder, "control_folder": folder, "polling_interval": 0.001}
    read, over = [], threading.Event()

    def consume():
        with Connection("filesystem://", transport_options=options) as there:
            queue = there.SimpleQueue("work")
            while len(read) < 100 and not over.is_set():
                try:
                    message = queue.get(timeout=0.2)
                except queue.Empty:
                    continue
                read.append(message.payload["n"])
                message.ack()

    consumer = threading.Thread(target=consume)
    consumer.start()
    with Connection("filesystem://", transport_options=options) as here:
        queue = here.SimpleQueue("work")
        for n in range(100):
            queue.put({"n": n, "text": "x" * 20_000})
    consumer.join(timeout=30)
    over.set()
    assert sorted(read) == list(range(100))
    assert app.connection_for_write().transport.__class__.__module__ == "config.broker"
