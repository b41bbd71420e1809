"""The keys of the object store. Where an object has a tenant, the key names it first.

datasets/<tenant>/<ds>/content       the bytes as uploaded
datasets/<tenant>/<ds>/meta.json     written last, makes the dataset exist
datasets/<tenant>/<ds>/inspected.json  its shape and type, from a worker
uploads/<tenant>/<up>/upload.json    what the parts will be; makes the upload exist
uploads/<tenant>/<up>/dataset.json   the dataset made of it (create-only)
uploads/<tenant>/<up>/bytes/<number>.<stamp>  the bytes of one part
uploads/<tenant>/<up>/parts/<number>.<stamp>.<length>.<sha256>  empty; makes the part exist
jobs/<tenant>/<job>/request.json     the request (create-only)
jobs/<tenant>/<job>/input.<role>     inline inputs, as JSON; the content of an import
jobs/<tenant>/<job>/end.json         how it ended (create-only; the first wins)
jobs/<tenant>/<job>/webhook.json     the result of its webhook (create-only; the first wins)
jobs/<tenant>/<job>/removed/<file>   empty; a user removed that file of the result
jobs/<tenant>/<job>/editions/<ed>/<number>  a change of an edition of the job's tree (create-only)
jobs/<tenant>/<job>/editions/<ed>/to.<number>  the changes up to that number, together
<folder of a dataset or job>/annotations/<ds, job, tr or md>/<number>  name, description and tags as
                                     changed since (create-only; the highest number counts)
uninspected/<tenant>/<ds>            id and time, until the job that opens a dataset was submitted
uninspected/<tenant>/<ds>.<stamp>    an empty marker while a request makes the dataset of an upload
                                     in parts exist
open/<tenant>/<job>                  an empty marker while the job has not ended
removals/<tenant>/<ds, job or tr>    an empty note while Redis, which refuses writes, still has
                                     what was removed
attempts/<tenant>/<job>/<fence>/...  the files of one attempt
pieces/<tenant>/<job>.<fence>/<number>.<token>  a piece of an attempt's fit, computed by a helper
pieces/<tenant>/<job>.<fence>/shared.<number>   the arrays that the pieces from this number on share
checkpoints/<tenant>/<job>/<time>.<fence>  the state of a long fit
service/webhook-secret               the secret of the signing keys, if no setting gives one
service/keys/<key>/key.json          a key of the API: its hash, tenant, role (create-only)
service/keys/<key>/revoked.<ms>      the key is not valid from then on (the earliest counts)
service/key-uses/<key>               the minute in which the key was used last
service/shares/<tr>/<sh>.<ms>        a link to a tree: its hash, tenant, what it shows; it ends at
                                     that time (create-only)
service/pauses/<scope>/<name>        what takes no jobs for now, and why
service/aliases/<tenant>/<alias>/<number>  a move of an alias to a tree (create-only; the highest
                                     number counts)
service/alias-webhooks/<tenant>/<alias>/<number>  the result of that move's webhook (create-only;
                                     the first wins)
service/alias-webhooks-open/<tenant>/<alias>/<number>  an empty marker while that move is made, and
                                     while its webhook is to be sent
service/format                       the format of the store, and the version that wrote it
service/made/<name>                  the SHA-256 of one of the two before, which shows its loss
service/backup                       only in a backup: what it has, once it is whole
audit/<day>/<process>.<number>       changes and refused sign-ins of that day, as one process wrote
                                     them (create-only)
quarantine/<key>                     what is wrong with the object of that key, which is damaged
service/verification                 how far a verification has come
service/backup-objects               only in a backup: length, SHA-256 and key of each object
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PIECES = "pieces/"
CHECKPOINTS = "checkpoints/"
UNINSPECTED = "uninspected/"
REMOVALS = "removals/"
WEBHOOK_ROOT = "service/webhook-secret"
KEYS = "service/keys/"
SHARES = "service/shares/"
PAUSES = "service/pauses/"
ALIASES = "service/aliases/"
MOVE_WEBHOOKS = "service/alias-webhooks/"
OPEN_MOVES = "service/alias-webhooks-open/"
FORMAT_MARK = "service/format"
WITNESSES = "service/made/"
AUDIT = "audit/"
PING = "ping"
PINGS = 64
"""So many objects are written to see whether the store takes writes: a bucket of Google's allows
about one write of an object a second, and each process writes one of them."""
QUARANTINE = "quarantine/"
VERIFICATION = "service/verification"
BACKUP_MARK = "service/backup"
BACKUP_OBJECTS = "service/backup-objects"


def ping(number: int) -> str:
    """An object that is written to see whether the store takes writes."""
    return f"{PING}-{number % PINGS:02d}"


def is_ping(key: str) -> bool:
    return key == PING or key in {ping(number) for number in range(PINGS)}


def dataset(tenant: str, dataset_id: str, part: str = "") -> str:
    return f"datasets/{tenant}/{dataset_id}/{part}"


def upload(tenant: str, upload_id: str = "", part: str = "") -> str:
    return f"uploads/{tenant}/{upload_id}/{part}" if upload_id else f"uploads/{tenant}/"


def job(tenant: str, job_id: str, part: str = "") -> str:
    return f"jobs/{tenant}/{job_id}/{part}"


def inline(tenant: str, job_id: str, role: str) -> str:
    return job(tenant, job_id, f"input.{role}")


def removed(tenant: str, job_id: str, name: str = "") -> str:
    """The folder of the marks of files that a user removed from a job's result, or one of them."""
    return job(tenant, job_id, f"removed/{name}")


