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


# Libraries that are loaded where they are used.
LOADED_LATE = ("rag.admin", "ragsite.urls", "botocore", "fsspec", "onnx", "onnxruntime", "openai")
START = f"""
import gc, sys
from ragsite.celery import app
app.loader.init_worker()
assert 'rag.tasks' in sys.modules
assert gc.isenabled()
print(sorted(sys.modules.keys() & {set(LOADED_LATE)}))
"""


def test_workers_start_without_what_few_of_them_use() -> None:
    """`init_worker` is what the command `celery worker` does before it forks."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings.test"}
    environment.pop("CELERY_SKIP_CHECKS", None)
    command = [sys.executable, "-c", START]
    result = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    assert result.stdout == "[]\n"


def test_the_project_is_imported_without_celery() -> None:
    """The launcher does this, and everything else that reads only settings."""
    code = "import sys, ragsite.embedded.services; assert not {'celery', 'django'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_checks_of_templates_pass_in_a_process_that_has_not_loaded_the_urls() -> None:
    """The checks load the template filters of the admin, and so the admin without its autodiscovery."""
    code = "import django; django.setup(); from django.core.checks import run_checks; run_checks(tags=['templates'])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings.test"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_the_pages_pass_djangos_checks() -> None:
    import_module("ragsite.urls")
    assert admin.site.is_registered(DataSource)
    assert run_checks(tags=[Tags.admin]) == []
