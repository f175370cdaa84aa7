"""Expected refusals of judging; views and commands turn them into answers."""

from annotation.errors import Refusal


class UnknownMeasure(Refusal):
    code, status = "unknown_measure", 404
    sentence = "This study has no such question."
