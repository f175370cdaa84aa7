"""Expected refusals of judging; views and commands turn them into answers."""

from annotation.errors import Refusal


class UnknownMeasure(Refusal):
    code, status = "unknown_measure", 404
    sentence = "This study has no such question."


class NoSplit(Refusal):
    code, status = "no_split", 404


class SharedAcrossSplits(Refusal):
    code = "shared_across_splits"


class WrongPair(Refusal):
    code = "wrong_pair"
