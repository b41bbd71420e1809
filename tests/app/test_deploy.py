"""The manifests for Kubernetes: valid by its schemas, and consistent with image, command line and
settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from app.cli import parser
from app.settings import Settings
from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()


PARTS = ("base", "ingress", "monitoring", "gpu", "managed")
WORKLOADS = ("umbel-api", "umbel-worker", "umbel-worker-gpu")


def kustomization(part: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / part / "kustomization.yaml").read_text())
    return loaded


def manifests() -> list[dict[str, Any]]:
    """What each part adds, which its kustomization lists whole."""
    found = []
    for part in PARTS:
        listed = kustomization(part)["resources"]
        files = {path.name for path in (FOLDER / part).glob("*.yaml")}
        assert set(listed) == files - {"kustomization.yaml", "adapter-values.yaml"}
        for name in listed:
            found += yaml.safe_load_all((FOLDER / part / name).read_text())
    return found


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {m["metadata"]["name"]: m for m in manifests() if m["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    return {
        manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]
        for manifest in manifests()
        if manifest["kind"] == "Deployment"
    }


@pytest.mark.needs("kubernetes-validate")
def test_the_schemas_accept_them() -> None:
    import kubernetes_validate as validator

    for manifest in manifests():
        # That of Prometheus's operator is no schema of Kubernetes.
        if manifest["kind"] != "ServiceMonitor":
            validator.validate(manifest, validator.latest_version(), strict=True)
    broken = of_kind("NetworkPolicy")["umbel-api"]
    broken["spec"]["podSelektor"] = broken["spec"].pop("podSelector")
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, validator.latest_version(), strict=True)


@pytest.mark.parametrize("name", WORKLOADS)
def test_commands_and_settings_are_those_of_the_service(name: str) -> None:
    pod = pods()[name]
    [container] = pod["containers"]
    program, *arguments = container["args"]
    assert program == "umbel"
    assert parser().parse_args(arguments)
    settings = next(m["data"] for m in manifests() if m["kind"] == "ConfigMap")
    names = {*settings, *(variable["name"] for variable in container["env"])}
    known = {f"UMBEL_{field.upper()}" for field in Settings.model_fields}
    assert {own for own in names if own.startswith("UMBEL_")} <= known
    values = {variable["name"]: variable.get("value") for variable in container["env"]}
    drain = float(values.get("UMBEL_DRAIN_S") or Settings().shutdown_s + 5)
    assert pod["terminationGracePeriodSeconds"] > drain + 5


@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_is_trusted_with_more_than_it_needs(name: str) -> None:
    pod = pods()[name]
    [container] = pod["containers"]
    user = re.search(r"useradd --uid (\d+)", DOCKERFILE)
    assert user is not None
    assert pod["securityContext"]["runAsUser"] == int(user[1])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    own = container["securityContext"]
    assert own["readOnlyRootFilesystem"] is True
    assert own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]}
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/var/lib/umbel", "/tmp"} <= mounts
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }
    for variable in container["env"]:
        if re.search("SECRET|KEY_ID|TOKEN|REDIS_URL", variable["name"]):
            assert "secretKeyRef" in variable["valueFrom"], variable["name"]


def test_selectors_find_the_pods() -> None:
    labels = {
        name: deployment["spec"]["template"]["metadata"]["labels"]
        for name, deployment in of_kind("Deployment").items()
    }
    assert set(labels) == set(WORKLOADS)
    for name, deployment in of_kind("Deployment").items():
        # Two Deployments with one selector take each other's pods.
        assert deployment["spec"]["selector"]["matchLabels"] == labels[name]
    assert len({str(own) for own in labels.values()}) == len(WORKLOADS)
    services = [service["metadata"]["labels"] for service in of_kind("Service").values()]
    for manifest in manifests():
        spec = manifest.get("spec", {})
        if manifest["kind"] == "HorizontalPodAutoscaler":
            assert spec["scaleTargetRef"]["name"] in labels
        selector = spec.get("selector") or spec.get("podSelector")
        if selector is not None and "matchExpressions" in selector:
            [expression] = selector["matchExpressions"]
            values = {own[expression["key"]] for own in labels.values()}
            assert set(expression["values"]) <= values
        elif selector is not None:
            wanted = selector.get("matchLabels", selector)
            found = services if manifest["kind"] == "ServiceMonitor" else labels.values()
            assert wanted in found
    for kind in ("PodDisruptionBudget", "HorizontalPodAutoscaler"):
        assert set(of_kind(kind)) == set(WORKLOADS)


def test_what_is_named_exists() -> None:
    """Ports, secrets, services, namespaces and files by the names under which they are."""
    readme = (FOLDER / "README.md").read_text()
    keys = set(re.findall(r"--from-literal=([\w-]+)=|--from-file=([\w-]+)", readme))
    known = {one or other for one, other in keys}
    for pod in pods().values():
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            assert container["image"] in ("umbel", "umbel-gpu")
            for source in container.get("envFrom", ()):
                assert source["configMapRef"]["name"] in of_kind("ConfigMap")
            for variable in container.get("env", ()):
                reference = variable.get("valueFrom", {}).get("secretKeyRef")
                assert reference is None or (
                    reference["name"] == "umbel" and reference["key"] in known
                )
    [service] = of_kind("Service").values()
    [port] = service["spec"]["ports"]
    [container] = pods()["umbel-api"]["containers"]
    assert port["targetPort"] in {own["name"] for own in container["ports"]}
    [ingress] = of_kind("Ingress").values()
    [path] = ingress["spec"]["rules"][0]["http"]["paths"]
    backend = path["backend"]["service"]
    assert (backend["name"], backend["port"]["name"]) == (service["metadata"]["name"], port["name"])
    [monitor] = of_kind("ServiceMonitor").values()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] == port["name"]
    assert endpoint["authorization"]["credentials"]["key"] in known
    assert {m["metadata"].get("namespace", "umbel") for m in manifests()} == {"umbel"}
    for name in ("", "everything"):
        whole = kustomization(name)
        images = {image["name"] for image in whole["images"]}
        assert "umbel" in images
        for place in (*whole["resources"], *whole["components"]):
            assert (FOLDER / name / place / "kustomization.yaml").is_file()
    assert images == {"umbel", "umbel-gpu"}
    assert set(whole["resources"]) | set(whole["components"]) == {f"../{part}" for part in PARTS}


def test_autoscalers_ask_for_a_metric_that_the_adapter_serves() -> None:
    values = yaml.safe_load((FOLDER / "monitoring" / "adapter-values.yaml").read_text())
    [rule] = values["rules"]["external"]
    for name, queue in (("umbel-worker", "cpu"), ("umbel-worker-gpu", "gpu")):
        [metric] = of_kind("HorizontalPodAutoscaler")[name]["spec"]["metrics"]
        assert metric["external"]["metric"]["name"] == rule["seriesQuery"]
        assert metric["external"]["metric"]["selector"]["matchLabels"] == {"queue": queue}
        [container] = pods()[name]["containers"]
        assert container["args"][-2:] == ["--queues", queue]


def test_workers_reach_the_store_and_redis_and_nothing_reaches_them() -> None:
    policies = of_kind("NetworkPolicy")
    worker = policies["umbel-worker"]["spec"]
    assert worker["ingress"] == []
    assert set(worker["policyTypes"]) == {"Ingress", "Egress"}
    inside = {port["port"] for rule in worker["egress"] for port in rule["ports"]}
    assert inside == {6379, 8333, 53}
    managed = policies["umbel-managed"]["spec"]
    assert managed["policyTypes"] == ["Egress"]
    https, own = managed["egress"]
    assert {port["port"] for port in https["ports"]} == {443}
    assert https["to"][0]["ipBlock"]["except"] == ["169.254.0.0/16"]
    assert {port["port"] for port in own["ports"]} == {6379, 6380}
    [gpu] = pods()["umbel-worker-gpu"]["containers"]
    assert gpu["resources"]["limits"]["nvidia.com/gpu"] == 1


KUBECTL = shutil.which("kubectl") or ""


@pytest.mark.skipif(not KUBECTL, reason="kubectl is not installed")
def test_kustomize_builds_them() -> None:
    command = [KUBECTL, "kustomize", str(FOLDER / "everything")]
    built = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    documents = list(yaml.safe_load_all(built.stdout))
    assert len(documents) == len(manifests())
    settings = next(m["data"] for m in documents if m["kind"] == "ConfigMap")
    assert settings["UMBEL_STORE_URL"].startswith("s3://")
    assert "UMBEL_S3_ENDPOINT" not in settings
    named = {f"{own['newName']}:{own['newTag']}" for own in kustomization("everything")["images"]}
    assert set(re.findall(r"image: (\S+)", built.stdout)) == named
    tags = {own["newTag"] for name in ("", "everything") for own in kustomization(name)["images"]}
    assert len(tags) == 1
