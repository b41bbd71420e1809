"""The compose file: valid by the specification, and consistent with command line and settings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli import parser
from app.settings import Settings
from workers.jobs.hints import QUEUES
from workers.settings import WorkerSettings

ROOT = Path(__file__).parent.parent.parent
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = ("api", "worker", "worker-gpu")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def services(compose: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = compose["services"]
    return loaded


def test_the_specification_accepts_it(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*check, str(COMPOSE)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(COMPOSE.read_text().replace("healthcheck:", "healthchek:"))
    done = subprocess.run([*check, str(broken)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1


def test_the_services(compose: dict[str, Any]) -> None:
    assert set(services(compose)) == {*OURS, "valkey", "store", "store-owner", "bucket"}
    assert services(compose)["worker-gpu"]["profiles"] == ["gpu"]
    assert all("profiles" not in services(compose)[name] for name in ("api", "worker"))


@pytest.mark.parametrize("name", OURS)
def test_commands_are_those_of_the_command_line(compose: dict[str, Any], name: str) -> None:
    program, *arguments = services(compose)[name]["command"]
    assert program == "umbel"
    parsed = vars(parser().parse_args(arguments))
    if name == "api":
        assert (parsed["host"], parsed["port"]) == ("0.0.0.0", 8000)
        assert services(compose)[name]["ports"] == ["127.0.0.1:8000:8000"]
    else:
        assert parsed["queues"] == ("gpu" if name == "worker-gpu" else "cpu")
        assert parsed["queues"] in QUEUES


@pytest.mark.parametrize("name", OURS)
def test_settings_are_those_of_the_service(compose: dict[str, Any], name: str) -> None:
    environment = services(compose)[name]["environment"]
    settings = {f"UMBEL_{field.upper()}" for field in Settings.model_fields}
    ours = {key for key in environment if key.startswith("UMBEL_")}
    assert ours <= settings
    assert {"UMBEL_REDIS_URL", "UMBEL_STORE_URL", "UMBEL_S3_ENDPOINT"} <= ours
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= set(environment)
    scratch = re.search(r"UMBEL_SCRATCH_DIR=(\S+)", DOCKERFILE)
    assert scratch
    assert "scratch_dir" in WorkerSettings.model_fields
    assert services(compose)[name]["volumes"][0].endswith(":" + scratch[1])


def test_an_exposed_api_has_keys(compose: dict[str, Any]) -> None:
    assert services(compose)["api"]["environment"]["UMBEL_API_KEYS"].startswith(
        "${UMBEL_API_KEYS:?"
    )
    for name, service in services(compose).items():
        assert name == "api" or "ports" not in service


def test_the_file_contains_no_secret(compose: dict[str, Any]) -> None:
    for service in services(compose).values():
        for key, value in (service.get("environment") or {}).items():
            if re.search("PASSWORD|SECRET|KEY|AUTH", key):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), key
    assert "${VALKEY_PASSWORD:?" in services(compose)["api"]["environment"]["UMBEL_REDIS_URL"]


def test_no_lasting_service_runs_as_root(compose: dict[str, Any]) -> None:
    for name, service in services(compose).items():
        owner = str(service["user"]).split(":")[0]
        if owner == "0":
            # It only gives the store's volume to its user, then ends, without network access.
            assert (name, service["network_mode"], service["restart"]) == (
                "store-owner",
                "none",
                "no",
            )
            continue
        assert int(owner) > 0
        assert service["cap_drop"] == ["ALL"]
    assert "USER umbel" in DOCKERFILE
    uid = re.search(r"--uid (\d+)", DOCKERFILE)
    assert uid
    assert services(compose)["api"]["user"].startswith(uid[1])


def test_every_lasting_service_has_a_health_check(compose: dict[str, Any]) -> None:
    for service in services(compose).values():
        assert ("healthcheck" in service) == (service["restart"] != "no")
    assert "HEALTHCHECK" in DOCKERFILE


def test_valkey_is_durable(compose: dict[str, Any]) -> None:
    command = services(compose)["valkey"]["command"][-1]
    for option in ("--appendonly yes", "--appendfsync always", "--maxmemory-policy noeviction"):
        assert option in command
    assert "requirepass" in command
    assert services(compose)["valkey"]["volumes"] == ["valkey-data:/data"]


def test_volumes_and_networks_are_named(compose: dict[str, Any]) -> None:
    used = {
        volume.split(":")[0]
        for service in services(compose).values()
        for volume in service.get("volumes", [])
    }
    assert used == set(compose["volumes"])
    assert all("networks" in s or s["network_mode"] == "none" for s in services(compose).values())
    assert compose["networks"]["inside"]["internal"] is True


def test_services_with_outside_access_send_webhooks(compose: dict[str, Any]) -> None:
    for name in OURS:
        service = services(compose)[name]
        sends = int(service["environment"].get("UMBEL_WEBHOOK_SENDERS", 16)) > 0
        assert sends == ("outside" in service["networks"]), name
        assert "UMBEL_WEBHOOK_ALLOW" not in service["environment"]


def test_the_image_copies_no_ignored_files() -> None:
    ignore = (ROOT / ".dockerignore").read_text().split()
    assert ignore[0] == "*"
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M):
        for source in line.split()[:-1]:
            assert any(f"!{part}" in ignore for part in (source, *Path(source).parents)), source
            assert (ROOT / source).exists()
    assert "COPY pyproject.toml constraints.txt" in DOCKERFILE
    assert "scripts/install.py --venv /opt/umbel --requirements" in DOCKERFILE


def test_the_index_of_pytorch_passes_through(compose: dict[str, Any]) -> None:
    assert services(compose)["api"]["build"]["args"] == {"TORCH_INDEX": "${TORCH_INDEX:-}"}
    assert re.search(r"^ARG TORCH_INDEX=$", DOCKERFILE, re.M)


def test_embedded_shell_is_valid(compose: dict[str, Any]) -> None:
    shell = shutil.which("sh")
    assert shell
    scripts = [services(compose)["bucket"]["entrypoint"][-1]]
    scripts.append(services(compose)["valkey"]["command"][-1].replace("$$", "$"))
    for script in scripts:
        assert subprocess.run([shell, "-n", "-c", script], timeout=240).returncode == 0
