"""An exception for each type of problem. Written by `make client` from the service's problems.

Types that this client does not know are plain `ProblemError`.
"""

from __future__ import annotations

from collections.abc import Mapping

from umbel_client.errors import ProblemError


class UnusableInput(ProblemError):
    """The input cannot be used (HTTP 422), as in: Row 3 has 4 values, row 0 has 5."""


class ArchiveBomb(UnusableInput):
    """The input cannot be used: archive bomb."""


class BadCursor(UnusableInput):
    """The input cannot be used: bad cursor."""


class CannotClassify(UnusableInput):
    """The input cannot be used: cannot classify."""


class CannotPredict(UnusableInput):
    """The input cannot be used: cannot predict."""


class CannotTransform(UnusableInput):
    """The input cannot be used: cannot transform."""


class Conflict(ProblemError):
    """Conflict with the current state (HTTP 409), as in: The same request is in progress."""


class ConstantTargets(UnusableInput):
    """The input cannot be used: constant targets."""


class Contradiction(ProblemError):
    """Statements contradict each other (HTTP 422), as in: Statement 0 (node 1 is 'cats')
    contradicts statement 1 (nodes 1 and 2 are apart).
    """


class Damaged(ProblemError):
    """What is stored is damaged (HTTP 500), as in: The object datasets/acme/ds_x/content in the
    store is not what was stored.
    """


class DeadlineExceeded(UnusableInput):
    """The input cannot be used: deadline exceeded."""


class DigestMismatch(ProblemError):
    """The content does not match its digest (HTTP 422), as in: The part's sha256 is 9f86...;
    stated was 1b4f....
    """


class DisconnectedGraph(UnusableInput):
    """The input cannot be used: disconnected graph."""


class Diverged(UnusableInput):
    """The input cannot be used: diverged."""


class Empty(UnusableInput):
    """The input cannot be used (HTTP 422), as in: The body is empty; send the file's bytes."""


class Forbidden(ProblemError):
    """Not allowed (HTTP 403), as in: This service answers requests from this machine only."""


class Full(ProblemError):
    """No room left (HTTP 507), as in: The store has 1024 bytes left; the upload has 2048."""


class Gone(ProblemError):
    """It has ended (HTTP 410), as in: The link ended at 2027-01-31T00:00:00Z."""


class HeadersTooLarge(ProblemError):
    """Headers too large (HTTP 431), as in: A request may have at most 200 headers."""


class Http(UnusableInput):
    """The input cannot be used: http."""


class IdempotencyMismatch(ProblemError):
    """The idempotency key was used for another request (HTTP 422), as in: Idempotency-Key 'a' was
    used with another body; use a new key.
    """


class InputDeleted(UnusableInput):
    """The input cannot be used: input deleted."""


class Internal(ProblemError):
    """Internal error (HTTP 500), as in: Quote the request id when you report this."""


class InvalidDataset(ProblemError):
    """The dataset cannot be used (HTTP 409), as in: Dataset 'ds_x' is invalid: truncated."""


class InvalidFile(UnusableInput):
    """The input cannot be used: invalid file."""


class InvalidParameter(UnusableInput):
    """The input cannot be used: invalid parameter."""


class InvalidRequest(ProblemError):
    """The request cannot be used (HTTP 422), as in: params.linkage: Input should be ..."""


class MadeRoom(UnusableInput):
    """The input cannot be used: made room."""


class Malformed(ProblemError):
    """The request cannot be read (HTTP 400), as in: The body is not JSON: line 1 column 8."""


class MemberNeeded(UnusableInput):
    """The input cannot be used: member needed."""


class MethodNotAllowed(ProblemError):
    """Method not allowed (HTTP 405), as in: This path takes GET, POST, not PUT."""


class MethodUnavailable(ProblemError):
    """The method is not available here (HTTP 422), as in: Method 'turtle' needs the package torch,
    which is not installed where the service runs.
    """


class MissingValue(UnusableInput):
    """The input cannot be used: missing value."""


class NegativeHeight(UnusableInput):
    """The input cannot be used: negative height."""


