#!/usr/bin/env python
"""Django's command line."""

import os
import sys
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from ragsite.postgres import identity

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    # What `make run` noted for a second terminal; a deployment's variables win, and its servers do not read this.
    data = os.environ.get("RAGSITE_DATA") or Path(__file__).parent / "var" / "run"
    environ.Env.read_env(Path(data) / "local.env", overwrite=False)
    creates_tables = sys.argv[1:2] in (["migrate"], ["restore"])
    identity.run_process_as(identity.OWNER if creates_tables else identity.WORKER)
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        reason = str(error).removesuffix(".")
        sys.exit(f"{reason}. (`make run` sets up this checkout; docs/operations/settings.md lists all settings.)")
