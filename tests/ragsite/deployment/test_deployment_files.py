"""The deployment files start what the product's code starts; and the image, compose.yaml and systemd units."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from django.urls import resolve

from ragsite.celery import app
from ragsite.run import commands
from tests.docs import project
from tests.docs.project import ROOT

from .deployment_files import CODE, DATA, DEPLOY, UNITS, compose, own_services, pods, unit

PROCESSES = {"web", "worker", "background", "scheduler"}
# Other programs' variables, and the password that compose.yaml puts into DATABASE_URL.
FOREIGN = {"POSTGRES_PASSWORD", "DATABASE_PASSWORD", "GRAFANA_PASSWORD"}
# The most that `systemd-analyze security` may say: 0 is most protected, 10 least.
MAX_EXPOSURE = 20


def documented_settings() -> set[str]:
    """The variables in the tables of the settings page."""
    rows = re.findall(r"^\| (`[A-Z].*?) \|", (ROOT / "docs/operations/settings.md").read_text(), re.M)
    return {name for row in rows for name in re.findall(r"`([A-Z_0-9]+)`", row)}


def started_commands() -> Iterator[tuple[str, str, list[str]]]:
    """(file, process, command) of everything of ours that the files start."""
    for file in UNITS:
        for line in unit(file)["ExecStart"]:
            # In a unit, % begins a specifier: %h would be the user's home.
            assert not re.search(r"(?<!%)%(?!%)", line), "write %% for %"
            command = [part.removeprefix(f"{CODE}/.venv/bin/") for part in shlex.split(line.replace("%%", "%"))]
            yield file.name, file.stem.removeprefix("ragsite-"), command
    for name, service in own_services().items():
        yield "compose.yaml", name, service["command"]
    for name, pod in pods().items():
        for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]):
            yield "kubernetes", name if container["name"] == name else "migrate", container["command"]
    image = re.search(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.M)
    assert image
    yield "Dockerfile", "web", yaml.safe_load(image[1])


def comparable(command: list[str]) -> list[str]:
    """Without what an installation chooses: the interpreter, the address, the number of worker processes."""
    parts = ["python", *command[1:]]
    parts = ["ADDRESS" if re.fullmatch(r"[\d.]+:\d+", part) else part for part in parts]
    if "ingestion" in parts:
        parts[parts.index("--concurrency") + 1] = "COUNT"
    options = parts.index("worker") + 1 if "worker" in parts else len(parts)
    # The order of Celery's options does not matter.
    grouped = re.findall(r"--\S+(?: (?!--)\S+)?", " ".join(parts[options:]))
    return [*parts[:options], *sorted(grouped)]


def test_processes_are_started_as_the_product_starts_them() -> None:
    expected = {
        "web": commands.web(host="127.0.0.1", port=8000),
        "worker": commands.worker(),
        "background": commands.background(),
        "scheduler": commands.scheduler(folder=Path(DATA)),
    }
    seen: dict[str, set[str]] = {}
    for file, process, command in started_commands():
        seen.setdefault(file, set()).add(process)
        if process in expected:
            assert comparable(command) == comparable(expected[process]), (file, process)
        elif command[1] == "manage.py":
            assert command[2] in get_commands(), file
        else:
            assert command == ["python", "-m", "ragsite.run.migrate_and_collect"], file
    assert seen["compose.yaml"] == seen["kubernetes"] == PROCESSES | {"migrate"}
    assert {f"ragsite-{name}.service" for name in PROCESSES | {"migrate"}} == {file.name for file in UNITS}


def test_every_queue_has_one_process_and_a_row_in_the_table_of_hosts() -> None:
    """No task waits in a queue that no process of any deployment reads."""
    queues = {
        name: command[command.index("--queues") + 1]
        for name, command in (
            ("worker", commands.worker()),
            ("background", commands.background()),
            ("scheduler", commands.scheduler(folder=Path(DATA))),
        )
    }
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert sorted(queues.values()) == sorted(queue.name for queue in settings.CELERY_TASK_QUEUES)
    assert routed | {settings.CELERY_TASK_DEFAULT_QUEUE} == set(queues.values())
    app.loader.import_default_modules()  # as a worker does
    own_tasks = {name for name in app.tasks if name.startswith("rag.")}
    assert set(settings.CELERY_TASK_ROUTES) <= own_tasks
    assert own_tasks - set(settings.CELERY_TASK_ROUTES) == {"rag.ingest_documents"}, "it is what workers are for"
    page = (ROOT / "docs/operations/scale.md").read_text()
    rows = re.findall(
        r"^\| (\w+) \| `?(\w+|–)`? \| `(ragsite-\w+\.service)` \| `(\w+)` \| `(ragsite-\w+)` \|", page, re.M
    )
    documented = {process: row for process, *row in rows}
    assert set(documented) == PROCESSES
    for process, (queue, unit_name, service, deployment) in documented.items():
        assert queue == queues.get(process, "–")
        assert (unit_name, service, deployment) == (f"ragsite-{process}.service", process, f"ragsite-{process}")
        assert (DEPLOY / "systemd" / unit_name).exists()


def test_variables_exist_and_are_documented() -> None:
    known = documented_settings()
    assert {"SECRET_KEY", "DATABASE_URL", "RAG_NGINX"} <= known & project.variables()
    environments = [set(service["environment"]) for service in own_services().values()]
    for name in (".env.example", "ragsite.env.example"):
        environments.append(set(re.findall(r"^([A-Z_]+)=", (DEPLOY / name).read_text(), re.M)))
    environments += [{name.partition("=")[0] for name in unit(file)["Environment"]} for file in UNITS]
    image = re.search(r"^ENV ((?:.*\\\n)*.*)$", (DEPLOY / "Dockerfile").read_text(), re.M)
    assert image
    environments.append(set(re.findall(r"(\w+)=", image[1])) - {"PATH", "PYTHONDONTWRITEBYTECODE"})
    for names in environments:
        assert names - FOREIGN <= known
    text = (DEPLOY / "compose.yaml").read_text()
    used = set(re.findall(r"\$\{(\w+)", text))
    assert used == set(re.findall(r"^([A-Z_]+)=", (DEPLOY / ".env.example").read_text(), re.M))
    for secret in ("SECRET_KEY", "DATABASE_PASSWORD", "POSTGRES_PASSWORD"):
        assert f"${{{secret}:?}}" in text, "compose refuses to start without it"


def test_secrets_are_neither_committed_nor_in_the_image() -> None:
    for name in (".env", "ragsite.env"):
        assert subprocess.run(["git", "check-ignore", "-q", f"deploy/{name}"], cwd=ROOT).returncode == 0
    for name in (".env.example", "ragsite.env.example"):
        for variable in ("SECRET_KEY", "POSTGRES_PASSWORD", "RAG_METRICS_TOKEN"):
            assert not re.search(rf"^{variable}=.", (DEPLOY / name).read_text(), re.M)
    assert (ROOT / ".dockerignore").read_text().split("\n")[1] == "*"


def test_compose_names_only_what_it_declares() -> None:
    content = compose()
    services = content["services"]
    for name, service in services.items():
        assert set(service["networks"]) <= set(content["networks"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in content["volumes"], volume
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in services[other], (name, other)
        assert {config["source"] for config in service.get("configs", [])} <= set(content["configs"])
        assert set(service.get("secrets", [])) <= set(content["secrets"])
    for config in content["configs"].values():
        assert yaml.safe_load(config["content"]) if "content" in config else (DEPLOY / config["file"]).exists()


def test_compose_restricts_services_and_opens_only_the_web_server() -> None:
    content = compose()
    services = content["services"]
    for name, service in services.items():
        assert ":latest" not in service["image"], name
        if "profiles" not in service and service["image"] != "ragsite":
            assert set(service["networks"]) == {"data"}, "the database stays inside"
            assert "ports" not in service
    for service in own_services().values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert f"ragsite:{DATA}" in service["volumes"]
    network = content["networks"]["web"]["ipam"]["config"][0]
    assert services["web"]["environment"]["RAG_TRUSTED_PROXIES"] == network["gateway"]
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", []))


def test_image_contains_what_the_product_needs_and_no_root() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for name in line.split()]
    for name in copied:
        assert list(ROOT.glob(name)), name
        assert f"!{name}" in ignored, name
    assert set(copied) >= {"manage.py", "static", "templates", *project.APPS}
    assert re.findall(r"^USER (.*)$", text, re.M) == ["10001:10001"]
    health = re.search(r"http://localhost:8000(/\w+)", text)
    assert health
    assert resolve(health[1]).url_name == "healthz"
    assert re.search(r"apt-get install .* nginx ", text)
    assert "RAG_NGINX=/usr/sbin/nginx" in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_and_protects_the_units(tmp_path: Path) -> None:
    """Checked as if the checkout were where the units expect it."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(shutil.which("true") or "/bin/true")
    for file in (*UNITS, DEPLOY / "systemd" / "ragsite.target"):
        (tmp_path / file.name).write_text(file.read_text().replace(CODE, str(tmp_path)))
    names = [str(tmp_path / file.name) for file in UNITS]
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    target = str(tmp_path / "ragsite.target")
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *names, target]
    result = subprocess.run(verify, capture_output=True, text=True, env=environment)
    complaints = [line for line in result.stderr.splitlines() if "ragsite" in line]
    assert (result.returncode, complaints) == (0, [])
    security = ["systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={MAX_EXPOSURE}", *names]
    result = subprocess.run(security, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout[-500:]