class NoDistance(UnusableInput):
    """The input cannot be used: no distance."""


class NoGpu(UnusableInput):
    """The input cannot be used: no gpu."""


class NoSimilarity(UnusableInput):
    """The input cannot be used: no similarity."""


class NotAcceptable(ProblemError):
    """Form not available (HTTP 406), as in: A job is available as application/json."""


class NotBinary(ProblemError):
    """Form not available (HTTP 406), as in: Node 3 has 4 children; a linkage is binary."""


class NotCounts(UnusableInput):
    """The input cannot be used: not counts."""


class NotDistances(UnusableInput):
    """The input cannot be used: not distances."""


class NotEmbedded(UnusableInput):
    """The input cannot be used: not embedded."""


class NotFinite(UnusableInput):
    """The input cannot be used: not finite."""


class NotFound(ProblemError):
    """Not found (HTTP 404), as in: There is no job 'job_x'."""


class NotInspected(UnusableInput):
    """The input cannot be used: not inspected."""


class NotProbabilities(UnusableInput):
    """The input cannot be used: not probabilities."""


class NotSimilarities(UnusableInput):
    """The input cannot be used: not similarities."""


class NotSymmetric(UnusableInput):
    """The input cannot be used: not symmetric."""


class NotUnit(UnusableInput):
    """The input cannot be used: not unit."""


class OutOfMemory(UnusableInput):
    """The input cannot be used: out of memory."""


class OutsideTheBall(UnusableInput):
    """The input cannot be used: outside the ball."""


class PreconditionFailed(ProblemError):
    """It has changed meanwhile (HTTP 412), as in: It has changed since the ETag in If-Match was
    read; read it again.
    """


class PreconditionRequired(ProblemError):
    """An ETag is needed (HTTP 428), as in: Send `If-Match` with the ETag of the edition that the
    change was made for.
    """


class ProcessLost(UnusableInput):
    """The input cannot be used: process lost."""


class QuotaExceeded(ProblemError):
    """A quota is used up (HTTP 429), as in: Tenant 'acme' keeps 3 datasets, of 3 that it may;
    delete some.
    """


class Ragged(UnusableInput):
    """The input cannot be used: ragged."""


class RangeNotSatisfiable(ProblemError):
    """Range not satisfiable (HTTP 416), as in: The content has 128 bytes."""


class SingularCovariance(UnusableInput):
    """The input cannot be used: singular covariance."""


class Timeout(ProblemError):
    """The request took too long (HTTP 408), as in: The header was not complete in 10 seconds."""


class TooCostly(UnusableInput):
    """The input cannot be used: too costly."""


class TooDeep(UnusableInput):
    """The input cannot be used: too deep."""


class TooFewPoints(UnusableInput):
    """The input cannot be used: too few points."""


class TooFewRows(UnusableInput):
    """The input cannot be used: too few rows."""


class TooFewTasks(UnusableInput):
    """The input cannot be used: too few tasks."""


class TooLarge(ProblemError):
    """Too large (HTTP 413), as in: The body may have 16777216 bytes at most."""


class TooManyNodes(UnusableInput):
    """The input cannot be used: too many nodes."""


class TooManyRequests(ProblemError):
    """Too many requests (HTTP 429), as in: Tenant 'acme' may send 10 requests a second."""


class Truncated(UnusableInput):
    """The input cannot be used: truncated."""


class Unauthenticated(ProblemError):
    """A key is needed (HTTP 401), as in: Send `Authorization: Bearer <key>`."""


class Unavailable(ProblemError):
    """A part of the service is unavailable (HTTP 503), as in: The store does not answer."""


class UnknownInput(ProblemError):
    """Unknown input (HTTP 422), as in: Input 'logits': there is no dataset 'ds_x'."""


class UnknownLabel(UnusableInput):
    """The input cannot be used: unknown label."""


class UnknownMethod(ProblemError):
    """Unknown method (HTTP 422), as in: There is no method 'x'; there are l2h."""


class UnknownMetric(UnusableInput):
    """The input cannot be used (HTTP 422), as in: There is no metric 'x'; there are nmi, ari."""


