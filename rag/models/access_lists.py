"""Access lists: who may query a source. Sources with the same audience share one."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from orgs.models import Organization
from ragsite.postgres.models import UUIDModel


class AccessList(UUIDModel):
    """The audience of sources: of one organisation, with one visibility, open to the same users, roles or teams.

    Triggers keep them (rag/migrations/sql/access_lists.sql), and delete one that no source has any more. Only the
    functions that search read them: a search compares a few lists however many sources they have.

    Attributes:
        id: A digest of the other fields.
        principals: The users, roles or teams that the sources are granted to, or the owner of personal sources.
        expiries: When the grant of each principal expires; None if none of them does.
    """

    organization = models.ForeignKey(
        Organization, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    visibility = models.CharField(max_length=8)
    principals = ArrayField(models.UUIDField())
    expiries = ArrayField(models.DateTimeField(), null=True)

    class Meta:
        indexes = (models.Index(fields=["organization", "visibility"], name="accesslist_of_organization"),)

    def __str__(self) -> str:
        return f"{self.organization_id}, {self.visibility}: {self.id}"
