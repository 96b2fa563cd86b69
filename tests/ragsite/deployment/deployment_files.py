"""Reads the deployment files for their tests."""

from pathlib import Path
from typing import Any

import yaml

from tests.docs.project import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KUBERNETES = DEPLOY / "kubernetes"
# Where the files put data and code.
DATA, CODE = "/var/lib/ragsite", "/opt/ragsite"


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())  # type: ignore[no-any-return]


def own_services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose()["services"].items() if service.get("image") == "ragsite"}


def manifests() -> list[dict[str, Any]]:
    """Every object, those of the autoscaler for workers included."""
    files = [file for file in KUBERNETES.rglob("*.yaml") if file.name != "kustomization.yaml"]
    return [part for file in files for part in yaml.safe_load_all(file.read_text())]


def pods() -> dict[str, dict[str, Any]]:
    """Name of the process → the template of its pods."""
    templates = [part["spec"]["template"] for part in manifests() if part["kind"] in ("Deployment", "Job")]
    return {template["metadata"]["labels"]["app.kubernetes.io/component"]: template for template in templates}


def unit(file: Path) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            values.setdefault(name, []).append(value)
    return values
