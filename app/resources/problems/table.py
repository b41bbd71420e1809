"""What each type of problem means, and what to do: the one table of the pages at `/problems/`.

Status, title and example of those that a request may get are in `app.http.problems.KINDS`.
"""

from __future__ import annotations

from typing import NamedTuple

from app.http.problems import KINDS, UNUSABLE


class Explained(NamedTuple):
    """A type of problem."""

    code: str
    status: int
    title: str
    meaning: str
    example: str
    remedy: str


_REQUESTS: dict[str, tuple[str, str]] = {
    # code: (what it means, what to do)
    "malformed": (
        "The bytes of the request are not what its headers announce.",
        "Send the body that `Content-Type` and `Content-Encoding` name.",
    ),
    "unauthenticated": (
        "The service has keys, and the request has none that is valid.",
        "Send `Authorization: Bearer <key>`; the operator makes keys by `umbel keys new`.",
    ),
    "forbidden": (
        "The key, link or machine may not do this.",
        "Use a key whose role and limits cover it.",
    ),
    "not-found": (
        "There is nothing of this id, alias or path, or it belongs to another tenant.",
        "Compare the id with the list of its kind; it may have been removed or have expired.",
    ),
    "method-not-allowed": (
        "The path exists and does not take this method.",
        "Use a method of the header `Allow`.",
    ),
    "not-acceptable": (
        "The thing has no form that `Accept` or the suffix names.",
        "Choose a form that the detail lists.",
    ),
    "not-binary": (
        "A linkage or dendrogram needs two children at each node, and the tree has more or fewer.",
        "Read another form: Newick, Nexus or JSON hold any tree.",
    ),
    "timeout": (
        "The request arrived too slowly.",
        "Send it again over a better connection; large files by `POST /v1/uploads`, in parts.",
    ),
    "conflict": (
        "What is there now does not allow this: a job still runs, a name is taken.",
        "Read the thing again, and wait for or change what the detail names.",
    ),
    "gone": ("A link has ended or was revoked.", "Get a new link from whoever shared the tree."),
    "invalid-dataset": (
        "The dataset was opened and cannot be used.",
        "Read `problem` of the dataset, mend the file and upload it again.",
    ),
    "precondition-failed": (
        "The thing has changed since the ETag in `If-Match` was read.",
        "Read it again, make the change for what it is now, and send the new ETag.",
    ),
    "too-large": (
        "The body, or what it unpacks to, is larger than the operator allows.",
        "Send less, or a file in parts by `POST /v1/uploads`.",
    ),
    "unsupported-format": (
        "The service does not read this type or coding.",
        "Send one that the detail lists; gzip and zstd may pack a body.",
    ),
    "precondition-required": (
        "The change needs the ETag of what it was made for.",
        "Read the thing and send its ETag as `If-Match`.",
    ),
    "range-not-satisfiable": (
        "`Range` names bytes that the content does not have.",
        "Use the length in `Content-Range`.",
    ),
    "invalid-request": (
        "A member of the body, a parameter or a header is not what the contract takes.",
        "`errors` names each place and what is accepted there.",
    ),
    "unusable-input": (
        "The data or parameters cannot be used.",
        "The detail says what is wrong, where, and what is accepted.",
    ),
    "unknown-method": (
        "The service has no method of this name.",
        "Take a name of `GET /v1/methods`; the detail has the nearest one.",
    ),
    "method-unavailable": (
        "The method needs a package that is not installed where the service runs.",
        "Have the operator install it, or take another method.",
    ),
    "unknown-input": (
        "The request names a dataset, tree, job or alias that is not there.",
        "Compare the id with the list of its kind.",
    ),
    "wrong-input": (
        "The input exists and does not fit what it is given for.",
        "The detail says what is expected.",
    ),
    "unknown-metric": ("There is no metric of this name.", "Take one that the detail lists."),
    "wrong-role": (
        "The dataset was uploaded as something else.",
        "Give it to the input that it was uploaded for, or upload it with another role.",
    ),
    "wrong-shape": (
        "An array has other dimensions or lengths than are expected.",
        "Compare its shape with the detail: rows are points, columns are features or classes.",
    ),
    "contradiction": (
        "Statements about a tree cannot all be so.",
        "`contradictions` names them by their places; take one of each back.",
    ),
    "empty": ("There is nothing in the body or the data.", "Send the content of the file."),
    "digest-mismatch": (
        "The bytes that arrived do not have the stated digest.",
        "Send them again, with the sha256 of what is sent.",
    ),
    "idempotency-mismatch": (
        "The same `Idempotency-Key` came before with another body.",
        "Use a new key for each request that is not a repetition.",
    ),
    "quota-exceeded": (
        "The tenant or key has all that it may have.",
        "Remove what is not needed, or wait as `Retry-After` says; `GET /v1/usage` shows the use.",
    ),
    "too-many-requests": (
        "Requests come faster than they may.",
        "Wait as many seconds as `Retry-After` says.",
    ),
    "headers-too-large": (
        "The address or the headers are longer than they may be.",
        "Send fewer or shorter ones; long lists belong into a body.",
    ),
    "internal": (
        "A fault of the service.",
        "Send it again once; then report it with the `request_id`.",
    ),
    "damaged": (
        "A stored object is not what was stored, so nothing is made from it.",
        "Upload the data or run the job again, or let the operator restore a backup.",
    ),
    "unavailable": (
        "Redis, the store or another part does not answer; nothing was changed.",
        "Send the request again after `Retry-After`.",
    ),
    "full": (
        "Store, scratch folder or Redis has no room for it.",
        "Remove what is not needed, or let the operator add room.",
    ),
}

