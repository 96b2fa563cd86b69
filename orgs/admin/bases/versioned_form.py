"""Base of forms that overwrite no change which their page did not show."""

import hashlib
from typing import Any

from django import forms
from django.db.models import Model
from django.forms.models import model_to_dict
from django.utils.translation import gettext


class _VersionField(forms.CharField):
    widget = forms.HiddenInput

    def has_changed(self, initial: object, data: object) -> bool:
        return False


class VersionedForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Has the version of the row that the page shows, and refuses to save if the row has another one meanwhile."""

    version = _VersionField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.initial["version"] = self.current_version()

    def current_version(self) -> str:
        """Return a text that differs after each change of the form's fields."""
        values = model_to_dict(self.instance, self._meta.fields, self._meta.exclude)
        shown = {name: _keys(value) if isinstance(value, list) else value for name, value in sorted(values.items())}
        return hashlib.sha256(repr(shown).encode()).hexdigest()

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("version") and values["version"] != self.initial.get("version"):
            self.add_error(
                None,
                gettext(
                    "This was changed after you had opened the page, in another window or by somebody else. Nothing "
                    "was saved. Open the page again, and repeat your change there."
                ),
            )
        return values


def _keys(values: list[object]) -> list[str]:
    """Return the keys of related rows, which may be in any order."""
    return sorted(str(value.pk if isinstance(value, Model) else value) for value in values)
