"""What is asked of a worker: the question's XML, read with a hardened parser, and answers written as XML."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from django.conf import settings

from marketplace.errors import ParameterValidationError, RequestError

MAX_BYTES = 65_535
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
EXTERNAL = f"{{{SCHEMAS}2006-07-14/ExternalQuestion.xsd}}"
HTML = f"{{{SCHEMAS}2011-11-11/HTMLQuestion.xsd}}"
FORMS = tuple(f"{{{SCHEMAS}{version}/QuestionForm.xsd}}" for version in ("2005-10-01", "2017-11-06"))
ANSWERS = f"{SCHEMAS}2005-10-01/QuestionFormAnswers.xsd"
LOCAL = ("127.0.0.1", "localhost", "::1")
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
Sent = Mapping[str, str | Sequence[str]]  # what a form sent: text, or what was selected


@dataclass(frozen=True)
class Question:
    """kind: "external" (text: its address), "html" (text: the document) or "form" (text: the XML). height: 0 fills."""

    kind: str
    text: str
    height: int


def read(xml: str) -> Question:
    """Raises ParameterValidationError, or RequestError (XMLParseError)."""
    if len(xml.encode()) > MAX_BYTES:
        raise ParameterValidationError(
            f"The question has {len(xml.encode()):,} bytes; at most {MAX_BYTES:,} are taken."
        )
    root = parse(xml, "Question")
    if root.tag == f"{EXTERNAL}ExternalQuestion":
        return Question("external", _address(_text(root, f"{EXTERNAL}ExternalURL")), _height(root, EXTERNAL))
    if root.tag == f"{HTML}HTMLQuestion":
        return Question("html", _text(root, f"{HTML}HTMLContent"), _height(root, HTML))
    if root.tag in [f"{form}QuestionForm" for form in FORMS]:
        space = root.tag.removesuffix("QuestionForm")
        if root.find(f"{space}Question") is None:
            raise ParameterValidationError("A QuestionForm has at least one Question.")
        return Question("form", xml, 0)
    raise ParameterValidationError(
        f"The root must be ExternalQuestion, HTMLQuestion or QuestionForm in its namespace; it is {root.tag[:200]}."
    )


def parse(xml: str, what: str) -> ElementTree.Element:
    """No entities, no document types, nothing from elsewhere. Raises RequestError (XMLParseError)."""
    try:
        root: ElementTree.Element = fromstring(xml, forbid_dtd=True)
        return root
    except (ElementTree.ParseError, DefusedXmlException, ValueError) as error:
        raise RequestError(
            "XMLParseError",
            f"There was an error parsing the XML question or answer data in your request ({what}). Please make sure "
            f"the data is well-formed and validates against the appropriate schema. Details: {type(error).__name__}",
        ) from None


def _text(root: ElementTree.Element, tag: str) -> str:
    found = root.find(tag)
    if found is None or not (found.text or "").strip():
        raise ParameterValidationError(f"The question lacks {tag.rpartition('}')[2]}.")
    return (found.text or "").strip()


def _height(root: ElementTree.Element, space: str) -> int:
    text = root.findtext(f"{space}FrameHeight", "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise ParameterValidationError(f'The value "{text}" is not valid for the parameter FrameHeight.')
    return int(text)


def _address(url: str) -> str:
    """https; plain http only to this very machine, where the setting allows it."""
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in LOCAL
    if not parts.hostname or (parts.scheme != "https" and not (is_local and settings.MARKETPLACE_ALLOWS_HTTP)):
        raise ParameterValidationError(
            f'The value "{url}" is not valid for the parameter ExternalURL: it must be https.'
        )
    return url


def task_url(url: str, *, assignment_id: str, hit_id: str, worker_id: str, submit_to: str) -> str:
    """The frame's address: the four parameters behind what the address asks already. In a preview nobody is named."""
    parts = urlsplit(url)
    given = {"assignmentId": assignment_id, "hitId": hit_id}
    if assignment_id != NOT_ACCEPTED:
        given |= {"workerId": worker_id, "turkSubmitTo": submit_to}
    query = "&".join(filter(None, [parts.query, urlencode(given)]))
    return urlunsplit(parts._replace(query=query))


# What no XML can hold, however it is escaped: control characters and halves of characters.
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _plain(text: str) -> str:
    return escape(NO_XML.sub("", text))


def _answer(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return f"<FreeText>{_plain(value)}</FreeText>"
    return "".join(f"<SelectionIdentifier>{_plain(each)}</SelectionIdentifier>" for each in value)


RESERVED = ("assignmentId", "hitId", "workerId", "turkSubmitTo")


def answers_xml(fields: Sent) -> str:
    """QuestionFormAnswers of what a form sent: text, or what was selected. Its own four fields are no answers."""
    answers = "".join(
        f"<Answer><QuestionIdentifier>{_plain(name)}</QuestionIdentifier>{_answer(value)}</Answer>"
        for name, value in fields.items()
        if name not in RESERVED
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{ANSWERS}">{answers}</QuestionFormAnswers>'
    )
