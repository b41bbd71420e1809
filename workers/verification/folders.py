"""What a dataset, a job, an upload and the service must have in the store, and what it must be.

Each function reads one folder and reports to its `Reader`. Not seen, since nothing refers to it:
that a whole dataset, job, edition or link is gone, the last of several changes, or an empty mark.
Not read: shares of running fits and checkpoints, which save time and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import TypeAdapter

from workers.artifacts import results
from workers.artifacts.aliases import Move
from workers.artifacts.audit import lines_in
from workers.artifacts.datasets import CONTENT, INSPECTED, META, STATEMENTS, Dataset, Inspection
from workers.artifacts.editions import CHANGES, Change, tree_of
from workers.artifacts.keys import Key, use_in
from workers.artifacts.shares import Share, moment_ms
from workers.artifacts.uploads import Upload
from workers.errors import Damaged
from workers.jobs.webhook_keys import require_secret
from workers.model import Annotation, Delivery, End, Pause, Request, sibling
from workers.stores.objects import layout
from workers.stores.objects.job_files import END, REQUEST
from workers.stores.objects.quarantine import Mark
from workers.stores.objects.witnesses import WITNESSED, Witness, witness_of
from workers.verification.reading import Reader
from workers.work.job import RUNS

_DATASET, _INSPECTION = TypeAdapter(Dataset), TypeAdapter(Inspection)
_REQUEST, _END, _DELIVERY = TypeAdapter(Request), TypeAdapter(End), TypeAdapter(Delivery)
_ANNOTATION, _CHANGE, _MARK = TypeAdapter(Annotation), TypeAdapter(Change), TypeAdapter(Mark)
_MOVE, _PAUSE = TypeAdapter(Move), TypeAdapter(Pause)
_KEY, _SHARE, _UPLOAD = TypeAdapter(Key), TypeAdapter(Share), TypeAdapter(Upload)
_WITNESS = TypeAdapter(Witness)
_OWNERS = {layout.FORMAT_MARK: "the store", layout.WEBHOOK_ROOT: "signatures of webhooks"}
_WITNESSES = {witness_of(key): key for key in WITNESSED}
_NUMBER = re.compile(r"[0-9]+")
_PART = re.compile(r"([0-9]+)\.([^./]+)\.([0-9]+)\.([0-9a-f]{64})")
_TREE_FILES = (results.TREE, results.LEAF_OF_POINT)


def check_dataset(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """folder : `datasets/<tenant>/<id>`; keys : what lies below."""
    _, tenant, own_id = folder.split("/")
    owner = f"dataset {own_id} of {tenant}"
    names = _names(folder, keys)
    meta = f"{folder}/{META}"
    facts = reader.sealed(meta, owner, _DATASET)
    if facts is not None:
        dataset, has_seal = facts
        if (dataset.tenant, dataset.id) != (tenant, own_id):
            reader.wrong(meta, f"it is of {dataset.id} of {dataset.tenant}", owner)
        reader.digest(f"{folder}/{CONTENT}", dataset.sha256, owner)
        if has_seal and dataset.tree is not None and STATEMENTS not in names:
            reader.lost(f"{folder}/{STATEMENTS}", owner)
    elif META not in names:
        reader.lost(meta, owner, why="what is left of the dataset has no facts")
    for name in sorted(names - {META, CONTENT}):
        if name == INSPECTED:
            reader.sealed(f"{folder}/{name}", owner, _INSPECTION)
        elif name == STATEMENTS:
            reader.json(f"{folder}/{name}", owner)
        elif not _annotation(reader, folder, name, {"ds"}):
            reader.foreign(f"{folder}/{name}", owner)


def check_job(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """folder : `jobs/<tenant>/<id>`; keys : what lies there, in its attempts, and its open
    marker."""
    _, tenant, job_id = folder.split("/")
    owner = f"job {job_id} of {tenant}"
    all_keys = [*keys]
    names = _names(folder, all_keys)
    files = _names(layout.attempts(tenant, job_id).removesuffix("/"), all_keys)
    is_open = layout.open_marker(tenant, job_id) in all_keys
    if is_open:
        reader.empty(layout.open_marker(tenant, job_id), owner)
    request = reader.sealed(f"{folder}/{REQUEST}", owner, _REQUEST)
    if request is not None:
        _inputs(reader, folder, names, owner, *request)
    elif REQUEST not in names:
        reader.lost(f"{folder}/{REQUEST}", owner, why="what is left of the job has no request")
    end = reader.sealed(f"{folder}/{END}", owner, _END)
    if end is not None:
        _results(reader, tenant, job_id, names, files, *end)
    elif END not in names and not is_open and REQUEST in names:
        why = "the job has neither an end nor the mark of one that goes on"
        reader.lost(f"{folder}/{END}", owner, why=why)
    editions: dict[str, set[str]] = {}
    for name in sorted(names - {REQUEST, END}):
        start, _, rest = name.partition("/")
        if name.startswith("input."):
            continue
        if name == "webhook.json":
            reader.sealed(f"{folder}/{name}", owner, _DELIVERY)
        elif start == "removed" and rest and "/" not in rest:
            reader.empty(f"{folder}/{name}", owner)
        elif start == "editions" and rest.count("/") == 1:
            editions.setdefault(rest.partition("/")[0], set()).add(rest.partition("/")[2])
        elif not _annotation(reader, folder, name, {"job", "tr", "md"}):
            reader.foreign(f"{folder}/{name}", owner)
    for edition_id, own_names in sorted(editions.items()):
        _edition(reader, f"{folder}/editions/{edition_id}", own_names, tenant)


def _inputs(
    reader: Reader, folder: str, names: set[str], owner: str, request: Request, has_seal: bool
) -> None:
    if folder != f"jobs/{request.tenant}/{request.id}":
        reader.wrong(f"{folder}/{REQUEST}", f"it is of {request.id} of {request.tenant}", owner)
    for role, sha256 in sorted(request.inline_sha256.items()):
        reader.digest(f"{folder}/input.{role}", sha256, owner)
    inline = {f"input.{role}" for role in request.inline_sha256}
    for name in sorted(name for name in names if name.startswith("input.")):
        if has_seal and name not in inline:
            reader.foreign(f"{folder}/{name}", owner)


def _results(
    reader: Reader,
    tenant: str,
    job_id: str,
    names: set[str],
    files: set[str],
    end: End,
    has_seal: bool,
) -> None:
    """Compare what the attempt published. A tree or a model may have been removed since, and rows
    or runs may have become datasets and jobs."""
    if end.job != job_id:
        owner = f"job {job_id} of {tenant}"
        reader.wrong(layout.job(tenant, job_id, END), f"it is of {end.job}", owner)
        return
    tree_gone = f"removed/{results.TREE}" in names
    if not has_seal:
        tree_gone |= f"{end.fence}/{results.TREE}" not in files
    for file in end.files:
        key = layout.attempt(tenant, job_id, end.fence, file.name)
        there = f"{end.fence}/{file.name}" in files
        moved = file.name in results.TRANSFORMATIONS or file.name.startswith(f"{RUNS}/")
        gone = tree_gone or f"removed/{file.name}" in names
        gone |= not has_seal and file.name == results.MODEL
        if there or not (moved or gone):
            reader.digest(key, file.sha256, _maker(tenant, job_id, file.name, end))
    known = {f"{end.fence}/{file.name}" for file in end.files}
    for name in sorted(files - known):
        if end.fence and name.startswith(f"{end.fence}/"):
            reader.foreign(layout.attempts(tenant, job_id) + name, f"job {job_id} of {tenant}")


def _maker(tenant: str, job_id: str, name: str, end: End) -> str:
    """What a file of a result belongs to."""
    if name == results.MODEL:
        return f"model {sibling(job_id, 'md')} of {tenant}"
    if end.tree is not None and name in _TREE_FILES:
        return f"tree {sibling(job_id, 'tr')} of {tenant}"
    return f"job {job_id} of {tenant}"


def _edition(reader: Reader, folder: str, names: set[str], tenant: str) -> None:
    edition_id = folder.rpartition("/")[2]
    owner = f"edition {edition_id} of tree {tree_of(edition_id)} of {tenant}"
    numbers = {name for name in names if _NUMBER.fullmatch(name)}
    last = max((int(name) for name in numbers), default=0)
    changes: dict[int, Change] = {}
    for number in range(1, last + 1):
        name = f"{number:06d}"
        if name not in numbers:
            reader.lost(f"{folder}/{name}", owner)
            continue
        change = reader.sealed(f"{folder}/{name}", owner, _CHANGE)
        if change is not None:
            changes[number] = change[0]
            if change[0].number != number:
                reader.wrong(f"{folder}/{name}", f"it is change {change[0].number}", owner)
    for name in sorted(names - numbers):
        if not _NUMBER.fullmatch(name.removeprefix("to.")):
            reader.foreign(f"{folder}/{name}", owner)
            continue
        copy = reader.sealed(f"{folder}/{name}", owner, CHANGES)
        if copy is None:
            continue
        number = int(name.removeprefix("to."))
        for missing in range(last + 1, number + 1):
            reader.lost(f"{folder}/{missing:06d}", owner)
        if [each.number for each in copy[0]] != [*range(1, number + 1)] or any(
            changes.get(each.number, each) != each for each in copy[0]
        ):
            reader.wrong(f"{folder}/{name}", "it differs from the changes themselves", owner)


def _annotation(reader: Reader, folder: str, name: str, kinds: set[str]) -> bool:
    """Read one change of names and tags; False for what is none."""
    parts = name.split("/")
    if len(parts) != 3 or parts[0] != "annotations" or parts[1] not in kinds:
        return False
    if not re.fullmatch(r"[0-9]{12}", parts[2]):
        return False
    _, tenant, own_id = folder.split("/")
    owner = f"name and tags of {sibling(own_id, parts[1])} of {tenant}"
    content = reader.sealed(f"{folder}/{name}", owner, _ANNOTATION)
    if content is not None and content[0].revision != int(parts[2]):
        reader.wrong(f"{folder}/{name}", f"it is change {content[0].revision}", owner)
    return True


def check_upload(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """folder : `uploads/<tenant>/<id>`; keys : what lies below. Bytes without a mark are of a part
    that is being received or was replaced."""
    _, tenant, own_id = folder.split("/")
    owner = f"upload {own_id} of {tenant}"
    names = _names(folder, keys)
    if "upload.json" not in names:
        reader.lost(f"{folder}/upload.json", owner, why="what is left of the upload has no facts")
    for name in sorted(names):
        part = _PART.fullmatch(name.removeprefix("parts/"))
        if name == "upload.json":
            reader.sealed(f"{folder}/{name}", owner, _UPLOAD)
        elif name == "dataset.json":
            reader.sealed(f"{folder}/{name}", owner, _DATASET)
        elif name.startswith("parts/") and part is not None:
            reader.empty(f"{folder}/{name}", owner)
            number, stamp, _, sha256 = part.groups()
            reader.digest(f"{folder}/bytes/{number}.{stamp}", sha256, f"part {number} of {owner}")
        elif not re.fullmatch(r"bytes/[0-9]+\.[^./]+", name):
            reader.foreign(f"{folder}/{name}", owner)


def check_service(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """folder : `service/<kind>` with what lies below, or one object."""
    keys = [*keys]
    for key in sorted(keys):
        parts = key.split("/")
        if parts[1] == "made" and key in _WITNESSES:
            _witnessed(reader, key, _WITNESSES[key])
        elif parts[1] == "keys" and len(parts) == 4:
            _key(reader, key, parts[2], parts[3])
        elif parts[1] == "key-uses" and len(parts) == 3:
            stored = reader.bytes(key)
            try:
                if stored is not None:
                    use_in(key, stored)
            except Damaged as error:
                reader.damaged(error, f"last use of key {parts[2]}")
        elif parts[1] == "shares" and len(parts) == 4:
            _share(reader, key, parts[2], parts[3])
        elif parts[1] == "pauses" and len(parts) == 4:
            reader.sealed(key, f"pause of {parts[2]} {parts[3]}", _PAUSE)
        elif parts[1] == "aliases" and len(parts) == 5:
            _move(reader, key, *parts[2:])
        elif parts[1] == "alias-webhooks" and len(parts) == 5:
            reader.sealed(key, f"alias {parts[3]} of {parts[2]}", _DELIVERY)
        elif parts[1] == "alias-webhooks-open" and len(parts) == 5:
            reader.empty(key, f"alias {parts[3]} of {parts[2]}")
        elif key == layout.WEBHOOK_ROOT:
            stored = reader.bytes(key)
            try:
                if stored is not None:
                    require_secret(stored)
            except Damaged as error:
                reader.damaged(error, "signatures of webhooks")
        elif key == layout.FORMAT_MARK:
            reader.json(key, "the store")
        elif key not in (layout.BACKUP_MARK, layout.BACKUP_OBJECTS, layout.VERIFICATION):
            reader.foreign(key, "the service")
    moves: dict[str, list[int]] = {}
    for key in keys:
        if key.startswith(layout.ALIASES) and key.rpartition("/")[2].isdecimal():
            moves.setdefault(key.rpartition("/")[0], []).append(int(key.rpartition("/")[2]))
    for folder, own in sorted(moves.items()):
        for number in sorted({*range(min(own), max(own))} - {*own}):
            reader.lost(f"{folder}/{number:09d}", f"alias {folder.removeprefix(layout.ALIASES)}")
    key_ids = {key.split("/")[2] for key in keys if key.startswith(layout.KEYS)}
    for key_id in sorted(key_ids):
        if layout.key(key_id, "key.json") not in keys:
            reader.lost(layout.key(key_id, "key.json"), f"key {key_id}")


def _witnessed(reader: Reader, key: str, made: str) -> None:
    """Compare an object with its witness, which notices its loss; changes show in the object."""
    witness = reader.sealed(key, made, _WITNESS)
    if witness is not None and reader.bytes(made) is None:
        reader.lost(made, _OWNERS[made], witness[0].sha256)


def _key(reader: Reader, key: str, key_id: str, name: str) -> None:
    owner = f"key {key_id}"
    if name == "key.json":
        content = reader.sealed(key, owner, _KEY)
        if content is not None and content[0].id != key_id:
            reader.wrong(key, f"it is of {content[0].id}", owner)
    elif name.startswith("revoked.") and name.removeprefix("revoked.").isdecimal():
        if reader.bytes(key):  # Earlier versions stored no content.
            reader.json(key, owner)
    else:
        reader.foreign(key, owner)


def _share(reader: Reader, key: str, tree_id: str, name: str) -> None:
    share_id, _, end = name.partition(".")
    owner = f"link {share_id} to tree {tree_id}"
    content = reader.sealed(key, owner, _SHARE)
    if content is None:
        return
    share = content[0]
    if (share.id, share.tree, f"{moment_ms(share.expires_at):015d}") != (share_id, tree_id, end):
        reader.wrong(key, f"it is of {share.id}, which ends at {share.expires_at}", owner)


def _move(reader: Reader, key: str, tenant: str, name: str, number: str) -> None:
    content = reader.sealed(key, f"alias {name} of {tenant}", _MOVE)
    if content is not None and f"{content[0].number:09d}" != number:
        reader.wrong(key, f"it is move {content[0].number}", f"alias {name} of {tenant}")


def check_audit(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """folder : `audit/<day>`. Each process numbers its objects without a gap."""
    numbers: dict[str, list[int]] = {}
    for key in sorted(keys):
        owner = f"audit log of {folder.removeprefix(layout.AUDIT)}"
        match = re.fullmatch(r"[0-9]{15}\.([0-9a-z]{26})\.([0-9]{8})", key.rpartition("/")[2])
        if match is None:
            reader.foreign(key, owner)
            continue
        numbers.setdefault(match[1], []).append(int(match[2]))
        stored = reader.bytes(key)
        try:
            if stored is not None:
                lines_in(key, stored)
        except Damaged as error:
            reader.damaged(error, owner)
    for process, own in sorted(numbers.items()):
        for number in sorted({*range(min(own), max(own))} - {*own}):
            reader.lost(f"{folder}/{process}.{number:08d}", f"audit log of {folder[6:]}")


def check_mark(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """Marks of the quarantine itself."""
    for key in sorted(keys):
        reader.sealed(key, "the quarantine", _MARK)


def check_foreign(reader: Reader, folder: str, keys: Iterable[str]) -> None:
    """What lies where nothing is stored."""
    for key in sorted(keys):
        if not layout.is_ping(key):
            reader.foreign(key, "the store")


def _names(folder: str, keys: Iterable[str]) -> set[str]:
    return {key[len(folder) + 1 :] for key in keys if key.startswith(f"{folder}/")}
