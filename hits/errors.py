"""Expected refusals, each with a code for programs and a sentence for people."""

from annotation.errors import Refusal


class OverBudget(Refusal):
    code, status = "over_budget", 409
    sentence = "This would cost more than the study's budget has left."


class BadTerms(Refusal):
    code, status = "bad_terms", 422
    sentence = "These terms cannot be published."


class NotNow(Refusal):
    code, status = "not_now", 409
    sentence = "This has changed in the meantime. Here is how it stands now."


class ReasonNeeded(Refusal):
    code, status = "reason_needed", 422
    sentence = "Say why: the worker reads it."
