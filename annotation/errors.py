"""Expected refusals. Each carries a code for programs and a sentence for people; views turn them into answers."""

from collections.abc import Mapping


class Refusal(Exception):
    """Base of all. `code` and `status` are what the API answers with."""

    code = "refused"
    status = 409
    sentence = "This cannot be done now."

    def __init__(self, sentence: str = "") -> None:
        self.sentence = sentence or self.sentence
        super().__init__(self.sentence)


class NotQualified(Refusal):
    code, status = "not_qualified", 403
    sentence = "You are not qualified for this part of the study."


class Revoked(Refusal):
    code, status = "revoked", 403
    sentence = "Your access to this study has been withdrawn. What you have written is kept."


class Withdrawn(Refusal):
    code, status = "withdrawn", 403
    sentence = "You have withdrawn from this study, so there is nothing more to do here."


class ConsentNeeded(Refusal):
    code, status = "consent_needed", 403
    sentence = "Please open your personal link first: this study asks for your consent before you go on."


class LimitReached(Refusal):
    code = "limit_reached"
    sentence = "You have done as much of this study as one person may. Thank you; what you submitted is kept."


class NothingLeft(Refusal):
    code = "nothing_left"
    sentence = "There is nothing left for you to do here right now."


class UnknownStage(Refusal):
    code, status = "unknown_stage", 404
    sentence = "This study has no such stage."


class NotHere(Refusal):
    code, status = "not_here", 404
    sentence = "This page is not part of the task you were given."


class Closed(Refusal):
    code = "closed"
    sentence = "This was closed before. What you wrote is kept."


class NotYetRight(Refusal):
    code = "not_yet_right"
    sentence = "Some practice items are not yet right. Answer them on your page, where you are told why."


class BadLink(Refusal):
    code, status = "bad_link", 403
    sentence = "This link does not work. Please check that you copied all of it, or ask the study's team for a new one."


class LinkExpired(BadLink):
    code = "link_expired"
    sentence = "This link has expired. Your work is kept; please ask the study's team for a new link."


class LinkRevoked(BadLink):
    code = "link_revoked"
    sentence = (
        "This link has been replaced or withdrawn. Your work is kept; please ask the study's team for a new link."
    )


class Invalid(Refusal):
    """Answers that a check blocks. problems: assignment id -> field -> sentences."""

    code, status = "invalid", 422
    sentence = "Some answers need another look; nothing was submitted and everything you wrote is kept."

    def __init__(self, problems: Mapping[int, Mapping[str, list[str]]]) -> None:
        self.problems = problems
        super().__init__()


class IllegalMove(Exception):
    """A programming error: the table has no such way."""


class LostRace(Exception):
    """Somebody else moved the row first."""