class UnknownNode(UnusableInput):
    """The input cannot be used: unknown node."""


class UnknownTask(UnusableInput):
    """The input cannot be used: unknown task."""


class UnsupportedFormat(ProblemError):
    """Unsupported format (HTTP 415), as in: Upload an array as .npy."""


class WorkerLost(UnusableInput):
    """The input cannot be used: worker lost."""


class WorkerStopping(UnusableInput):
    """The input cannot be used: worker stopping."""


class WrongCut(UnusableInput):
    """The input cannot be used: wrong cut."""


class WrongInput(UnusableInput):
    """The input cannot be used (HTTP 422), as in: Method 'l2h' needs the input 'logits'."""


class WrongLength(UnusableInput):
    """The input cannot be used: wrong length."""


class WrongParameter(UnusableInput):
    """The input cannot be used: wrong parameter."""


class WrongPart(UnusableInput):
    """The input cannot be used: wrong part."""


class WrongRole(UnusableInput):
    """The input cannot be used (HTTP 422), as in: Dataset 'ds_x' holds labels, not logits."""


class WrongShape(UnusableInput):
    """The input cannot be used (HTTP 422), as in: Input 'logits' must be a matrix."""


class ZeroRow(UnusableInput):
    """The input cannot be used: zero row."""


BY_TYPE: Mapping[str, type[ProblemError]] = {
    "/problems/archive-bomb": ArchiveBomb,
    "/problems/bad-cursor": BadCursor,
    "/problems/cannot-classify": CannotClassify,
    "/problems/cannot-predict": CannotPredict,
    "/problems/cannot-transform": CannotTransform,
    "/problems/conflict": Conflict,
    "/problems/constant-targets": ConstantTargets,
    "/problems/contradiction": Contradiction,
    "/problems/damaged": Damaged,
    "/problems/deadline-exceeded": DeadlineExceeded,
    "/problems/digest-mismatch": DigestMismatch,
    "/problems/disconnected-graph": DisconnectedGraph,
    "/problems/diverged": Diverged,
    "/problems/empty": Empty,
    "/problems/forbidden": Forbidden,
    "/problems/full": Full,
    "/problems/gone": Gone,
    "/problems/headers-too-large": HeadersTooLarge,
    "/problems/http": Http,
    "/problems/idempotency-mismatch": IdempotencyMismatch,
    "/problems/input-deleted": InputDeleted,
    "/problems/internal": Internal,
    "/problems/invalid-dataset": InvalidDataset,
    "/problems/invalid-file": InvalidFile,
    "/problems/invalid-parameter": InvalidParameter,
    "/problems/invalid-request": InvalidRequest,
    "/problems/made-room": MadeRoom,
    "/problems/malformed": Malformed,
    "/problems/member-needed": MemberNeeded,
    "/problems/method-not-allowed": MethodNotAllowed,
    "/problems/method-unavailable": MethodUnavailable,
    "/problems/missing-value": MissingValue,
    "/problems/negative-height": NegativeHeight,
    "/problems/no-distance": NoDistance,
    "/problems/no-gpu": NoGpu,
    "/problems/no-similarity": NoSimilarity,
    "/problems/not-acceptable": NotAcceptable,
    "/problems/not-binary": NotBinary,
    "/problems/not-counts": NotCounts,
    "/problems/not-distances": NotDistances,
    "/problems/not-embedded": NotEmbedded,
    "/problems/not-finite": NotFinite,
    "/problems/not-found": NotFound,
    "/problems/not-inspected": NotInspected,
    "/problems/not-probabilities": NotProbabilities,
    "/problems/not-similarities": NotSimilarities,
    "/problems/not-symmetric": NotSymmetric,
    "/problems/not-unit": NotUnit,
    "/problems/out-of-memory": OutOfMemory,
    "/problems/outside-the-ball": OutsideTheBall,
    "/problems/precondition-failed": PreconditionFailed,
    "/problems/precondition-required": PreconditionRequired,
    "/problems/process-lost": ProcessLost,
    "/problems/quota-exceeded": QuotaExceeded,
    "/problems/ragged": Ragged,
    "/problems/range-not-satisfiable": RangeNotSatisfiable,
    "/problems/singular-covariance": SingularCovariance,
    "/problems/timeout": Timeout,
    "/problems/too-costly": TooCostly,
    "/problems/too-deep": TooDeep,
    "/problems/too-few-points": TooFewPoints,
    "/problems/too-few-rows": TooFewRows,
    "/problems/too-few-tasks": TooFewTasks,
    "/problems/too-large": TooLarge,
    "/problems/too-many-nodes": TooManyNodes,
    "/problems/too-many-requests": TooManyRequests,
    "/problems/truncated": Truncated,
    "/problems/unauthenticated": Unauthenticated,
    "/problems/unavailable": Unavailable,
    "/problems/unknown-input": UnknownInput,
    "/problems/unknown-label": UnknownLabel,
    "/problems/unknown-method": UnknownMethod,
    "/problems/unknown-metric": UnknownMetric,
    "/problems/unknown-node": UnknownNode,
    "/problems/unknown-task": UnknownTask,
    "/problems/unsupported-format": UnsupportedFormat,
    "/problems/unusable-input": UnusableInput,
    "/problems/worker-lost": WorkerLost,
    "/problems/worker-stopping": WorkerStopping,
    "/problems/wrong-cut": WrongCut,
    "/problems/wrong-input": WrongInput,
    "/problems/wrong-length": WrongLength,
    "/problems/wrong-parameter": WrongParameter,
    "/problems/wrong-part": WrongPart,
    "/problems/wrong-role": WrongRole,
    "/problems/wrong-shape": WrongShape,
    "/problems/zero-row": ZeroRow,
}
"""The exception for each type of problem."""

