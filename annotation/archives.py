"""Archives that open with a password only, so that what is passed on does not end up in a model's training data.

AES-256 in a zip (WinZip's AE-2), which 7-Zip, WinZip and most libraries open. The name of the file inside is not
secret. A password is never stored: it is used where it is given, and forgotten.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from annotation.errors import Refusal


class BadPassword(Refusal):
    code, status = "bad_password", 422


def read_password(given: str) -> bytes:
    """Raises BadPassword for one that is empty, or that programs could not agree on how to write."""
    if not given.strip():
        raise BadPassword("The password is empty. Give one that the receivers will be told by another way.")
    if not given.isprintable():
        raise BadPassword("The password holds a character that cannot be typed, such as a line break or a tab.")
    return given.encode()


@contextmanager
def encrypted(out: IO[bytes], name: str, password: bytes) -> Iterator[IO[bytes]]:
    """Whatever is written becomes the file `name` in the archive `out`; constant memory."""
    import pyzipper  # its ciphers, which nothing else needs

    with pyzipper.AESZipFile(out, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(password)
        with archive.open(name, "w", force_zip64=True) as file:
            yield file
