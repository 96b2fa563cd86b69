from django.db import migrations, models


def respell(apps, schema_editor):
    """Addresses in their one spelling; one that has none stops here, with its id, for somebody to decide."""
    from accounts.models import UserManager

    User = apps.get_model("accounts", "User")
    for user in User.objects.exclude(email__regex=r"^[!-~]+$"):
        user.email = UserManager.normalize_email(user.email)
        if not user.email.isascii() or " " in user.email:
            raise ValueError(f"The e-mail address of user {user.pk} has letters of other scripts: change it, then migrate.")
        user.save(update_fields=["email"])


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_audit_trail")]

    operations = [
        migrations.RunPython(respell, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("email__regex", "^[!-~]+$")), name="user_email_is_ascii"
            ),
        ),
    ]
