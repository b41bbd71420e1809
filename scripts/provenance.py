"""Which commit and tools made what is released, and who says so.

    python -m scripts.provenance files [--key KEY]           dist/provenance.json of all in dist
    python -m scripts.provenance image NAME@sha256:... [--key KEY]
    python -m scripts.provenance verify FILE --key PUBLIC [--files FOLDER]

The statement is in-toto's with SLSA's predicate. With a private key (PEM: ECDSA, Ed25519 or RSA;
its password in RELEASE_KEY_PASSWORD) it is signed, in DSSE, beside it as `*.dsse.json`; `verify`
says what a signed one vouches for, and compares files with their digests.
Anything that fails ends with a message and status 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.versions import version

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PAYLOAD = "application/vnd.in-toto+json"
OWN = re.compile(r"provenance.*\.json")
"""Names of files that this writes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    files = commands.add_parser("files", help="of all files in dist")
    image = commands.add_parser("image", help="of an image, by its digest")
    image.add_argument("image", help="NAME@sha256:DIGEST, as the registry knows it")
    for made in (files, image):
        made.add_argument("--key", type=Path, help="private key that signs it")
    check = commands.add_parser("verify", help="a signed statement, and the files that it names")
    check.add_argument("file", type=Path)
    check.add_argument("--key", type=Path, required=True, help="public key")
    check.add_argument("--files", type=Path, help="folder with the files")
    arguments = parser.parse_args()
    if arguments.command == "verify":
        verify(arguments.file, arguments.key, arguments.files)
    elif arguments.command == "image":
        write("provenance-image", [of_image(arguments.image)], arguments.key)
    else:
        write("provenance", of_files(), arguments.key)


def of_files() -> list[dict[str, Any]]:
    """The files of `dist` with their digests."""
    return [
        {"name": path.name, "digest": {"sha256": digest(path)}}
        for path in sorted(DIST.glob("*"))
        if not OWN.fullmatch(path.name)
    ]


def of_image(text: str) -> dict[str, Any]:
    """An image by the digest under which a registry has it. Exits where there is none."""
    parts = re.fullmatch(r"([^@\s]+)@sha256:([0-9a-f]{64})", text)
    if parts is None:
        sys.exit(
            f"{text!r} has no digest: write NAME@sha256:..., as `docker buildx imagetools inspect` "
            "or the push shows it; a tag may move"
        )
    return {"name": parts[1], "digest": {"sha256": parts[2]}}


def write(name: str, subjects: list[dict[str, Any]], key: Path | None) -> None:
    """Write the statement into `dist`; with a key also signed."""
    if not subjects:
        sys.exit(f"{DIST} is empty: `make release` builds what is released")
    DIST.mkdir(exist_ok=True)
    text = json.dumps(statement(subjects), indent=2) + "\n"
    (DIST / f"{name}.json").write_text(text)
    print(f"{name}.json: {len(subjects)} of commit {_output('git', 'rev-parse', 'HEAD')[:12]}")
    if key is not None:
        envelope, keyid = signed(text.encode(), key)
        (DIST / f"{name}.dsse.json").write_text(json.dumps(envelope, indent=2) + "\n")
        print(f"{name}.dsse.json: signed by key {keyid[:12]}")


def statement(subjects: list[dict[str, Any]]) -> dict[str, Any]:
    """What was built, from which commit, by which tools."""
    constraints = {"sha256": digest(ROOT / "constraints.txt")}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make release",
                "externalParameters": {"version": version()},
                "resolvedDependencies": [
                    {
                        "name": "source",
                        "digest": {"gitCommit": _output("git", "rev-parse", "HEAD")},
                    },
                    {"name": "constraints.txt", "digest": constraints},
                ],
            },
            "runDetails": {
                "builder": {"id": f"python {platform.python_version()} on {platform.platform()}"},
                "metadata": {
                    "finishedOn": datetime.now(UTC).isoformat(timespec="seconds"),
                    "workTreeClean": not _output("git", "status", "--porcelain"),
                },
            },
        },
    }


def signed(payload: bytes, key: Path) -> tuple[dict[str, Any], str]:
    """The DSSE envelope of a statement, and the id of its key. Exits for what is no private key."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner

    password = os.environ.get("RELEASE_KEY_PASSWORD")
    try:
        private: Any = load_pem_private_key(key.read_bytes(), password and password.encode())
        signer = CryptoSigner(private)
    except (OSError, TypeError, ValueError) as error:
        sys.exit(f"{key} is no private key in PEM that can be used: {error}")
    envelope = Envelope(payload, PAYLOAD, {})
    keyid = envelope.sign(signer).keyid
    return envelope.to_dict(), keyid


def verify(file: Path, key: Path, folder: Path | None) -> None:
    """Print what a signed statement vouches for. Exits 1 where its signature is not by the key, or
    a file of `folder` is missing or another one."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    try:
        public: Any = load_pem_public_key(key.read_bytes())
        envelope = Envelope.from_dict(json.loads(file.read_text()))
        envelope.verify([SSlibKey.from_crypto(public)], 1)
    except VerificationError:
        sys.exit(f"{file} is not signed by {key}, or was changed since")
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{file} or {key} cannot be read: {error!r}")
    if envelope.payload_type != PAYLOAD:
        sys.exit(f"{file} signs {envelope.payload_type!r}, not a statement of provenance")
    stated = json.loads(envelope.payload)
    wrong = []
    for subject in stated["subject"]:
        print(f"sha256:{subject['digest']['sha256']}  {subject['name']}")
        if folder is not None:
            path = folder / Path(subject["name"]).name
            if not path.is_file():
                wrong.append(f"{path} is missing")
            elif digest(path) != subject["digest"]["sha256"]:
                wrong.append(f"{path} is another file")
    build = stated["predicate"]["buildDefinition"]
    print(f"version {build['externalParameters']['version']}")
    print(f"commit {build['resolvedDependencies'][0]['digest']['gitCommit']}")
    if wrong:
        sys.exit("\n".join(wrong))


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _output(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