_DATA: dict[str, tuple[str, str]] = {
    "archive-bomb": (
        "Packed content unpacks to more than is allowed.",
        "Send the content unpacked, or in smaller files.",
    ),
    "bad-cursor": (
        "The cursor is not of this list with these filters and this sort.",
        "Leave it out to start at the first page, then use `next_cursor` of each answer.",
    ),
    "cannot-classify": (
        "The method gives new rows no labels.",
        "Take a method with `classifies` in `GET /v1/methods`.",
    ),
    "cannot-predict": (
        "The model places no new rows.",
        "Take a method with `predicts` in `GET /v1/methods`.",
    ),
    "cannot-transform": (
        "The model does not transform rows.",
        "Take a method with `transformation` among its outputs.",
    ),
    "not-embedded": (
        "The operator's endpoint gave no vectors that can be used.",
        "Read the detail; embed fewer or shorter items, or give features.",
    ),
    "constant-targets": (
        "All targets are equal, so there is nothing to learn.",
        "Give targets or labels that differ.",
    ),
    "disconnected-graph": (
        "The graph has parts without an edge between them.",
        "Use more neighbours, or a method that takes several parts.",
    ),
    "diverged": (
        "The computation left the finite numbers.",
        "Scale the features, or use a smaller step.",
    ),
    "input-deleted": (
        "An input was removed before the job could read it.",
        "Upload it again and submit a new job.",
    ),
    "invalid-file": (
        "The file is not what its format demands.",
        "Write it again by the program that it comes from; the detail says where it breaks.",
    ),
    "invalid-parameter": ("A parameter has no meaning here.", "See the method's `params`."),
    "invalid-tree": (
        "A tree breaks a rule, such as a height below a child's.",
        "The detail names the node and the rule.",
    ),
    "member-needed": (
        "The file holds several arrays or tables.",
        "Name one of them as `member`.",
    ),
    "missing-value": (
        "A cell is empty where a value is needed.",
        "Fill or leave out the row, or let the request fill it (`fill`).",
    ),
    "negative-height": ("A height is below 0.", "Heights and lengths start at 0."),
    "no-distance": ("The distance is not defined for these rows.", "Take another metric."),
    "no-gpu": ("No GPU is at hand.", "Leave `device` out, or set it to `cpu`."),
    "no-similarity": ("The similarity is not defined for these rows.", "Take another measure."),
    "not-counts": ("Values are not counts: integers from 0.", "Send counts of words or events."),
    "not-distances": (
        "The matrix does not hold distances.",
        "Distances are at least 0, and 0 on the diagonal.",
    ),
    "not-finite": (
        "There are NaN or infinite values.",
        "Fill or leave out these rows; the detail names the first.",
    ),
    "not-probabilities": (
        "Rows are no probabilities.",
        "Values lie from 0 to 1 and each row sums to 1; send logits as logits.",
    ),
    "not-similarities": ("The matrix does not hold similarities.", "See the detail."),
    "not-symmetric": (
        "The matrix differs from its transpose.",
        "Send a symmetric one, such as the mean of both.",
    ),
    "not-unit": ("Rows do not have length 1.", "Divide each row by its length."),
    "outside-the-ball": ("A point lies outside the unit ball.", "Send points of length below 1."),
    "ragged": ("Rows differ in length.", "Give each row as many values as the first."),
    "singular-covariance": (
        "A covariance has no inverse: columns repeat each other.",
        "Leave out such columns, or use more rows.",
    ),
    "too-costly": (
        "The request would take more time or memory than it may.",
        "Ask for less, or take a method that scales.",
    ),
    "too-deep": ("The tree or document is nested too deep.", "Send it less deep."),
    "too-few-points": ("There are too few points for this.", "Send more, or ask for fewer groups."),
    "too-few-rows": ("There are too few rows for this.", "Send more rows."),
    "too-few-tasks": ("There are too few tasks for this.", "Send at least two tasks."),
    "too-many-nodes": (
        "More nodes than can be shown or held.",
        "Ask for a part: a root, a depth or a cut.",
    ),
    "truncated": ("The file ends too early.", "Copy or upload it again, whole."),
    "unknown-label": ("A label occurs that the model does not know.", "Use labels of the fit."),
    "unknown-node": ("The tree has no node of this id.", "Take an id of this tree."),
    "unknown-task": ("The model has no task of this name.", "Take a task of the fit."),
    "wrong-cut": ("The tree has no such cut.", "`GET .../levels` suggests some."),
    "wrong-length": (
        "Two inputs have different numbers of rows.",
        "Send one value for each row, in the same order.",
    ),
    "wrong-parameter": (
        "A parameter is out of bounds, or does not go with another one or with the data.",
        "The detail has the bounds; `GET /v1/methods/{method_id}` has all parameters.",
    ),
    "wrong-part": ("A part of an upload has another length or number.", "Send it as announced."),
    "zero-row": ("A row is all zeros where its direction counts.", "Leave such rows out."),
}

