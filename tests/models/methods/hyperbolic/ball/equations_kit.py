"""The paper's equations, in loops over single numbers."""

from __future__ import annotations

import math

import numpy as np

from models.methods.hyperbolic.ball.parameters import BallObjective


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """Eq. 1."""
    apart = float(((x - y) ** 2).sum())
    inside = (1 - float((x**2).sum())) * (1 - float((y**2).sum()))
    return math.acosh(1 + 2 * apart / inside)


def norm(x: np.ndarray) -> float:
    """Eq. 2."""
    return 2 * math.atanh(math.sqrt(float((x**2).sum())))


def dissimilarity(child: np.ndarray, parent: np.ndarray, margin: float = 0.0) -> float:
    """Eq. 3 and 16."""
    return distance(child, parent) * (1 + max(norm(parent) - norm(child) + margin, 0))


def softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    return [weight / sum(weights) for weight in weights]


def of_score(y: float, form: str) -> float:
    """s(y) - s(0)."""
    if form == "sigmoid":
        return 1 / (1 + math.exp(-y)) - 0.5
    return math.log1p(math.exp(y)) - math.log(2)


def ranking(triples: np.ndarray, nodes: np.ndarray, objective: BallObjective) -> float:
    """Eq. 12 to 15 without noise, the mean over triples (3, B, D)."""
    total = 0.0
    for i, j, k in zip(*triples, strict=True):
        to_i, to_j, to_k = (
            [dissimilarity(one, node, objective.margin) for node in nodes] for one in (i, j, k)
        )
        pair = [max(a, b) for a, b in zip(to_i, to_j, strict=True)]
        three = [max(a, b) for a, b in zip(pair, to_k, strict=True)]
        of_pair = softmax([-one / objective.temperature for one in pair])
        best = int(np.argmax(of_pair))
        left = [
            -math.inf if node == best else -one / objective.temperature
            for node, one in enumerate(three)
        ]
        of_three = softmax(left)
        for node in range(len(nodes)):
            more = of_pair[node] - of_three[node]
            total += of_score(to_i[node] * more, objective.form)
            total += of_score(to_j[node] * more, objective.form)
            total += of_score(to_k[node] * -more, objective.form)
    return total / triples.shape[1]


def parent(child: int, nodes: np.ndarray) -> int:
    """Eq. 4 among nodes: the nearest node that precedes by (norm, number); -1 for the root."""
    place = [(float((node**2).sum()), number) for number, node in enumerate(nodes)]
    before = [number for number in range(len(nodes)) if place[number] < place[child]]
    return min(before, key=lambda p: dissimilarity(nodes[child], nodes[p]), default=-1)


def cost(
    parents: list[int], chosen: list[int], pairs: list[tuple[int, int]], n_counted: int
) -> float:
    """The mean share of the first `n_counted` points under the common ancestor of each pair of
    points; points that chose one node have a node of their own below it."""
    # Nodes are ("n", number), points' own nodes ("p", number).
    above = {("n", child): ("n", over) for child, over in enumerate(parents) if over >= 0}
    above |= {("p", node): ("n", node) for node in set(chosen)}

    def path(point: int) -> list[tuple[str, int]]:
        up = [("p", chosen[point])]
        while up[-1] in above:
            up.append(above[up[-1]])
        return up

    total = 0.0
    for first, second in pairs:
        shared = next(node for node in path(first) if node in path(second))
        total += sum(shared in path(point) for point in range(n_counted)) / n_counted
    return total / len(pairs)
