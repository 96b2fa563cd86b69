"""When each organisation was served last, so that documents are claimed in turn."""

from django.db import models

from orgs.models import Organization


class IngestionFairness(models.Model):
    """When a worker last claimed documents of an organisation. The one that has waited longest is served next."""

    organization = models.OneToOneField(Organization, models.CASCADE, primary_key=True, related_name="+")
    served_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.organization}: {self.served_at}"
