"""QuestionForms as HTML: free text and selections. Everything of the requester's is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from django.http import QueryDict
from django.template.loader import render_to_string

from marketplace.questions import FORMS, parse


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
    """The questions of a QuestionForm, in their order."""
    root = parse(xml, "QuestionForm")
    space = next(form for form in FORMS if root.tag.startswith(form))
    return [_field(question, space) for question in root.findall(f"{space}Question")]


def _field(question: ElementTree.Element, space: str) -> Field:
    content = question.find(f"{space}QuestionContent")
    texts = (
        [] if content is None else [e.text or "" for e in content.iter() if e.tag in (f"{space}Text", f"{space}Title")]
    )
    answer = question.find(f"{space}AnswerSpecification/{space}SelectionAnswer")
    choices, many = [], False
    if answer is not None:
        many = int(answer.findtext(f"{space}MaxSelectionCount", "1") or 1) > 1
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


def render(xml: str, submit: str, assignment_id: str) -> str:
    """A page of its own, which posts to `submit`."""
    context = {"fields": fields(xml), "submit": submit, "assignment_id": assignment_id}
    return render_to_string("marketplace/question_form.html", context)
