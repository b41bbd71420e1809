"""How the page's files are served."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.dashboard.routes import FOLDER, KEPT, MEDIA_TYPES, Files
from app.http.environment_keys import new_key
from app.main import create_app, documented_app
from app.settings import Settings

PLAIN = {"Accept-Encoding": "identity"}


def client(**settings: object) -> TestClient:
    app = create_app(Settings(_env_file=None, **settings))
    return TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1))


@pytest.fixture(scope="module")
def local() -> TestClient:
    return client()


def directives(policy: str) -> dict[str, str]:
    return {part.split()[0]: " ".join(part.split()[1:]) for part in policy.split("; ")}


def test_the_content_security_policy(local: TestClient) -> None:
    for path in ("/", "/docs", "/dashboard/js/main.js", "/dashboard/logo.svg"):
        answer = local.get(path)
        assert answer.status_code == 200
        policy = directives(answer.headers["content-security-policy"])
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' blob: data:",
            "connect-src": "'self'",
            "font-src": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
            "form-action": "'none'",
            "require-trusted-types-for": "'script'",
            "trusted-types": "'none'",
        }
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"


def test_every_file_has_its_type(local: TestClient) -> None:
    served = [path for path in FOLDER.rglob("*") if path.suffix in MEDIA_TYPES]
    assert len(served) > 20
    for path in served:
        answer = local.get(f"/dashboard/{path.relative_to(FOLDER).as_posix()}", headers=PLAIN)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == MEDIA_TYPES[path.suffix], path
        assert re.sub(rb'"dashboard/v-\w+/', b'"dashboard/', answer.content) == path.read_bytes()


def test_an_unchanged_file_is_not_sent_again(local: TestClient) -> None:
    first = local.get("/dashboard/js/main.js", headers=PLAIN)
    assert first.headers["cache-control"] == "no-cache"
    etag = first.headers["etag"]
    again = local.get("/dashboard/js/main.js", headers={**PLAIN, "If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    gzip = {"Accept-Encoding": "gzip"}
    packed = local.get("/dashboard/js/main.js", headers=gzip).headers["etag"]
    again = local.get("/dashboard/js/main.js", headers={**gzip, "If-None-Match": packed})
    assert (again.status_code, again.headers["etag"]) == (304, packed)
    changed = local.get("/dashboard/js/router.js", headers={**PLAIN, "If-None-Match": etag})
    assert changed.status_code == 200


def test_text_is_compressed_for_clients_that_accept_it(local: TestClient) -> None:
    path = "/dashboard/js/main.js"
    plain = local.get(path, headers=PLAIN)
    packed = local.get(path, headers={"Accept-Encoding": "br, gzip;q=0.8"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.headers["etag"] != plain.headers["etag"]
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    refused = local.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers


def test_a_changed_file_is_read_again(
    local: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.dashboard.routes.PAGE", Files(directory=tmp_path))
    (tmp_path / "a.js").write_text("1;")
    assert local.get("/dashboard/a.js").text == "1;"
    (tmp_path / "a.js").write_text("22;")
    assert local.get("/dashboard/a.js").text == "22;"


def test_a_browser_keeps_what_a_page_names(local: TestClient) -> None:
    for page in ("/", "/docs", "/shared", "/embed"):
        answer = local.get(page)
        assert answer.headers["cache-control"] == "no-cache"
        named = re.findall(r'(?:src|href)="(dashboard/[^"]+)"', answer.text)
        assert len(named) > 4
        for path in named:
            file = local.get(f"/{path}", headers=PLAIN)
            assert file.status_code == 200
            assert file.headers["cache-control"] == KEPT
            kept = {"If-None-Match": file.headers["etag"]}
            assert local.get(f"/{path}", headers={**PLAIN, **kept}).status_code == 304
            plain = re.sub(r"/v-\w+/", "/", path)
            assert local.get(f"/{plain}", headers=PLAIN).content == file.content
    for path in ("v-0123456789abcdef/js/main.js", "metrics.json"):
        assert local.get(f"/dashboard/{path}").headers["cache-control"] == "no-cache"
    for path in ("v-0123456789abcdef/", "v-0123456789abcdef/js/none.js", "v-0/js/main.js"):
        assert local.get(f"/dashboard/{path}").status_code == 404


def test_a_changed_file_has_another_address(
    local: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.dashboard.routes.PAGE", Files(directory=tmp_path))
    monkeypatch.setattr("app.dashboard.routes._VERSION_S", 0.0)
    (tmp_path / "index.html").write_text('<script src="dashboard/js/a.js"></script>')
    (tmp_path / "js").mkdir()
    addresses: list[str] = []
    for content in ("1;", "2;", "1;"):
        (tmp_path / "js" / "a.js").write_text(content)
        os.utime(tmp_path / "js" / "a.js", ns=(len(addresses), len(addresses)))
        addresses.append(local.get("/").text)
    assert addresses[0] == addresses[2] != addresses[1]


@pytest.mark.parametrize(
    "path",
    [
        "js/none.js",
        "js",
        "js/",
        "../main.py",
        "..%2fmain.py",
        "%2e%2e/main.py",
        "js/..%2f..%2f..%2fpyproject.toml",
        "sample/../main.py",
        "sample/SOURCES.md",
        "sample/none.json",
        ".hidden.js",
        "js/.hidden.js",
        "js//api.js",
        "/etc/passwd.txt",
        "js/main.js%00.js",
        "js\\api.js",
    ],
)
def test_nothing_else_is_served(local: TestClient, path: str) -> None:
    answer = local.get(f"/dashboard/{path}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "/problems/not-found"


def test_the_sample_is_served(local: TestClient) -> None:
    logits = local.get("/dashboard/sample/logits.npy")
    assert logits.headers["content-type"] == "application/x-npy"
    assert logits.content.startswith(b"\x93NUMPY")
    assert len(local.get("/dashboard/sample/names.json").json()) == 119


def test_head_and_other_methods(local: TestClient) -> None:
    head = local.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 500
    assert local.post("/").status_code == 405
    assert local.post("/dashboard/js/main.js").status_code == 405


def test_the_folder_redirects_to_the_page() -> None:
    for root_path in ("", "/umbel"):
        answer = client(root_path=root_path).get("/dashboard/", follow_redirects=False)
        assert answer.status_code == 307
        assert answer.headers["location"] == f"{root_path}/"


def test_the_page_is_not_in_the_openapi_document() -> None:
    paths = documented_app().openapi()["paths"]
    assert "/" not in paths
    assert not [path for path in paths if path.startswith("/dashboard")]


def test_the_page_needs_no_key() -> None:
    _, line = new_key("a")
    keyed = client(api_keys=line)
    far = TestClient(keyed.app, base_url="http://umbel.example", client=("10.0.0.1", 1))
    for path in ("/", "/docs", "/dashboard/js/main.js", "/dashboard/sample/names.json"):
        assert far.get(path).status_code == 200
    assert far.get("/v1/methods").status_code == 401


def test_addresses_in_the_page_are_relative() -> None:
    # Relative addresses work behind a proxy's prefix.
    for page in ("index.html", "docs.html"):
        text = (FOLDER / page).read_text("utf-8")
        for address in re.findall(r'(?:href|src)="([^"]*)"', text):
            assert not re.match(r"/|[a-z]+:", address), address
            if address.startswith("dashboard/"):
                assert (FOLDER / address.removeprefix("dashboard/")).is_file(), address


@pytest.mark.parametrize(
    ("name", "package"), [("swagger-ui", "swagger-ui-dist"), ("twgl", "twgl.js")]
)
def test_files_of_others_are_as_published(name: str, package: str) -> None:
    folder = FOLDER / "vendor" / name
    source, *lines = (folder / "SHA256SUMS.txt").read_text("utf-8").splitlines()
    assert re.match(rf"# {package} [\d.]+ of the npm registry, sha512-", source)
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert set(sums) == {path.name for path in folder.iterdir()} - {"SHA256SUMS.txt"}
    for name, digest in sums.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_the_largest_file_is_small_on_its_way(local: TestClient) -> None:
    path = "/dashboard/vendor/swagger-ui/swagger-ui-bundle.js"
    answer = local.head(path, headers={"Accept-Encoding": "gzip"})
    assert int(answer.headers["content-length"]) < 500_000
    etag = {"If-None-Match": answer.headers["etag"], "Accept-Encoding": "gzip"}
    assert local.get(path, headers=etag).status_code == 304
