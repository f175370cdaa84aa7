"""Logs carry no secrets: personal links and tokens are cut out of every line, whoever wrote it."""

import logging
import re

# What Django signs, wherever it stands; and what only looks like a link or a token, such as one cut short.
SIGNED = re.compile(
    r"(?<![\w.\-=])[\w.\-=]{8,}(?::|%3A)\w{5,8}(?::|%3A)[\w\-]{20,}"
    r"|(?P<before>/(?:w|join)/|\btoken )[\w:.\-=%]{20,}",
    re.IGNORECASE,
)


class RedactingFormatter(logging.Formatter):
    """Cuts the whole text of a record, tracebacks too, after everything has been put into it."""

    def format(self, record: logging.LogRecord) -> str:
        return SIGNED.sub(r"\g<before>[redacted]", super().format(record))
