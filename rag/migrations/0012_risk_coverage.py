"""Names the stored risk-coverage curve after what it holds: pairs of the share answered and the share of them wrong."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("rag", "0023_ocr")]

    operations = [migrations.RenameField("calibration", "risk", "risk_coverage")]
