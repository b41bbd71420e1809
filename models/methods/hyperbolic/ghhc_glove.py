"""gHHC with GloVe: vectors of words and a tree over the words, learned together.

GloVe finds vectors whose products are the logarithms of how often words occur near each other
(`words.vectors`). Centred and scaled, they are points of the Poincaré ball; nodes of a tree start
among them as in `ghhc`. Then nodes move by the losses of the tree, words by that of triples
together with GloVe's loss (eq. 21), contexts and biases by GloVe's loss alone
(`words.words_torch`). Each word is a leaf; words that selected the same node are joined by average
linkage below it (`ball.extraction`), or are siblings with 'below': "none". Documents are first
turned into counts of co-occurrences: two words d apart, `window` at most, count 1 / d
(`models.preprocess.documents`). The model holds the vectors, in the order of the words: `words`,
the points of the ball, `contexts`, `bias`, `context_bias`; and `embedding`, the nodes.

Source: Monath, Zaheer, Silva, McCallum and Ahmed, "Gradient-based Hierarchical Clustering using
Continuous Representations of Trees in Hyperbolic Space" (2019), §5; Pennington, Socher and Manning,
"GloVe: Global Vectors for Word Representation" (2014). Deviations: as in
`models.methods.hyperbolic.ghhc`, vectors that are first learned alone, and `problem_weight`.

The joint steps have not earned their place: on 2,000 words of WordNet's glosses (one seed) vectors
that stay as they are ('word_learning_rate': 0) give words as alike (WordSim-353: 0.561, joint
0.558, with 'problem_weight' 100 0.562) and topics as pure (0.118, 0.116, 0.116) as vectors that
move; only the tree's own cost falls (0.154, 0.150, 0.153). A scaling that keeps GloVe's products
('largest') gives a lower GloVe loss (0.029 instead of 0.032), but no better words or topics (0.538,
0.111). The paper shows one tree and no figure. docs/decisions/expected-cost.md has the rest.

Cost: O(P D) for each of `n_passes` over P pairs of words that occur; O(V D + (B + R) (M D + R^2)) a
step for V words, B = `batch_size`, M = `n_internal`, R of its nodes as in `ghhc`; neighbours of
words after every 1,000 steps; for documents of T words O(T `window`). Memory: 90 bytes a pair,
about 130 V D bytes, and the documents.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.checks import require_two
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.hyperbolic.ball.parameters import step_bytes
from models.methods.hyperbolic.words.parameters import BallWordParams
from models.parameters import Seed
from models.running import budget
from models.running.device import computing, require
from models.running.progress import subprogress
from models.running.threads import limited
from models.tree.tree import Tree

_PAIR_BYTES = 90
"""The memory of a pair of words, while pairs are sorted and after."""


class GHHCGloveParams(BallWordParams):
    seed: Seed = 0


class GHHCGlove(Method[GHHCGloveParams]):
    """See the module's docstring."""

    id = "ghhc-glove"
    title = "gHHC with GloVe"
    family = "hyperbolic"
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
                "with a row and a column for each word. A new row counts how often a new word "
                "occurs with each of these words."
            ),
        ),
        "documents": Input(
            required=False,
            description=(
                "Texts that words and counts are taken from; a new text is placed by its words."
            ),
        ),
        "names": Input(
            required=False,
            fit_only=True,
            description=(
                "The words, one for each row of 'graph'; words of documents are their own names."
            ),
        ),
    }
    one_of = ("graph", "documents")
    outputs = ("tree", "model")
    needs = ("torch",)
    placing = "the leaf of the word that explains its counts best, or is nearest to its words"
    advice = (
        "Keep fewer words (for documents 'max_words', 'min_count', 'window'), or lower "
        "'n_dimensions', 'n_internal' or 'batch_size'."
    )
    resumes = True
    example = {
        "n_internal": 9,
        "n_dimensions": 10,
        "n_passes": 8,
        "max_iter": 30,
        "n_init": 2,
    }

    def _memory(self, shapes: Shapes, params: GHHCGloveParams) -> int:
        from models.methods.hyperbolic.ball.extraction import MOST
        from models.methods.hyperbolic.ball.seeding import n_seeds

        n_words, stored = params.max_words, 0
        if "pairs" in shapes:
            return _PAIR_BYTES * shapes["pairs"][0]
        if len(shapes.get("graph", ())) == 2:
            n_words = shapes["graph"][0]
        elif "documents" not in shapes:
            return 0
        else:
            # A few hundred word numbers per document, and the largest block of pairs.
            stored = 1000 * shapes["documents"][0] + (1 << 28)
            n_words = min(n_words, 200 * shapes["documents"][0])
        n_nodes, seeds = params.n_internal, n_seeds(params.n_internal)
        steps = step_bytes(n_nodes, params.batch_size, params.loss)
        on_processor = 0 if params.device == "cuda" else steps
        seeding = 0 if params.seeding == "points" else 4 * seeds * seeds
        merges = 0 if params.below == "none" else 8 * min(n_words, MOST) ** 2
        work = max(on_processor, seeding, merges)
        return 130 * n_words * params.n_dimensions + work + stored

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
        require_two(n_words, "graph", "word")

    def _fit(self, data: Data, params: GHHCGloveParams, run: Run) -> Fitted:

        from models.methods.hyperbolic.words.fit import fit
        from models.methods.hyperbolic.words.pairs import checked, count_words, small_warnings

        facts: dict[str, Any] = {}
        warnings: tuple[str, ...] = ()
        if "documents" in data:
            names, counts, warnings = count_words(
                _documents(data),
                params.min_count,
                params.max_words,
                params.window,
                subprogress(run.progress, 0.0, 0.06),
            )
            require_two(len(names), "documents", "word")
            facts["vocabulary"] = names
        else:
            counts = checked(data.matrix("graph"), "graph")
            warnings = small_warnings(counts, params.x_max, params.exponent)
            names = data.leaf_names(counts.shape[0], "row of 'graph'")
        self.check_size({"pairs": (counts.nnz,)}, params, budget.available())
        with limited(run.threads), computing(run.threads):
            return fit(counts, names, params, run, facts, warnings)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf of the word that explains counts best, or is nearest to a document's words."""
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
        return place_documents(model, tree, _word_counts(_documents(data), model))


def _documents(data: Data) -> list[str]:
    documents = data.names("documents")
    if not documents:
        raise UsageError("Input 'documents' has no documents.", code="empty", role="documents")
    return documents


def _word_counts(documents: list[str], model: Model) -> sp.csr_array:
    """(n_documents, V) the count of each word of the model in each document."""
    from models.preprocess.documents import numbered, word_counts

    words = model.facts["vocabulary"]
    return word_counts(numbered(documents, words), len(words))