_JOBS: dict[str, tuple[int, str, str, str]] = {
    # code: (status, title, what it means, what to do)
    "deadline-exceeded": (
        422,
        "The job ran longer than it may",
        "The job was stopped at the operator's limit of time.",
        "Use fewer points or features, or a method that scales.",
    ),
    "out-of-memory": (
        422,
        "The job needs more memory than a worker may use",
        "The job was stopped at the operator's limit of memory.",
        "Use fewer points or features, or a method that scales.",
    ),
    "worker-lost": (
        500,
        "The job lost its worker",
        "The worker ended, or was silent for too long; the job is tried again a few times.",
        "If it happens again, use less memory: fewer points or features.",
    ),
    "process-lost": (
        500,
        "The process of the job was lost",
        "The process of the job ended, could not be started, or was not understood.",
        "Retry the job; if it happens again, use less memory or report it.",
    ),
    "worker-stopping": (
        503,
        "The worker was stopped",
        "An operator stopped the worker; the job goes on with another one.",
        "Nothing: it is tried again.",
    ),
    "made-room": (
        503,
        "The job made room for shorter ones",
        "Shorter jobs waited; the job goes on from its last checkpoint.",
        "Nothing: it is tried again.",
    ),
    "not-inspected": (
        500,
        "The dataset was not opened",
        "No worker has opened the dataset.",
        "Upload it again once workers run.",
    ),
    "http": (
        400,
        "The request cannot be answered",
        "The request breaks a rule of HTTP.",
        "The detail says which.",
    ),
}


def explained() -> dict[str, Explained]:
    """All types of problems, by code."""
    found = {
        code: Explained(code, *KINDS[code][:2], meaning, KINDS[code][2], remedy)
        for code, (meaning, remedy) in _REQUESTS.items()
    }
    found |= {
        code: Explained(code, 422, UNUSABLE, meaning, meaning, remedy)
        for code, (meaning, remedy) in _DATA.items()
    }
    found |= {
        code: Explained(code, status, title, meaning, meaning, remedy)
        for code, (status, title, meaning, remedy) in _JOBS.items()
    }
    return dict(sorted(found.items()))
