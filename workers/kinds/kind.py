"""The contract of a kind of work: all that the framework must know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from workers.model import Request, Standing, sibling
from workers.work.job import Job, Outcome
from workers.work.sources import Source

Lane = Literal["quick", "short", "fit"]
"""Where a job waits for its turn: quick work does not stand behind fits, and a fit that is expected
to be short not behind one that may be long."""

LANES: tuple[Lane, ...] = get_args(Lane)

QUICK_S = 10.0
"""Work of a kind that is usually quick, and is expected to take more seconds of a processor, waits
among fits. Estimates are rough: twice too much or too little is usual."""

SHORT_S = 5.0
"""Work that is expected to take no more seconds of a processor is short."""


def lane_by_cost(request: Request) -> Lane:
    """The lane of a request by what it is expected to take; what is not known may be long.

    So is work on a GPU, whose memory has no room beside another job's.
    """
    cost_s = request.cost_s if request.queue == "cpu" else None
    return "short" if cost_s is not None and cost_s <= SHORT_S else "fit"


@dataclass(frozen=True, slots=True)
class Size:
    """How large the inputs of a request are, as far as that is known.

    n_rows : of the longest. n_values, n_bytes : of all together, files as stored. n_nodes : nodes
    and points of all `n_trees` trees.
    """

    n_rows: int = 0
    n_values: int = 0
    n_bytes: int = 0
    n_nodes: int = 0
    n_trees: int = 0

    @property
    def linear_s(self) -> float:
        """The seconds of work that looks at each row, value and node a few times."""
        return 2e-5 * self.n_rows + 1e-7 * self.n_values + 5e-6 * self.n_nodes

    @property
    def placing_s(self) -> float:
        """The seconds of placing the rows in a tree by the nearest of its points or nodes."""
        return self.linear_s + 1e-10 * self.n_values * self.n_nodes


class Options(BaseModel):
    """What a kind needs beside inputs and params, kept as JSON in `Request.options`.

    Fields that older requests have and this version does not are left out.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


class OfTree(Options):
    """Work on a tree. tree : its id."""

    tree: str


O = TypeVar("O", bound=Options)  # noqa: E741


class Find(Protocol):
    """Finds the inputs of one request, each by its role and id.

    All raise UsageError `input-deleted` for what is gone.
    """

    def tree(self, role: str, tree_id: str, *, model: bool = False) -> Source:
        """model : with its model, if there is one."""

    def model(self, role: str, model_id: str) -> Source: ...

    def calibration(self, role: str, calibration_id: str) -> Source: ...

    def drift(self, role: str, drift_id: str) -> Source: ...

    def inline(self, role: str) -> Source: ...

    def uninspected(self, role: str, dataset_id: str) -> Source:
        """A dataset of which only the header is read, if its format has one."""

    def of_fit(self, role: str) -> Sequence[Source]:
        """The input of the job that made the tree, or several of that role."""

    def taught_by_rows(self) -> bool:
        """Whether the job that made the tree learned classes from rows of this request."""


class Kind(ABC, Generic[O]):
    """One kind of work; its module in this package has an instance as `KIND`.

    name : a verb, the name of the module. noun : what one is called; clients see `/v1/<noun>s`.
    prefix : of the ids of what it makes and lists by itself; None: only the job has an id.
    companion : whether it goes with the tree that it reads, and is removed with it.
    listed : whether clients see it among their jobs.
    makes_dataset : whether its result is a dataset. opens_dataset : whether it decides if one is
    valid. embeds : whether an embedder gets what it leaves.
    read_by : whose method reads its inputs by rows: its own, or that of its tree.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    prefix: ClassVar[str | None] = None
    companion: ClassVar[bool] = False
    listed: ClassVar[bool] = True
    makes_dataset: ClassVar[bool] = False
    opens_dataset: ClassVar[bool] = False
    embeds: ClassVar[bool] = False
    read_by: ClassVar[Literal["method", "tree"] | None] = None
    Options: type[O]

    def options(self, request: Request) -> O:
        """The options of a request of this kind."""
        return self.Options.model_validate(request.options)

    def lane(self, request: Request) -> Lane:
        """The lane in which a request waits, by what it costs."""
        return "quick" if request.cost_s is None or request.cost_s <= QUICK_S else "fit"

    def seconds(self, options: O, params: Mapping[str, Any], size: Size) -> float | None:
        """The seconds of a processor that it is expected to take; None: its methods say that."""
        return size.linear_s

    def standing(self, request: Request) -> Standing:
        """How a job counts and waits."""
        return Standing(self.lane(request), self.listed, int(self.makes_dataset))

    def sources(self, find: Find, options: O) -> list[Source]:
        """What it reads beside the inputs of the request."""
        return []

    @abstractmethod
    def run(self, job: Job, options: O) -> Outcome:
        """Do the work: read the sources, write the result files. Raises UsageError."""

    def with_warnings(self, result: dict[str, Any], warnings: Sequence[str]) -> dict[str, Any]:
        """A result that holds the warnings of the whole job as well, notes on its inputs included,
        where results of this kind have them."""
        return result

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """What clients see of a result: addresses and ids in place of what lies in files."""
        return result

    def id_of(self, job_id: str) -> str:
        """The id of what a job of this kind makes; the job's own where that has none."""
        return job_id if self.prefix is None else sibling(job_id, self.prefix)

    def opens_sockets(self, request: Request) -> bool:
        """Whether its work is divided among processes that speak over sockets."""
        return False

    def resumes(self, request: Request) -> bool:
        """Whether it saves checkpoints."""
        return False

    def runs(self, request: Request) -> list[Request]:
        """The fits that its result may keep, each a separate job with its tree and model."""
        return []

    def phrases(self, request: Request) -> bool:
        """Whether a language model rephrases the names that it found."""
        return False


class NamedKind(Kind[O]):
    """Work whose result has its own id, list and address.

    Its result is {"tree": id, noun: facts}.
    """

    prefix: ClassVar[str]

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, self.noun: self.id_of(job_id)}
