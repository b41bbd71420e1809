"""The manifests for Kubernetes: valid by its schemas, and consistent with image, command line and
settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from app.cli import parser
from app.settings import Settings
from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def manifests() -> list[dict[str, Any]]:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files
    return [
        document
        for name in kustomization["resources"]
        for document in yaml.safe_load_all((FOLDER / name).read_text())
    ]


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
        validator.validate(manifest, validator.latest_version(), strict=True)
    broken = manifests()[-1]
    broken["spec"]["podSelektor"] = broken["spec"].pop("podSelector")
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, validator.latest_version(), strict=True)


@pytest.mark.parametrize("name", ["umbel-api", "umbel-worker"])
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


@pytest.mark.parametrize("name", ["umbel-api", "umbel-worker"])
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
        manifest["metadata"]["name"]: manifest["spec"]["template"]["metadata"]["labels"]
        for manifest in manifests()
        if manifest["kind"] == "Deployment"
    }
    for manifest in manifests():
        spec = manifest.get("spec", {})
        if manifest["kind"] == "HorizontalPodAutoscaler":
            assert spec["scaleTargetRef"]["name"] in labels
        selector = spec.get("selector") or spec.get("podSelector")
        if selector is not None:
            assert selector.get("matchLabels", selector) in labels.values()
