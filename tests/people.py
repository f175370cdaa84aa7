"""Who logs in, for tests: researchers in the team of their studies, admins, and what they meet elsewhere."""

from django.contrib.auth.models import Group, User

from annotation import submission
from annotation.models import Annotation, Study
from tests.factories import LONG_AGO, make_sitting

PASSWORD = "a long pass phrase"


def make_researcher(*studies: Study, name: str = "maria") -> User:
    """May change the studies they are in the team of."""
    user = make_onlooker(*studies, name=name)
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    return user


def make_onlooker(*studies: Study, name: str = "otto") -> User:
    """In the team, but not in the group: may look."""
    user = User.objects.create_user(name, password=PASSWORD)
    for study in studies:
        study.team.add(user)
    return user


def make_admin(name: str = "root") -> User:
    return User.objects.create_superuser(name, password=PASSWORD)


def answer(study: Study, code: str, *answers: object, stage: str = "generate") -> list[Annotation]:
    """`code` leases and gives these answers, in the items' order."""
    sitting = make_sitting(study, code, stage=stage)
    rows = sitting.assignments.order_by("item")
    return submission.submit(sitting, dict(zip([a.pk for a in rows], answers, strict=True)), at=LONG_AGO)
