"""When the pages of the admin are imported, and that Django finds no fault in them."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from django.contrib import admin
from django.core.checks import Tags, run_checks

from rag.models import DataSource

ROOT = Path(__file__).parents[2]


def test_workers_start_without_the_admin() -> None:
    """`init_worker` is what the command `celery worker` does before it forks."""
    code = "import sys; from ragsite.celery import app; app.loader.init_worker()"
    code += "; assert 'rag.tasks' in sys.modules; sys.exit('rag.admin' in sys.modules or 'ragsite.urls' in sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings.test"}
    environment.pop("CELERY_SKIP_CHECKS", None)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_the_checks_of_templates_pass_in_a_process_that_has_not_loaded_the_urls() -> None:
    """They load the template filters of the admin, and so the admin without its autodiscovery."""
    code = "import django; django.setup(); from django.core.checks import run_checks; run_checks(tags=['templates'])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings.test"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_the_pages_pass_djangos_checks() -> None:
    import_module("ragsite.urls")
    assert admin.site.is_registered(DataSource)
    assert run_checks(tags=[Tags.admin]) == []
