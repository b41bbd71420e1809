"""gHHC with GloVe: vectors of words and a tree over the words, learned together.

GloVe finds vectors whose products are the logarithms of how often words occur near each other
(`words.vectors`). About their mean and scaled they are points of the Poincaré ball; nodes of
a tree start among them as for `ghhc`. Then nodes move by the tree's loss (eq. 15 and 17), and words
by it and by GloVe's loss at once (eq. 21), contexts and biases by GloVe's alone
(`words.words_torch`). Each word is a leaf; words that select one node are side by side below it.
From documents, co-occurrences are counted first, two words d apart, `window` at most, counting
1 / d (`models.text`). The model has the vectors: `words`, the points of the ball, `contexts`,
`bias`, `context_bias`, in the order of the words, and `embedding`, the nodes.

Source: Monath, Zaheer, Silva, McCallum and Ahmed, "Gradient-based Hierarchical Clustering using
Continuous Representations of Trees in Hyperbolic Space" (2019), §5; Pennington, Socher and Manning,
"GloVe: Global Vectors for Word Representation" (2014). Not from there: what `models.methods.
hyperbolic.ghhc` names, vectors learned alone first, and `problem_weight`.

Cost: O(P D) each of `n_passes` for P pairs of words that occur; O(V D + B M D) a step for V words,
B = `batch_size`, M = `n_internal`; neighbours of words after every 1,000 steps; documents of T
words O(T `window`). Memory: 90 bytes a pair, about 130 V D bytes, and the documents.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal

import scipy.sparse as sp
from pydantic import Field

from models import memory
from models.data import Data
from models.device import computing, require
from models.errors import UsageError
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.hyperbolic.ghhc import GHHCParams
from models.parameters import Params
from models.tree.tree import Tree

_PAIR_BYTES = 90
"""What a pair of words that occurs takes while pairs are put in order, and what is kept of it."""


def _as_ghhc(name: str) -> Any:
    """A parameter that is the same there."""
    return copy(GHHCParams.model_fields[name])


class GHHCGloveParams(Params):
    min_count: int = Field(
        5,
        ge=1,
        le=1_000_000_000,
        description="How often a word of the documents must occur to be one.",
    )
    max_words: int = Field(
        10_000,
        ge=2,
        le=1_000_000,
        description="Most words of the documents; the most frequent ones are kept.",
    )
    window: int = Field(
        10,
        ge=1,
        le=1000,
        description="How far apart words of a document may be to occur together, in words.",
    )
    n_dimensions: int = Field(50, ge=2, le=1000, description="Dimensions of vectors and ball.")
    x_max: float = Field(
        100.0, gt=0, le=1e12, description="Count from which on a pair of words has full weight."
    )
    exponent: float = Field(
        0.75, ge=0, le=10, description="Below 'x_max' it has (count / x_max) to this power."
    )
    n_passes: int = Field(
        50,
        ge=1,
        le=100_000,
        description="Passes over all pairs in which vectors are learned without the tree.",
    )
    vector_learning_rate: float = Field(
        0.05, gt=0, le=100, description="Step length of AdaGrad in those passes."
    )
    word_learning_rate: float = Field(
        0.001,
        ge=0,
        le=1e3,
        description="Step length of words, contexts and biases along with the tree; 0: they stay.",
    )
    problem_weight: float = Field(
        1.0,
        ge=0,
        le=1e12,
        description="What GloVe's loss, a mean over pairs, is multiplied by beside the tree's.",
    )
    n_internal: int = _as_ghhc("n_internal")
    scaling: Literal["largest", "unit"] = Field(
        "unit",
        description=(
            "How vectors become points of the ball, about their mean: 'largest' all divided by one "
            "number, the farthest at 'point_norm', which changes no product; 'unit' each at "
            "'point_norm', so that the rest of the fit must make up for it."
        ),
    )
    point_norm: float = Field(
        0.9, ge=0.01, le=0.99999, description="Norm that the farthest or all words start at."
    )
    max_norm: float = Field(
        0.95,
        ge=0.01,
        le=0.99999,
        description="Largest norm of a node or word; beyond it is cut to that.",
    )
    seeding: Literal["k-means", "k-means++", "afk-mc2", "random", "points"] = _as_ghhc("seeding")
    placement: Literal["midpoint", "order"] = _as_ghhc("placement")
    n_init: int = _as_ghhc("n_init")
    n_neighbors: int = _as_ghhc("n_neighbors")
    batch_size: int = _as_ghhc("batch_size")
    max_iter: int = _as_ghhc("max_iter")
    learning_rate: float = _as_ghhc("learning_rate")
    optimizer: Literal["sgd", "adam"] = _as_ghhc("optimizer")
    loss: Literal["sigmoid", "softplus"] = _as_ghhc("loss")
    temperature: float = _as_ghhc("temperature")
    noise: float = _as_ghhc("noise")
    mask: Literal["likeliest", "nearest"] = _as_ghhc("mask")
    margin: float = _as_ghhc("margin")
    structure: Literal["distance", "norms"] = _as_ghhc("structure")
    gamma: float = _as_ghhc("gamma")
    structure_every: int = _as_ghhc("structure_every")
    keep: Literal["best", "last"] = _as_ghhc("keep")
    device: Literal["cpu", "cuda"] = _as_ghhc("device")
    seed: int = _as_ghhc("seed")


class GHHCGlove(Method[GHHCGloveParams]):
    """See the module's docstring."""

    title = "gHHC with GloVe"
    paper = Paper(
        "Gradient-based Hierarchical Clustering using Continuous Representations of Trees in "
        "Hyperbolic Space",
        2019,
        "KDD",
    )
    Params = GHHCGloveParams
    inputs = {
        "graph": Input(
            required=False,
            sparse=True,
            description=(
                "Counts of words that occur together: a square symmetric matrix, dense or sparse, "
                "a row and a column for each word. Of new rows: of each how often it occurs with "
                "each of these words."
            ),
        ),
        "documents": Input(
            required=False,
            description=(
                "Texts of which words and counts are taken; of new ones, each is placed by its "
                "words."
            ),
        ),
        "names": Input(
            required=False,
            fit_only=True,
            description="With 'graph' the words, one for each row; documents have their own.",
        ),
    }
    one_of = ("graph", "documents")
    outputs = ("tree", "model")
    advice = (
        "Keep fewer words (for documents 'max_words', 'min_count', 'window'), or lower "
        "'n_dimensions', 'n_internal' or 'batch_size'."
    )
    resumes = True
    example = {
        "n_internal": 9,
        "n_dimensions": 10,
        "n_passes": 20,
        "max_iter": 100,
        "n_init": 2,
    }

    def _memory(self, shapes: Shapes, params: GHHCGloveParams) -> int:
        from models.methods.hyperbolic.ball.seeding import n_seeds

        n_words, stored = params.max_words, 0
        if "pairs" in shapes:
            return _PAIR_BYTES * shapes["pairs"][0]
        if len(shapes.get("graph", ())) == 2:
            n_words = shapes["graph"][0]
        elif "documents" not in shapes:
            return 0
        else:
            # Numbers of a few hundred words a document, and the largest block of pairs.
            stored = 1000 * shapes["documents"][0] + (1 << 28)
            n_words = min(n_words, 200 * shapes["documents"][0])
        n_nodes, seeds = params.n_internal, n_seeds(params.n_internal)
        steps = 4 * 100 * min(params.batch_size, 100_000) * n_nodes
        on_device = 0 if params.device == "cuda" else steps
        seeding = 0 if params.seeding == "points" else 4 * seeds * seeds
        return 130 * n_words * params.n_dimensions + max(on_device, seeding) + stored

    def _check(self, data: Data, params: GHHCGloveParams) -> None:
        require(params.device)
        if "documents" in data:
            _documents(data)
            if "names" in data:
                raise UsageError(
                    "Input 'names' goes with 'graph'; words of 'documents' are their own names.",
                    code="wrong-input",
                    role="names",
                )
            return
        n_words = data.matrix("graph").shape[0]
        data.leaf_names(n_words, "row of 'graph'")
        _require_words(n_words, params, "graph", "row(s)")

    def _fit(self, data: Data, params: GHHCGloveParams, run: Run) -> Fitted:
        from threadpoolctl import threadpool_limits

        from models.methods.hyperbolic.words.fit import fitted, read
        from models.methods.hyperbolic.words.pairs import checked

        facts: dict[str, Any] = {}
        warnings: tuple[str, ...] = ()
        if "documents" in data:
            names, counts, warnings = read(_documents(data), params, run)
            _require_words(len(names), params, "documents", "word(s) that occur near another")
            facts["vocabulary"] = names
        else:
            counts = checked(data.matrix("graph"), "graph")
            names = data.leaf_names(counts.shape[0], "row of 'graph'")
        self.check_size({"pairs": (counts.nnz,)}, params, memory.available())
        with threadpool_limits(run.threads), computing(run.threads):
            return fitted(counts, names, params, run, facts, warnings)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the word that explains counts best, or is nearest to a document's words."""
        from models.methods.hyperbolic.words.placing import place, place_documents

        if "graph" in data:
            return place(model, tree, data.matrix("graph"), "graph")
        if "vocabulary" not in model.facts:
            raise UsageError(
                "The model was fitted on 'graph', without a vocabulary: give rows of counts as "
                "'graph'.",
                code="wrong-input",
                role="documents",
            )
        return place_documents(model, tree, _counted(_documents(data), model))


def _documents(data: Data) -> list[str]:
    found = data.names("documents")
    if not found:
        raise UsageError("Input 'documents' has no documents.", code="empty", role="documents")
    return found


def _counted(documents: list[str], model: Model) -> sp.csr_array:
    from models.documents.counts import word_counts
    from models.documents.vocabulary import numbered

    words = model.facts["vocabulary"]
    return word_counts(numbered(documents, words), len(words))


def _require_words(n_words: int, params: GHHCGloveParams, role: str, what: str) -> None:
    if n_words < params.n_internal:
        raise UsageError(
            f"Parameter 'n_internal' is {params.n_internal}, but input {role!r} has only "
            f"{n_words:,} {what}.",
            code="too-few-points",
            parameter="n_internal",
        )
