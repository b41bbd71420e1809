"""A tree: its forms, cuts, evaluations and predictions.

For asyncio. Written by `make client` from `umbel_client.tree`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from umbel_client import display, shapes
from umbel_client._written.aio.attachment import AsyncAttachment, Items, converted_items
from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.drift import AsyncDrift
from umbel_client._written.aio.edition import AsyncEdition
from umbel_client._written.aio.heatmap import AsyncHeatmap
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.model import AsyncModel
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.tree_parts import AsyncTreeParts
from umbel_client.core import editions, runs, trees, uploads
from umbel_client.core.changes import KEPT, Kept, changed
from umbel_client.core.expiry import Expiry, expiry
from umbel_client.core.waiting import Waiting
from umbel_client.errors import InputError, UmbelError
from umbel_client.inputs import Input
from umbel_client.results import Confusions, Cut, Evaluation, Level, Merges, Predictions
from umbel_client.share import Share

Shape = Literal["circular", "rectangular", "icicle"]


class AsyncTree(AsyncTreeParts):
    """A hierarchy, or a partition as a tree of depth one, that the service keeps.

    In a notebook it is its picture. Every call that reads from the service raises ProblemError for
    a refusal, ConnectionFailed, and UnexpectedResponse; further exceptions are named at the call.

    facts : what is known of it without its nodes.
    """

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return self.facts.n_leaves

    @property
    def n_points(self) -> int:
        """The number of rows under the root."""
        return self.facts.n_points

    @property
    def job(self) -> str | None:
        """The id of the job that made it; None for an imported tree."""
        return self.facts.job

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the job approximated or found unusual."""
        return self.facts.warnings

    @property
    def metrics(self) -> Mapping[str, float]:
        """What the method measured itself."""
        return self.facts.metrics or {}

    @property
    def url(self) -> str:
        """The address of the tree's page."""
        return f"{self._driver.settings.url}/#/trees/{self.id}"

    async def newick(
        self,
        *,
        root: int = 0,
        depth: int | None = None,
        labels: Literal["name", "id"] = "name",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> str:
        """The tree as Newick text: branch lengths, and the names of leaves and inner nodes.

        root, depth : only the part under this node, and so many levels of it. labels : "id" writes
        node ids in place of names. names : those of a naming. edition : one of the tree.
        """
        query = {
            "root": root,
            "depth": depth,
            "labels": labels,
            "names": getattr(names, "id", names),
            "edition": getattr(edition, "id", edition),
        }
        return await self._driver.run(trees.text(self.id, ".nwk", query))

    async def nexus(self) -> str:
        """The tree as Nexus text."""
        return await self._driver.run(trees.text(self.id, ".nex", {}))

    async def linkage(self) -> npt.NDArray[np.float64]:
        """(n_leaves - 1, 4) the linkage matrix of `scipy.cluster.hierarchy`.

        Raises NotBinary for a tree in which a node has other than two children. UmbelWarning where
        leaves have heights of their own, which a linkage cannot hold.
        """
        return await self._driver.run(trees.array(self.id, ".linkage.npy", {}))

    async def nodes(
        self,
        *,
        root: int = 0,
        depth: int | None = None,
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> list[dict[str, Any]]:
        """All nodes, parents before children: `id`, `parent`, `name`, `height`, `size` and what the
        method adds. names : those of a naming. edition : one of the tree.
        """
        query = {
            "root": root,
            "depth": depth,
            "names": getattr(names, "id", names),
            "edition": getattr(edition, "id", edition),
        }
        body = await self._driver.run(trees.document(self.id, ".json", query, "nodes"))
        return list(body["nodes"])

    async def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each node. Raises MissingPackage."""
        body = await self._driver.run(trees.document(self.id, ".json", {}, "nodes"))
        return shapes.frame(body["nodes"])

    async def to_networkx(self) -> Any:
        """A networkx.DiGraph from parents to children. Raises MissingPackage."""
        body = await self._driver.run(trees.document(self.id, ".json", {}, "nodes"))
        return shapes.digraph(body["nodes"])

    async def to_ete(self) -> Any:
        """An ete4.Tree. Raises MissingPackage."""
        return shapes.ete(await self._driver.run(trees.text(self.id, ".nwk", {})))

    async def svg(
        self,
        *,
        shape: Shape = "circular",
        px: int = 1000,
        depth: int | None = None,
        color_by: str | None = None,
        title: str | None = None,
        theme: Literal["light", "dark"] = "light",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> str:
        """The tree as an SVG picture.

        px : the width. color_by : "cluster:12", "height:3.5", "level:2", or a dataset of labels.
        names : those of a naming. edition : one of the tree.
        """
        query = _picture(shape, px, depth, color_by, title, theme, names, edition)
        return await self._driver.run(trees.text(self.id, ".svg", query))

    async def png(
        self,
        *,
        shape: Shape = "circular",
        px: int = 1000,
        depth: int | None = None,
        color_by: str | None = None,
        title: str | None = None,
        theme: Literal["light", "dark"] = "light",
        names: AsyncNaming | str | None = None,
        edition: AsyncEdition | str | None = None,
    ) -> bytes:
        """The tree as a PNG picture; arguments as of `svg`."""
        query = _picture(shape, px, depth, color_by, title, theme, names, edition)
        return await self._driver.run(trees.content(self.id, ".png", query))

    async def plot(self, ax: Any = None, *, shape: Shape = "circular", px: int = 1000) -> Any:
        """The picture on matplotlib axes, which are returned. Raises MissingPackage."""
        query = _picture(shape, px, None, None, None, "light")
        return shapes.axes(await self._driver.run(trees.content(self.id, ".png", query)), ax)

    async def content(self, form: str, **query: Any) -> bytes:
        """Any form of the tree as the service gives it, by the ending of its address:
        `content(".hclust.json")`, `content("/assignments.csv", k=12)`.
        """
        return await self._driver.run(trees.content(self.id, form, query))

    async def save(self, path: str | os.PathLike[str], **query: Any) -> None:
        """Write the tree to a file, in the form of its ending: .nwk, .nex, .json, .arrow, .csv,
        .parquet, .graphml, .svg, .png, .pdf, .linkage.npy or .hclust.json.

        query : how it is written, as of `GET /v1/trees/{id}`: `save("figure.pdf", width_mm=85)`.

        Raises OSError; ProblemError for an ending that is none. UmbelWarning for what the form
        cannot represent, such as characters that no font of the service has.
        """
        suffixes = Path(path).suffixes
        several = "".join(suffixes[-2:])
        suffix = several if several in (".linkage.npy", ".hclust.json") else Path(path).suffix
        content = await self._driver.run(trees.content(self.id, suffix or ".json", query))
        shapes.written(content, Path(path))

    async def assignments(
        self,
        k: int | None = None,
        *,
        height: float | None = None,
        level: int | None = None,
        levels: Sequence[int] | None = None,
    ) -> npt.NDArray[np.int64]:
        """(n_points,) the cluster of every row in a cut; without one, of the leaves.

        k : number of clusters. height : the clusters are the highest nodes that are no higher.
        level : the nodes that many edges below the root. levels : several numbers of clusters,
        rising: (n_points, n_levels), each nested in those before. UmbelWarning where there are
        fewer clusters than k.
        """
        several = None if levels is None else ",".join(map(str, levels))
        query = {"k": k, "height": height, "level": level, "levels": several}
        return await self._driver.run(trees.array(self.id, "/assignments.npy", query))

    async def cut(
        self,
        k: int | None = None,
        *,
        height: float | None = None,
        level: int | None = None,
        limit: int = 200,
    ) -> Cut:
        """The clusters of a cut without their rows; arguments as of `assignments`.

        limit : how many of the largest clusters are listed.
        """
        query = {"k": k, "height": height, "level": level, "limit": limit}
        return Cut.of(await self._driver.run(trees.document(self.id, "/cut", query, "clusters")))

    async def levels(self) -> list[Level]:
        """The few cuts that mean something, from coarse to fine."""
        body = await self._driver.run(trees.document(self.id, "/levels", {}, "levels"))
        return [Level.of(each) for each in body["levels"]]

    async def confusions(
        self, labels: Input | None = None, *, root: int = 0, limit: int = 100
    ) -> Confusions:
        """Which classes are taken for which, the largest pairs first.

        labels : the class of every row, by the name of its leaf or by number; without, what the
        method found by itself (of l2h the probability that rows of one class give to another).
        `source` of what is returned says which of the two it is.
        root : only classes under this node. limit : how many of the largest pairs are listed.

        Raises InputError, NotFound where nothing is known without labels.
        """
        dataset = await self._driver.run(uploads.labels_id(labels))
        query = {"labels": dataset, "root": root, "limit": limit}
        path = "/confusions"
        return Confusions(
            await self._driver.run(trees.document(self.id, path, query, "pairs")),
            await self._driver.run(trees.array(self.id, f"{path}.npy", {**query, "limit": None})),
        )

    async def merges(self, labels: Input | None = None, *, limit: int = 100) -> Merges:
        """What it would gain and lose to make one class of all classes under a node: the curve
        from all classes to one.

        labels : as of `confusions`. limit : how many single nodes are listed.

        Raises InputError, NotFound where nothing is known without labels.
        """
        query = {"labels": await self._driver.run(uploads.labels_id(labels)), "limit": limit}
        return Merges(await self._driver.run(trees.document(self.id, "/merges", query, "steps")))

    async def evaluate(
        self,
        labels: Input | None = None,
        *,
        rows: Input | Mapping[str, Input] | None = None,
        features: Input | None = None,
        distances: Input | None = None,
        similarity: Input | None = None,
        hierarchy: Input | None = None,
        metrics: Sequence[str] | None = None,
        cut: Mapping[str, float] | None = None,
        sample: int | None = None,
        seed: int | None = None,
        per_node: bool = False,
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> Evaluation:
        """The metrics of the tree against what is given: true labels, another hierarchy, features.

        labels : the true class of every row. rows : rows that were not in the fit, which the tree's
        model places first, as in `predict`; all else is then of these rows. A method that needs
        several inputs takes them by role. hierarchy : another tree, or class paths. metrics : by
        default all that the inputs allow. cut : for flat metrics, `{"k": 12}`, `{"height": h}` or
        `{"level": n}`. sample : estimate dendrogram purity from so many pairs. per_node : also
        every node with its purity and most frequent class, as `nodes`. expires_at : when the job of
        the evaluation may be removed.

        Raises InputError, CannotPredict for `rows` where the tree has no model, WaitTimeout,
        JobCancelled.
        """
        inputs = {
            "labels": labels,
            "features": features,
            "distances": distances,
            "similarity": similarity,
            "hierarchy": hierarchy,
        }
        fields = {"metrics": metrics, "cut": cut, "sample": sample, "seed": seed}
        fields["per_node"] = per_node or None
        placed = rows if isinstance(rows, Mapping) else {}
        if rows is not None and not isinstance(rows, Mapping):
            role = await self._driver.run(trees.only_role(self.facts.model, ()))
            placed = {role: rows}
        fields["expires_at"] = expiry(expires_at)
        operation = trees.evaluated(
            f"/v1/trees/{self.id}",
            runs.converted_inputs(inputs),
            runs.converted_inputs(placed),
            runs.plain("cut", fields),
            Waiting(wait_s, title="evaluating"),
        )
        return Evaluation(await self._driver.run(operation))

    async def predict(
        self,
        rows: Input | None = None,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        k: int | None = None,
        height: float | None = None,
        level: int | None = None,
        calibration: AsyncCalibration | str | None = None,
        alpha: float | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Predictions:
        """New rows placed in the tree.

        rows : for a method that needs one input; for others, give each by its role. top_k,
        threshold, confidence : for classifiers, as the service documents them. k, height, level :
        one of them adds each row's `cluster` in that cut, `cluster_node` and `cluster_name`.
        calibration : adds the `nodes` that hold each row's class as it promises, `node_names`,
        `depth`, `n_classes` and `mass`. alpha : another bound than the calibration's own.
        expires_at : when the job of the prediction may be removed.

        Raises InputError, CannotPredict where the method has no model, WaitTimeout, JobCancelled.
        """
        if rows is not None:
            role = await self._driver.run(trees.only_role(self.facts.model, inputs))
            inputs = {role: rows, **inputs}
        fields = {
            "calibration": getattr(calibration, "id", calibration),
            "alpha": alpha,
            "top_k": top_k,
            "threshold": threshold,
            "confidence": confidence,
            "k": k,
            "height": height,
            "level": level,
            "expires_at": expiry(expires_at),
        }
        operation = trees.predicted(
            f"/v1/trees/{self.id}",
            runs.converted_inputs(inputs),
            fields,
            Waiting(wait_s, title="predicting"),
        )
        return Predictions(await self._driver.run(operation))

    async def calibrate(
        self,
        labels: Input,
        rows: Input | None = None,
        *,
        alpha: float | None = None,
        loss: Literal["miss", "distance", "cost"] | None = None,
        per: Literal["all", "subtree", "class"] | None = None,
        answer: Literal["node", "set"] | None = None,
        score: Literal["lac", "aps"] | None = None,
        costs: Input | None = None,
        cut: Mapping[str, float] | None = None,
        temperature: float | None = None,
        temperature_share: float | None = None,
        seed: int | None = None,
        name: str | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> AsyncCalibration:
        """How deep answers to new rows may go, learned from rows that the model has not seen.

        labels : the class of each row: the name of its leaf, or its number. rows, inputs : as of
        `predict`. alpha : 0.1 by default; of `miss` the probability that an answer does not hold
        the class, of `distance` and `cost` the expected loss. per : whether that holds over all
        rows, for each subtree of `cut` (`{"k": 10}`), or for each class. answer : the deepest
        `node`, or the smallest `set` of nodes by a `score`. costs : of each class (row) taken for
        each other. temperature : in place of a fitted one, for which `temperature_share` of the
        rows, drawn by `seed`, are used.

        UmbelWarning for what is not promised. Raises InputError, TooFewRows, UnknownLabel,
        CannotPredict, WaitTimeout, JobCancelled.
        """
        if rows is not None:
            role = await self._driver.run(trees.only_role(self.facts.model, inputs))
            inputs = {role: rows, **inputs}
        fields = {
            "alpha": alpha,
            "loss": loss,
            "per": per,
            "answer": answer,
            "score": score,
            "cut": cut,
            "temperature": temperature,
            "temperature_share": temperature_share,
            "seed": seed,
            "name": name,
        }
        operation = trees.calibrated(
            f"/v1/trees/{self.id}",
            runs.converted_inputs({**inputs, "labels": labels, "costs": costs}),
            runs.plain("cut", fields),
            Waiting(wait_s, title="calibrating"),
        )
        return AsyncCalibration(self._driver, await self._driver.run(operation))

    async def drift(
        self,
        reference: Input | Mapping[str, Input],
        batch: Input | Mapping[str, Input],
        *,
        reference_labels: Input | None = None,
        batch_labels: Input | None = None,
        level: float | None = None,
        name: str | None = None,
        webhook: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> AsyncDrift:
        """Which nodes gained or lost mass, confidence or, with labels, purity from the reference to
        the batch.

        reference : rows as they should be, not those of the fit. batch : new rows. A method that
        needs several inputs takes them by role. level : the accepted rate of false discoveries,
        0.05 by default. webhook : an address that is told of the end. expires_at : when the job may
        be removed.

        UmbelWarning for what could not be compared. Raises InputError, CannotPredict, WaitTimeout,
        JobCancelled.
        """
        given = {"reference": (reference, reference_labels), "batch": (batch, batch_labels)}
        samples = {}
        for sample, (rows, labels) in given.items():
            if not isinstance(rows, Mapping):
                rows = {await self._driver.run(trees.only_role(self.facts.model, ())): rows}
            samples[sample] = runs.converted_inputs({**rows, "labels": labels})
        fields = {
            "level": level,
            "name": name,
            "webhook": webhook,
            "expires_at": expiry(expires_at),
        }
        operation = trees.drifted(
            f"/v1/trees/{self.id}", samples, fields, Waiting(wait_s, title="comparing")
        )
        return AsyncDrift(self._driver, await self._driver.run(operation))

    async def map(
        self,
        by: Literal["pca", "umap", "tsne", "disc"] = "pca",
        *,
        features: Input | None = None,
        metric: Literal["euclidean", "cosine"] | None = None,
        n_neighbors: int | None = None,
        min_dist: float | None = None,
        perplexity: float | None = None,
        n_components: int | None = None,
        seed: int | None = None,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> npt.NDArray[np.float32]:
        """(n_points, 2) positions of the points in the plane, by row; `lay_out` gives the map.

        by : principal components, a layout that keeps neighbours together, or for trees of `ghhc`
        and `hyphc` where the method placed the points in the Poincaré disc. features : a row for
        each point; by default those of the fit. metric, n_neighbors, min_dist, perplexity,
        n_components, seed : of the layouts, see `POST /v1/trees/{id}/maps`.

        UmbelWarning for what was changed or approximated. Raises InputError, WaitTimeout,
        JobCancelled.
        """
        fields = {
            "by": by,
            "metric": metric,
            "n_neighbors": n_neighbors,
            "min_dist": min_dist,
            "perplexity": perplexity,
            "n_components": n_components,
            "seed": seed,
            "name": name,
            "expires_at": expiry(expires_at),
        }
        operation = trees.mapped(
            f"/v1/trees/{self.id}",
            runs.converted_inputs({"features": features}),
            fields,
            Waiting(wait_s, title="mapping"),
        )
        body = await self._driver.run(operation)
        return await self._driver.run(trees.matrix(f"/v1/maps/{body['id']}/positions.npy"))

    async def lay_out(
        self,
        by: Literal["pca", "umap", "tsne", "disc"] = "pca",
        *,
        features: Input | None = None,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **terms: Any,
    ) -> AsyncMap:
        """As `map`, but gives the map itself, which draws its points, finds the nodes that fit an
        outline, and is shown by links. terms : `metric`, `n_neighbors` and the others of `map`.
        """
        fields = {"by": by, **terms, "name": name, "expires_at": expiry(expires_at)}
        operation = trees.mapped(
            f"/v1/trees/{self.id}",
            runs.converted_inputs({"features": features}),
            fields,
            Waiting(wait_s, title="mapping"),
        )
        return AsyncMap(self._driver, await self._driver.run(operation))

    async def heatmap(
        self,
        what: Literal["features", "distances"] = "features",
        *,
        cut: Mapping[str, float] | None = None,
        statistic: Literal["mean", "median"] | None = None,
        scale: Literal["standard", "none"] | None = None,
        n_columns: int | None = None,
        metric: Literal["euclidean", "cosine", "cophenetic"] | None = None,
        features: Input | None = None,
        feature_names: Input | None = None,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> AsyncHeatmap:
        """The clusters of the tree as the rows of a matrix, in the order of the tree.

        what : a column for each of the `features`, or the `distances` between the rows. cut : the
        rows are its clusters, `{"k": 12}`, `{"height": h}` or `{"level": n}`; without it the
        leaves. statistic, scale, n_columns : of features, the mean over the points of a cluster in
        standard deviations by default, and at most 100 columns. metric : of distances, `euclidean`
        by default. features : a row for each point; by default those of the fit. feature_names : of
        their columns.

        The matrix takes a request for every 256 x 256 values. UmbelWarning for what was left out.
        Raises InputError, WaitTimeout, JobCancelled.
        """
        fields = {
            "what": what,
            "cut": cut,
            "statistic": statistic,
            "scale": scale,
            "n_columns": n_columns,
            "metric": metric,
            "name": name,
            "expires_at": expiry(expires_at),
        }
        operation = trees.heatmap_made(
            f"/v1/trees/{self.id}",
            runs.converted_inputs({"features": features, "feature_names": feature_names}),
            runs.plain("cut", fields),
            Waiting(wait_s, title="drawing"),
        )
        return AsyncHeatmap(self._driver, await self._driver.run(operation))

    async def name_nodes(
        self,
        by: Literal["labels", "terms", "items", "features", "model"],
        *,
        evidence: Literal["labels", "terms", "items", "features"] | None = None,
        n_clusters: int | None = None,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> AsyncNaming:
        """Names for the nodes of the tree, from what the rows under them have in common.

        by : `labels`, the largest class; `terms`, what a node has more of than the whole, of
        `documents` or of `features` with `feature_names`; `items`, the `names` of the rows nearest
        to the mean of the `features`; `features`, those that tell a node from its siblings;
        `model`, a language model, if the service has one, from the `evidence` of one of these.
        inputs : a value for each row; those of the fit need not be given again. n_clusters : the
        clusters of the cut into this many are named, and all nodes above.

        UmbelWarning for what could not be named. Raises InputError, WaitTimeout, JobCancelled.
        """
        fields = {
            "by": by,
            "evidence": evidence,
            "n_clusters": n_clusters,
            "name": name,
            "expires_at": expiry(expires_at),
        }
        operation = trees.node_names(
            f"/v1/trees/{self.id}",
            runs.converted_inputs(inputs),
            fields,
            Waiting(wait_s, title="naming"),
        )
        return AsyncNaming(self._driver, await self._driver.run(operation))

    async def attach(
        self,
        items: Items,
        *,
        name: str | None = None,
        expires_at: Expiry = None,
        wait_s: float | None = None,
    ) -> AsyncAttachment:
        """Attach to the tree what its points are: texts, numbers, dates, categories, images.

        items : a row for each row of the tree, or for each leaf: columns by their names, a data
        frame, a list of objects, a dataset, or a file (CSV with a header, JSON lines of objects,
        Arrow, Parquet, a zip of images).

        UmbelWarning for what is missing. Raises InputError, WaitTimeout, JobCancelled.
        """
        operation = trees.attached(
            f"/v1/trees/{self.id}",
            converted_items(items),
            {"name": name, "expires_at": expiry(expires_at)},
            Waiting(wait_s, title="attaching"),
        )
        return AsyncAttachment(self._driver, await self._driver.run(operation))

    async def examples(
        self,
        node: int,
        by: Literal["central", "unsure", "random"] = "central",
        *,
        n: int = 12,
        seed: int = 0,
        attachment: str | AsyncAttachment | None = None,
    ) -> list[dict[str, Any]]:
        """Items under a node, each with `item`, `leaf`, `score` and its `values` by column.

        by : the most central first, the least sure first, or at random. attachment : which items;
        by default those attached last.

        Raises InputError where nothing is attached.
        """
        own_id = attachment if attachment is None or isinstance(attachment, str) else attachment.id
        query = {"by": by, "n": n, "seed": seed}
        return await self._driver.run(trees.examples(f"/v1/trees/{self.id}", own_id, node, query))

    async def edit(
        self, name: str | None = None, *, source: AsyncEdition | str | None = None
    ) -> AsyncEdition:
        """A new edition of the tree, in which nodes are renamed, noted, coloured, reordered,
        collapsed, merged and dissolved; the tree stays as it is. source : another edition of the
        tree to start from.
        """
        fields = {"name": name, "from": getattr(source, "id", source)}
        return AsyncEdition(self._driver, await self._driver.run(editions.begun(self.id, fields)))

    async def edition(self, edition_id: str) -> AsyncEdition:
        """An edition by its id."""
        return AsyncEdition(self._driver, await self._driver.run(editions.read(edition_id)))

    async def editions(self) -> list[dict[str, Any]]:
        """The editions of the tree, the newest first, as the service describes them."""
        return await self._driver.run(editions.listed(f"/v1/trees/{self.id}/editions"))

    async def share(
        self,
        *,
        days: float = 7,
        edition: AsyncEdition | str | None = None,
        names: AsyncNaming | str | None = None,
        map: AsyncMap | str | None = None,
        rows: bool = False,
        embed: bool = False,
        name: str | None = None,
    ) -> Share:
        """A link that shows the tree, and nothing else, to whoever has it; `url` is its address.

        days : until it ends, 366 at most. edition, names, map : what it shows the tree with. rows :
        whether it tells which rows lie under a node. embed : whether other pages may frame it.
        name : whom it is for; only its owner sees that.
        """
        fields = {
            "expires_at": expiry(datetime.now(UTC) + timedelta(days=days)),
            "edition": getattr(edition, "id", edition),
            "names": getattr(names, "id", names),
            "map": getattr(map, "id", map),
            "rows": rows,
            "embed": embed,
            "name": name,
        }
        body = await self._driver.run(editions.shared(self.id, fields))
        return Share(body, self._driver.settings.url)

    async def shares(self) -> list[Share]:
        """The links that show the tree, the newest first, without their addresses."""
        bodies = await self._driver.run(editions.listed(f"/v1/trees/{self.id}/shares"))
        return [Share(body, self._driver.settings.url) for body in bodies]

    async def revoke(self, share: Share | str) -> None:
        """End a link: its address shows nothing any more."""
        await self._driver.run(editions.removed(f"/v1/shares/{getattr(share, 'id', share)}"))

    async def model(self) -> AsyncModel:
        """The model that was fitted with the tree. Raises InputError where there is none."""
        if self.facts.model is None:
            raise InputError("model", f"the tree {self.id} has no model.")
        body = await self._driver.run(
            trees.described(f"/v1/models/{self.facts.model}", "id", "inputs")
        )
        return AsyncModel(self._driver, body)

    async def update(
        self,
        *,
        name: str | Literal[Kept.KEPT] | None = KEPT,
        description: str | Literal[Kept.KEPT] | None = KEPT,
        tags: Sequence[str] | Literal[Kept.KEPT] | None = KEPT,
    ) -> None:
        """Change name, description or tags of the tree; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        body = await self._driver.run(changed(f"/v1/trees/{self.id}", name, description, tags))
        self.facts = dataclasses.replace(
            self.facts,
            name=body["name"],
            description=body["description"],
            tags=tuple(body["tags"]),
        )

    async def delete(self) -> None:
        """Remove the tree and its model from the service; the job's record stays."""
        await self._driver.run(uploads.removed(f"/v1/trees/{self.id}"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {display.title(self.facts)}>"

    def _repr_svg_(self) -> str | None:
        try:
            return display.drawn(self._driver.settings, self.id)
        except UmbelError:
            return None

    def _repr_html_(self) -> str:
        svg, why = None, ""
        try:
            svg = display.drawn(self._driver.settings, self.id)
        except UmbelError as error:
            why = str(error)
        return display.tree_html(self.facts, self.url, svg, why)


def _picture(
    shape: str,
    px: int,
    depth: int | None,
    color_by: str | None,
    title: str | None,
    theme: str,
    names: AsyncNaming | str | None = None,
    edition: AsyncEdition | str | None = None,
) -> dict[str, Any]:
    return {
        "names": getattr(names, "id", names),
        "edition": getattr(edition, "id", edition),
        "shape": shape,
        "px": px,
        "depth": depth,
        "color_by": color_by,
        "title": title,
        "theme": theme,
    }