def annotations_of(tenant: str, own_id: str) -> str:
    """The folder of what a user says of a dataset, job, tree or model."""
    kind, _, suffix = own_id.partition("_")
    if kind == "ds":
        return dataset(tenant, own_id, "annotations/ds/")
    return job(tenant, f"job_{suffix}", f"annotations/{kind}/")


def annotation(tenant: str, own_id: str, revision: int) -> str:
    return f"{annotations_of(tenant, own_id)}{revision:012d}"


def editions_of(tenant: str, job_id: str) -> str:
    """The folder of the editions of a job's tree."""
    return job(tenant, job_id, "editions/")


def edition(tenant: str, edition_id: str, name: str = "") -> str:
    """The folder of an edition, whose id begins with that of its tree, or an object in it."""
    job_id = f"job_{edition_id.partition('_')[2][:26]}"
    return f"{editions_of(tenant, job_id)}{edition_id}/{name}"


def shares_of(tree_id: str) -> str:
    return f"{SHARES}{tree_id}/"


def share(tree_id: str, name: str) -> str:
    return f"{shares_of(tree_id)}{name}"


def open_marker(tenant: str, job_id: str) -> str:
    return f"open/{tenant}/{job_id}"


def uninspected(tenant: str, dataset_id: str) -> str:
    return f"{UNINSPECTED}{tenant}/{dataset_id}"


def completing(tenant: str, dataset_id: str, stamp: str) -> str:
    return f"{UNINSPECTED}{tenant}/{dataset_id}.{stamp}"


def removal(tenant: str, own_id: str) -> str:
    return f"{REMOVALS}{tenant}/{own_id}"


def attempts(tenant: str, job_id: str) -> str:
    return f"attempts/{tenant}/{job_id}/"


def attempt(tenant: str, job_id: str, fence: str, name: str = "") -> str:
    return f"{attempts(tenant, job_id)}{fence}/{name}"


def pieces(tenant: str, job_id: str, fence: str) -> str:
    return f"{PIECES}{tenant}/{job_id}.{fence}/"


def piece(tenant: str, job_id: str, fence: str, number: int, token: str) -> str:
    return f"{pieces(tenant, job_id, fence)}{number}.{token}"


def shared(tenant: str, job_id: str, fence: str, first: int) -> str:
    """What the pieces from number `first` on share."""
    return f"{pieces(tenant, job_id, fence)}{first}.shared"


def first_number(key: str) -> int:
    """The number with which the name of a key of `piece` or `shared` begins."""
    return int(key.rpartition("/")[2].partition(".")[0])


def checkpoints(tenant: str, job_id: str) -> str:
    return f"{CHECKPOINTS}{tenant}/{job_id}/"


def key(key_id: str, part: str) -> str:
    return f"{KEYS}{key_id}/{part}"


def key_use(key_id: str) -> str:
    return f"service/key-uses/{key_id}"


def aliases_of(tenant: str, name: str = "") -> str:
    """The folder of a tenant's aliases, or that of the moves of one."""
    return f"{ALIASES}{tenant}/{name}/" if name else f"{ALIASES}{tenant}/"


def alias_move(tenant: str, name: str, number: int) -> str:
    return f"{aliases_of(tenant, name)}{number:09d}"


def move_webhook(tenant: str, name: str, number: int) -> str:
    return f"{MOVE_WEBHOOKS}{tenant}/{name}/{number:09d}"


def open_move(tenant: str, name: str, number: int) -> str:
    return f"{OPEN_MOVES}{tenant}/{name}/{number:09d}"


def pause(scope: str, name: str) -> str:
    return f"{PAUSES}{scope}/{name}"


def parts(keys: Iterable[str], n: int) -> Iterator[list[str]]:
    """What `n` parts of each key follow its first one; the last has the rest. Keys with fewer are
    left out: no object of ours has such a key, but files of the system may lie there."""
    for key in keys:
        found = key.split("/", n)[1:]
        if len(found) == n:
            yield found
