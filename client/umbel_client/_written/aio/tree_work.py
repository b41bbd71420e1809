"""Work on a tree: evaluations, predictions, and what is made of it and kept.

For asyncio. Written by `make client` from `umbel_client.tree_work`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from umbel_client._written.aio.attachment import AsyncAttachment
from umbel_client._written.aio.calibration import AsyncCalibration
from umbel_client._written.aio.core.runs import evaluated, predicted
from umbel_client._written.aio.drift import AsyncDrift
from umbel_client._written.aio.heatmap import AsyncHeatmap, HeatmapMetric
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.placement import AsyncPlacement
from umbel_client._written.aio.tree_parts import AsyncTreeParts
from umbel_client.core.events import Waiting
from umbel_client.core.fields import Expiry, Retrying, new_work
from umbel_client.errors import InputError
from umbel_client.inputs import Input, Items, converted_inputs
from umbel_client.results import Evaluation, Predictions


class AsyncTreeWork(AsyncTreeParts):
    """The part of `Tree` that asks for work on it.

    name, description, tags, webhook, expires_at, retrying, wait_s : wherever they are arguments, of
    the job that does it, as of `Umbel.run`.
    """

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
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> Evaluation:
        """The metrics of the tree against what is given: true labels, another hierarchy, features.

        labels : the true class of every row. rows : rows that were not in the fit, which the tree's
        model places first, as in `predict`; all else is then of these rows. A method that needs
        several inputs takes them by role. hierarchy : another tree, also as a file or a text of
        Newick or Nexus, or class paths. metrics : by default all that the inputs allow. cut : for
        flat metrics, `{"k": 12}`, `{"height": h}` or `{"level": n}`. sample : estimate
        dendrogram purity from so many pairs. per_node : also every node with its purity and most
        frequent class, as `nodes`.

        Raises InputError, CannotPredict for `rows` where the tree has no model, WaitTimeout,
        JobCancelled.
        """
        truths = {
            "labels": labels,
            "features": features,
            "distances": distances,
            "similarity": similarity,
            "hierarchy": hierarchy,
        }
        fields = {
            "metrics": metrics,
            "cut": cut,
            "sample": sample,
            "seed": seed,
            "per_node": per_node or None,
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        placed = await self._by_role({} if rows is None else rows)
        how = Waiting(wait_s, title="evaluating")
        body = await evaluated(self._connection, self._path, truths, placed, fields, how)
        return Evaluation(body)

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
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> Predictions:
        """New rows placed in the tree.

        rows : for a method that needs one input; for others, give each by its role. top_k,
        threshold, confidence : for classifiers, as the service documents them. k, height, level :
        one of them adds each row's `cluster` in that cut, `cluster_node` and `cluster_name`.
        calibration : adds the `nodes` that hold each row's class as it promises, `node_names`,
        `depth`, `n_classes` and `mass`. alpha : another bound than the calibration's own.

        Raises InputError, CannotPredict where the method has no model, WaitTimeout, JobCancelled.
        """
        if rows is not None:
            role = await self._only_role(inputs)
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
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        how = Waiting(wait_s, title="predicting")
        return Predictions(await predicted(self._connection, self._path, inputs, fields, how))

    async def calibrate(
        self,
        labels: Input,
        rows: Input | None = None,
        *,
        alpha: float | None = None,
        loss: Literal["miss", "distance", "cost", "price"] | None = None,
        per: Literal["all", "subtree", "class"] | None = None,
        answer: Literal["node", "set"] | None = None,
        score: Literal["lac", "aps"] | None = None,
        most_nodes: int | None = None,
        abstains: bool | None = None,
        relearn: bool | None = None,
        costs: Input | None = None,
        prices: Mapping[str, float] | None = None,
        drift: AsyncDrift | str | None = None,
        shift: Literal["rows", "classes"] | None = None,
        after: AsyncCalibration | str | None = None,
        cut: Mapping[str, float] | None = None,
        temperature: float | None = None,
        temperature_share: float | None = None,
        seed: int | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> AsyncCalibration:
        """How deep answers to new rows may go, learned from rows that the model has not seen.

        labels : the class of each row: the name of its leaf, or its number. rows, inputs : as of
        `predict`. alpha : 0.1 by default; of `miss` the probability that an answer does not hold
        the class, of `distance` and `cost` the expected loss. per : whether that holds over all
        rows, for each subtree of `cut` (`{"k": 10}`), or for each class. answer : the deepest
        `node`, or the smallest `set` of nodes by a `score`, at most `most_nodes`, and none where it
        `abstains`. relearn : whether rows that fit the temperature also correct the model. costs :
        of each class (row) taken for each other. prices : in place of `alpha`, what answers cost
        that are `wrong`, a `level` too high, or that `abstain`. drift, shift : new rows are shared
        out as its batch, by where `rows` are placed or by true `classes`. after : the calibration
        that answered the rows; the new one follows them, on its terms. temperature : in place of a
        fitted one, for which `temperature_share` of the rows, drawn by `seed`, are used.

        UmbelWarning for what is not promised. Raises InputError, TooFewRows, UnknownLabel,
        CannotPredict, WaitTimeout, JobCancelled.
        """
        if rows is not None:
            role = await self._only_role(inputs)
            inputs = {role: rows, **inputs}
        fields = {
            "alpha": alpha,
            "loss": loss,
            "per": per,
            "answer": answer,
            "score": score,
            "most_nodes": most_nodes,
            "abstains": abstains,
            "relearn": relearn,
            "cut": cut,
            "prices": None if prices is None else dict(prices),
            "drift": getattr(drift, "id", drift),
            "shift": shift,
            "after": getattr(after, "id", after),
            "temperature": temperature,
            "temperature_share": temperature_share,
            "seed": seed,
            "inputs": {},
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        truths = converted_inputs({"labels": labels, "costs": costs}, rows=inputs)
        given = {**truths, **converted_inputs(inputs, "inputs.")}
        how = Waiting(wait_s, title="calibrating")
        return await AsyncCalibration._made(self._connection, self.id, given, fields, how)

    async def drift(
        self,
        reference: Input | Mapping[str, Input],
        batch: Input | Mapping[str, Input],
        *,
        reference_labels: Input | None = None,
        batch_labels: Input | None = None,
        level: float | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> AsyncDrift:
        """Which nodes gained or lost mass, confidence or, with labels, purity from the reference to
        the batch.

        reference : rows as they should be, not the rows of the fit. batch : new rows. A method that
        needs several inputs takes them by role. level : the accepted rate of false discoveries,
        0.05 by default.

        UmbelWarning for what could not be compared. Raises InputError, CannotPredict, WaitTimeout,
        JobCancelled.
        """
        given: dict[str, Any] = {}
        for sample, rows, labels in (
            ("reference", reference, reference_labels),
            ("batch", batch, batch_labels),
        ):
            placed = await self._by_role(rows)
            given |= converted_inputs(placed, f"{sample}.inputs.")
            given |= converted_inputs({"labels": labels}, f"{sample}.", rows=placed)
        fields = {
            "level": level,
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        how = Waiting(wait_s, title="comparing")
        return await AsyncDrift._made(self._connection, self.id, given, fields, how)

    async def place_in(
        self,
        hierarchy: Input,
        *,
        level: float | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> AsyncPlacement:
        """Which classes and subtrees of a hierarchy hang out of place, by this tree of the same
        classes, matched by the names of leaves.

        hierarchy : a tree, a file or a text of Newick or Nexus, or class paths. level : the
        accepted rate of false discoveries, 0.05 by default.

        UmbelWarning for classes that only one of the two has and for what is not judged. Raises
        InputError, WaitTimeout, JobCancelled.
        """
        fields = {
            "level": level,
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        given = converted_inputs({"hierarchy": hierarchy})
        how = Waiting(wait_s, title="placing")
        return await AsyncPlacement._made(self._connection, self.id, given, fields, how)

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
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> npt.NDArray[np.float32]:
        """(n_points, 2) positions of the points in the plane, by row; `lay_out` gives the map.

        by : principal components, a layout that keeps neighbours together, or for trees of `ghhc`
        and `hyphc` where the method placed the points in the Poincaré disc. features : a row for
        each point; by default the fit's. metric, n_neighbors, min_dist, perplexity,
        n_components, seed : of the layouts, see `POST /v1/trees/{id}/maps`.

        UmbelWarning for what was changed or approximated. Raises InputError, WaitTimeout,
        JobCancelled.
        """
        layout = await self.lay_out(
            by,
            features=features,
            metric=metric,
            n_neighbors=n_neighbors,
            min_dist=min_dist,
            perplexity=perplexity,
            n_components=n_components,
            seed=seed,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
        )
        return await self._connection.array(f"/v1/maps/{layout.id}/positions.npy")

    async def lay_out(
        self,
        by: Literal["pca", "umap", "tsne", "disc"] = "pca",
        *,
        features: Input | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **terms: Any,
    ) -> AsyncMap:
        """As `map`, but gives the map itself, which draws its points, finds the nodes that fit an
        outline, and is shown by links. terms : `metric`, `n_neighbors` and the others of `map`.
        """
        work = new_work(name, description, tags, webhook, expires_at, retrying)
        fields = {"by": by, **terms, "inputs": {}, **work}
        given = converted_inputs({"features": features}, "inputs.")
        how = Waiting(wait_s, title="mapping")
        return await AsyncMap._made(self._connection, self.id, given, fields, how)

    async def heatmap(
        self,
        what: Literal["features", "distances"] = "features",
        *,
        cut: Mapping[str, float] | None = None,
        statistic: Literal["mean", "median"] | None = None,
        scale: Literal["standard", "none"] | None = None,
        n_columns: int | None = None,
        metric: HeatmapMetric | None = None,
        features: Input | None = None,
        feature_names: Input | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> AsyncHeatmap:
        """The clusters of the tree as the rows of a matrix, in the order of the tree.

        what : a column for each of the `features`, or the `distances` between the rows. cut : the
        rows are its clusters, `{"k": 12}`, `{"height": h}` or `{"level": n}`; without it the
        leaves. statistic, scale, n_columns : of features, the mean over the points of a cluster in
        standard deviations by default, and at most 100 columns. metric : of distances, `euclidean`
        by default; `gower` and `pairwise` as the fit measured its points. features : a row for each
        point; by default the fit's. feature_names : of their columns.

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
            "inputs": {},
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        inputs = {"features": features, "feature_names": feature_names}
        given = converted_inputs(inputs, "inputs.")
        how = Waiting(wait_s, title="drawing")
        return await AsyncHeatmap._made(self._connection, self.id, given, fields, how)

    async def name_nodes(
        self,
        by: Literal["labels", "terms", "items", "features", "model"],
        *,
        evidence: Literal["labels", "terms", "items", "features"] | None = None,
        n_clusters: int | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        **inputs: Input,
    ) -> AsyncNaming:
        """Names for the nodes of the tree, from what the rows under them have in common.

        by : `labels`, the largest class; `terms`, what siblings and other rows lack, of
        `documents` or of `features` with `feature_names`; `items`, the `names` of the rows nearest
        to the mean of the `features`; `features`, those that tell a node from its siblings;
        `model`, a language model, if the service has one, from the `evidence` of one of these.
        inputs : a value for each row; what the fit had need not be given again. n_clusters : the
        clusters of the cut into this many are named, and all nodes above.

        UmbelWarning for what could not be named. Raises InputError, WaitTimeout, JobCancelled.
        """
        fields = {
            "by": by,
            "evidence": evidence,
            "n_clusters": n_clusters,
            "inputs": {},
            **new_work(name, description, tags, webhook, expires_at, retrying),
        }
        given = converted_inputs(inputs, "inputs.")
        how = Waiting(wait_s, title="naming")
        return await AsyncNaming._made(self._connection, self.id, given, fields, how)

    async def attach(
        self,
        items: Items | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
    ) -> AsyncAttachment:
        """Attach to the tree what its points are: texts, numbers, dates, categories, images.

        items : a row for each row of the tree, or for each leaf: columns by their names, a data
        frame, a list of objects, a dataset, or a file (CSV with a header, JSON lines of objects,
        Arrow, Parquet, a zip of images). None: the rows stand for themselves, by name and, where
        the fit saw images, by image.

        UmbelWarning for what is missing. Raises InputError, WaitTimeout, JobCancelled.
        """
        given = {} if items is None else converted_inputs({"items": items})
        fields = new_work(name, description, tags, webhook, expires_at, retrying)
        how = Waiting(wait_s, title="attaching")
        return await AsyncAttachment._made(self._connection, self.id, given, fields, how)

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
        own_id = getattr(attachment, "id", attachment)
        if own_id is None:
            path = f"{self._path}/attachments"
            made = await self._connection.listed(path, {"status": "succeeded"}, limit=1)
            own_id = made[0]["id"] if made else None
        if own_id is None:
            raise InputError("items", "nothing is attached to the tree: tree.attach(items).")
        path = f"/v1/attachments/{own_id}/nodes/{node}/examples"
        body = await self._connection.described(
            path, "items", query={"by": by, "n": n, "seed": seed}
        )
        return list(body["items"])

    async def _by_role(self, rows: Input | Mapping[str, Input]) -> Mapping[str, Input]:
        """Rows by their role; those without one are of the only role of the model."""
        if isinstance(rows, Mapping):
            return rows
        role = await self._only_role(())
        return {role: rows}

    async def _only_role(self, given: Collection[str]) -> str:
        """The one role of new rows for the model beside those given. Where there is no model the
        service refuses any. Raises InputError where several are left.
        """
        if self.facts.model is None:
            return "features"
        model = await self._connection.described(f"/v1/models/{self.facts.model}", "inputs")
        left = [role for role in model["inputs"] if role not in given]
        if len(left) != 1:
            needed = ", ".join(model["inputs"])
            raise InputError("rows", f"the model needs the inputs {needed}; give each by its name.")
        return str(left[0])
