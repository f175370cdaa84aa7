"""QuestionForms as HTML: free text and selections. Everything of the requester's is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from django.http import QueryDict
from django.template.loader import render_to_string

from marketplace.errors import ParameterValidationError
from marketplace.questions import FORMS, RESERVED, Sent, parse


@dataclass(frozen=True)
class Field:
    """One question. choices: (identifier, words); none for free text. many: whether several may be chosen."""

    name: str
    title: str
    text: str
    choices: Sequence[tuple[str, str]]
    many: bool
    default: str = ""
    needed: bool = False


def fields(xml: str) -> list[Field]:
    """The questions of a QuestionForm, in their order. Raises ParameterValidationError for what cannot be asked."""
    root = parse(xml, "QuestionForm")
    space = next(form for form in FORMS if root.tag.startswith(form))
    found = [_field(question, space) for question in root.findall(f"{space}Question")]
    names = [field.name for field in found]
    if not all(names) or len(set(names)) < len(names) or set(names) & set(RESERVED):
        raise ParameterValidationError("Every Question has a QuestionIdentifier of its own, and none of the form's.")
    if root.find(f".//{space}FileUploadAnswer") is not None:
        raise ParameterValidationError("This marketplace takes no files: there is no FileUploadAnswer.")
    return found


def _field(question: ElementTree.Element, space: str) -> Field:
    content = question.find(f"{space}QuestionContent")
    texts = (
        [] if content is None else [e.text or "" for e in content.iter() if e.tag in (f"{space}Text", f"{space}Title")]
    )
    answer = question.find(f"{space}AnswerSpecification/{space}SelectionAnswer")
    choices, many = [], False
    if answer is not None:
        most = answer.findtext(f"{space}MaxSelectionCount", "").strip() or "1"
        if not (most.isascii() and most.isdecimal() and len(most) < 6):
            raise ParameterValidationError(f'The value "{most[:60]}" is not valid for the parameter MaxSelectionCount.')
        many = int(most) > 1
        choices = [
            (each.findtext(f"{space}SelectionIdentifier", "").strip(), each.findtext(f"{space}Text", "").strip())
            for each in answer.iter(f"{space}Selection")
        ]
    return Field(
        name=question.findtext(f"{space}QuestionIdentifier", "").strip(),
        title=question.findtext(f"{space}DisplayName", "").strip(),
        text="\n".join(texts),
        choices=choices,
        many=many,
        default=question.findtext(f"{space}AnswerSpecification/{space}FreeTextAnswer/{space}DefaultText", ""),
        needed=question.findtext(f"{space}IsRequired", "").strip() == "true",
    )


def answers(xml: str, posted: QueryDict) -> dict[str, list[str]]:
    """What was chosen or written, by question."""
    return {field.name: posted.getlist(field.name) for field in fields(xml) if posted.getlist(field.name)}


def as_sent(xml: str, posted: QueryDict) -> Sent:
    """For the answer's XML: selections and texts, of the form's own questions and nothing else that was posted."""
    asked = [(field, posted.getlist(field.name)) for field in fields(xml) if field.name in posted]
    return {field.name: values if field.choices else values[-1] for field, values in asked}


def render(xml: str, submit: str, assignment_id: str) -> str:
    """A page of its own, which posts to `submit`."""
    context = {"fields": fields(xml), "submit": submit, "assignment_id": assignment_id}
    return render_to_string("marketplace/question_form.html", context)