__all__ = [
    "BY_TYPE",
    "ArchiveBomb",
    "BadCursor",
    "CannotClassify",
    "CannotPredict",
    "CannotTransform",
    "Conflict",
    "ConstantTargets",
    "Contradiction",
    "Damaged",
    "DeadlineExceeded",
    "DigestMismatch",
    "DisconnectedGraph",
    "Diverged",
    "Empty",
    "Forbidden",
    "Full",
    "Gone",
    "HeadersTooLarge",
    "Http",
    "IdempotencyMismatch",
    "InputDeleted",
    "Internal",
    "InvalidDataset",
    "InvalidFile",
    "InvalidParameter",
    "InvalidRequest",
    "MadeRoom",
    "Malformed",
    "MemberNeeded",
    "MethodNotAllowed",
    "MethodUnavailable",
    "MissingValue",
    "NegativeHeight",
    "NoDistance",
    "NoGpu",
    "NoSimilarity",
    "NotAcceptable",
    "NotBinary",
    "NotCounts",
    "NotDistances",
    "NotEmbedded",
    "NotFinite",
    "NotFound",
    "NotInspected",
    "NotProbabilities",
    "NotSimilarities",
    "NotSymmetric",
    "NotUnit",
    "OutOfMemory",
    "OutsideTheBall",
    "PreconditionFailed",
    "PreconditionRequired",
    "ProblemError",
    "ProcessLost",
    "QuotaExceeded",
    "Ragged",
    "RangeNotSatisfiable",
    "SingularCovariance",
    "Timeout",
    "TooCostly",
    "TooDeep",
    "TooFewPoints",
    "TooFewRows",
    "TooFewTasks",
    "TooLarge",
    "TooManyNodes",
    "TooManyRequests",
    "Truncated",
    "Unauthenticated",
    "Unavailable",
    "UnknownInput",
    "UnknownLabel",
    "UnknownMethod",
    "UnknownMetric",
    "UnknownNode",
    "UnknownTask",
    "UnsupportedFormat",
    "UnusableInput",
    "WorkerLost",
    "WorkerStopping",
    "WrongCut",
    "WrongInput",
    "WrongLength",
    "WrongParameter",
    "WrongPart",
    "WrongRole",
    "WrongShape",
    "ZeroRow",
]
