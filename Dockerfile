FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    VAR_DIR=/var/lib/touchstone STATIC_ROOT=/srv/touchstone-static

# The folder of uploads and exports is made here so that a fresh volume over it belongs to the user.
RUN useradd --system --uid 1000 --home-dir "$VAR_DIR" touchstone \
    && mkdir -p "$VAR_DIR/media" && chown -R touchstone "$VAR_DIR"
WORKDIR /srv/touchstone

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY . .
# Hashed names and compressed copies of the static files; the secret is this command's alone.
RUN SECRET_KEY=only-for-collectstatic CELERY_BROKER_URL=memory:// python manage.py collectstatic --noinput

USER touchstone
EXPOSE 8000
# No access log: a personal link in an address is a password. Threads, because pages wait for the database.
CMD ["gunicorn", "config.wsgi", "--bind=0.0.0.0:8000", "--worker-class=gthread", "--workers=2", "--threads=8", \
     "--worker-tmp-dir=/dev/shm", "--no-control-socket"]
