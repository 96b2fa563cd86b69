"""The Kubernetes manifests: pods are restricted, probed and reached, and Kustomize renders them."""

import shutil
import subprocess
from typing import Any

import pytest
import yaml
from django.urls import resolve

from .deployment_files import DATA, KUBERNETES, manifests, pods


def test_pods_are_restricted() -> None:
    for name, pod in pods().items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"], name
        assert not spec["automountServiceAccountToken"], name
        for container in (*spec.get("initContainers", []), *spec["containers"]):
            assert container["securityContext"]["readOnlyRootFilesystem"], name
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
            assert DATA in {mount["mountPath"] for mount in container["volumeMounts"]}, name
            assert container["resources"]["requests"], name


def test_pods_wait_for_the_migrations_and_are_probed() -> None:
    for name, pod in pods().items():
        for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]):
            for probe in (value for key, value in container.items() if key.endswith("Probe")):
                assert resolve(probe["httpGet"]["path"]).url_name in ("healthz", "readyz")
                # A pod's address is not in ALLOWED_HOSTS.
                assert probe["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        if name != "migrate":
            assert pod["spec"]["initContainers"][0]["command"][-2:] == ["migrate", "--check"], name


def test_policies_and_services_select_existing_pods() -> None:
    labels = {tuple(sorted(pod["metadata"]["labels"].items())) for pod in pods().values()}
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for part in manifests():
        by_kind.setdefault(part["kind"], []).append(part)
    selectors = [policy["spec"]["podSelector"]["matchLabels"] for policy in by_kind["NetworkPolicy"]]
    selectors += [part["spec"]["selector"] for part in by_kind["Service"]]
    selectors += [part["spec"]["selector"]["matchLabels"] for part in by_kind["PodDisruptionBudget"]]
    for selector in selectors:
        assert any(set(selector.items()) <= set(pod) for pod in labels), selector
    deployments = {part["metadata"]["name"] for part in by_kind["Deployment"]}
    assert {part["spec"]["scaleTargetRef"]["name"] for part in by_kind["HorizontalPodAutoscaler"]} <= deployments


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl, which contains Kustomize")
@pytest.mark.parametrize(("folder", "autoscalers"), [("base", 1), ("autoscale-workers", 2)])
def test_kustomize_renders_the_manifests(folder: str, autoscalers: int) -> None:
    rendered = subprocess.run(["kubectl", "kustomize", KUBERNETES / folder], capture_output=True, text=True, check=True)
    parts = list(yaml.safe_load_all(rendered.stdout))
    assert sum(part["kind"] == "HorizontalPodAutoscaler" for part in parts) == autoscalers
    assert {part["metadata"]["namespace"] for part in parts} == {"ragsite"}
    worker = next(
        part for part in parts if (part["kind"], part["metadata"]["name"]) == ("Deployment", "ragsite-worker")
    )
    assert ("replicas" in worker["spec"]) == (autoscalers == 1), "the autoscaler alone decides"
    assert worker["spec"]["template"]["spec"]["containers"][0]["image"].startswith("registry.example.com/")
