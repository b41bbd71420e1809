"""Aliases: names that a tenant moves from one tree to the next, with their history.

Every move is an object, numbered from 1 and create-only: of two who move an alias at once one is
refused. To remove an alias is a move to no tree, so a number is never free twice; the oldest moves
go when there are more than `MOST_MOVES`, but for those whose webhook is still to be sent
(`workers.jobs.deliveries`): a marker is written before such a move, and stays until then. Their
bytes count in the tenant's use, in which they are set to what a listing finds after each move.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from workers.artifacts.beside import Room, unlimited
from workers.errors import AlreadyThere, Missing
from workers.model import now
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, sealed
from workers.stores.redis.crossings import Crossings
from workers.stores.redis.usage import Usage

NAME = r"[a-z0-9][a-z0-9_-]{0,62}"
"""What an alias may be called; `@` stands before it where an id may stand too."""
MOST_ALIASES = 100
"""The most aliases of one tenant, removed ones among them."""
MOST_MOVES = 200
"""As many moves of an alias are kept."""

_KEPT = 4096
"""Moves that stay in memory."""


class Move(BaseModel):
    """One move of an alias.

    tree : that it names from then on; None: it was removed. by : what the key is called that moved
    it, or its id; None for keys of the settings and without keys. restores : the number of the
    earlier move whose tree this one gave back. previous : the tree that it named until then.
    webhook : the address that hears of the alias's moves, this one included.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int
    at: str
    tree: str | None
    by: str | None = None
    note: str | None = None
    restores: int | None = None
    previous: str | None = None
    webhook: str | None = None

    @property
    def owes(self) -> bool:
        """Whether a webhook hears of it: not where the tree stays and the webhook alone changes."""
        return self.webhook is not None and self.tree != self.previous


Owing = Callable[[str, str, Move], None]
"""owing(tenant, alias, move): a move that owes a webhook is stored."""


@dataclass(frozen=True)
class Alias:
    """An alias after `moves`, the oldest that is kept first; none at all: it was never there."""

    tenant: str
    name: str
    moves: Sequence[Move] = ()

    @property
    def tree(self) -> str | None:
        """The tree that it names; None where it names none."""
        return self.moves[-1].tree if self.moves else None

    @property
    def revision(self) -> int:
        """The number of the last move; 0 before the first."""
        return self.moves[-1].number if self.moves else 0

    @property
    def webhook(self) -> str | None:
        """The address that hears of its moves; one that was removed has none for the next."""
        return None if self.tree is None else self.moves[-1].webhook

    @property
    def earlier(self) -> Move | None:
        """The move that a step back gives back; None where none is kept, or the alias was removed
        since. One step back after another goes through the history, and not to and fro."""
        steps: list[Move] = []
        for move in self.moves:
            if move.tree is None:
                steps = []
            elif move.restores is None:
                if steps and steps[-1].tree == move.tree:
                    steps.pop()
                steps.append(move)
            else:
                while steps and steps[-1].number != move.restores:
                    steps.pop()
                steps = steps or [move]
        return steps[-2] if len(steps) > 1 else None


class Aliases:
    """The aliases of all tenants. Threads may share it; every call blocks."""

    def __init__(
        self,
        blobs: Blobs,
        usage: Usage | None = None,
        owing: Owing = lambda *_: None,
        crossings: Crossings | None = None,
    ) -> None:
        """usage : where their bytes count; None: nowhere. owing : called after a move that owes a
        webhook; where the process dies before, whoever sweeps finds its marker. crossings : what
        keeps `naming` and `leaving` apart; None: nothing."""
        self._blobs = blobs
        self._usage = usage
        self._owing = owing
        self._crossings = crossings
        self._lock = threading.Lock()
        self._read: OrderedDict[str, Move] = OrderedDict()

    def get(self, tenant: str, name: str) -> Alias:
        """An alias after all its moves. One listing, and a read of each move that is not in
        memory."""
        return self._alias(tenant, name, [*self._blobs.keys(layout.aliases_of(tenant, name))])

    def now(self, tenant: str, name: str) -> str | None:
        """The tree that an alias names now. One listing and at most one read."""
        keys = [*self._blobs.keys(layout.aliases_of(tenant, name))]
        move = self._move(max(keys)) if keys else None
        return None if move is None else move.tree

    def of_tenant(self, tenant: str) -> list[Alias]:
        """Those that name a tree, by name. One listing."""
        folder = layout.aliases_of(tenant)
        keys: dict[str, list[str]] = {}
        for key in self._blobs.keys(folder):
            keys.setdefault(key.removeprefix(folder).partition("/")[0], []).append(key)
        found = (self._alias(tenant, name, keys[name]) for name in sorted(keys))
        return [alias for alias in found if alias.tree is not None]

    def naming_trees(self, tenant: str) -> dict[str, str]:
        """By tree, an alias that names it. One listing, and a read of each last move that is not
        in memory."""
        folder = layout.aliases_of(tenant)
        last: dict[str, str] = {}
        for key in self._blobs.keys(folder):
            name = key.removeprefix(folder).partition("/")[0]
            last[name] = max(last.get(name, ""), key)
        moves = {name: self._move(last[name]) for name in sorted(last, reverse=True)}
        return {
            move.tree: name
            for name, move in moves.items()
            if move is not None and move.tree is not None
        }

    def count(self, tenant: str) -> int:
        """The number of a tenant's aliases, removed ones among them."""
        folder = layout.aliases_of(tenant)
        names = {key.removeprefix(folder).partition("/")[0] for key in self._blobs.keys(folder)}
        return len(names)

    def naming(self, tenant: str, tree: str) -> AbstractContextManager[bool]:
        """Held while an alias is moved to a tree, from before the look whether that is there.

        False: the tree is being removed.
        """
        return self._crossed("naming", "leaving", f"{tenant}/{tree}")

    def leaving(self, tenant: str, tree: str) -> AbstractContextManager[bool]:
        """Held while a tree is removed, from before the look for its aliases.

        False: an alias is being moved to it.
        """
        return self._crossed("leaving", "naming", f"{tenant}/{tree}")

    def _crossed(self, kind: str, other: str, subject: str) -> AbstractContextManager[bool]:
        if self._crossings is None:
            return nullcontext(True)
        return self._crossings.entered(kind, other, subject)

    def move(
        self,
        alias: Alias,
        tree: str | None,
        *,
        by: str | None = None,
        note: str | None = None,
        restores: int | None = None,
        webhook: str | None = None,
        room: Room = unlimited,
    ) -> Alias | None:
        """The alias after a move, durable on return; None where somebody else was faster.

        webhook : the address that hears of its moves from now on, "" for none; None: as before.

        Raises what `room` does.
        """
        made = Move(
            number=alias.revision + 1,
            at=now(),
            tree=tree,
            by=by,
            note=note,
            restores=restores,
            previous=alias.tree,
            webhook=alias.webhook if webhook is None else webhook or None,
        )
        own = (alias.tenant, alias.name, made.number)
        key = layout.alias_move(*own)
        content = sealed(key, made.model_dump_json().encode())
        with room(len(content)):
            if made.owes:
                self._blobs.put(layout.open_move(*own), b"")
            try:
                self._blobs.put(key, content, create=True)
            except AlreadyThere:
                return None
            if made.owes:
                self._owing(alias.tenant, alias.name, made)
            for old in alias.moves[: max(0, len(alias.moves) + 1 - MOST_MOVES)]:
                self._forget(alias, old)
            self._count(alias.tenant)
        return Alias(alias.tenant, alias.name, [*alias.moves, made][-MOST_MOVES:])

    def _forget(self, alias: Alias, old: Move) -> None:
        """Remove an old move, unless its webhook is still to be sent."""
        own = (alias.tenant, alias.name, old.number)
        if old.owes:
            if self._blobs.size(layout.open_move(*own)) is not None:
                return
            self._blobs.delete(layout.move_webhook(*own))
        self._blobs.delete(layout.alias_move(*own))

    def recount(self) -> None:
        """Count the aliases of all tenants anew."""
        for tenant in {key.split("/")[2] for key in self._blobs.keys(layout.ALIASES)}:
            self._count(tenant)

    def _count(self, tenant: str) -> None:
        """A listing, and one more after the count: whoever counts last has seen every move."""
        if self._usage is None:
            return
        size = self._size(tenant)
        while True:
            self._usage.put_aliases(tenant, size)
            counted, size = size, self._size(tenant)
            if counted == size:
                return

    def _size(self, tenant: str) -> int:
        return sum(size for _, size in self._blobs.sizes(layout.aliases_of(tenant)))

    def _alias(self, tenant: str, name: str, keys: Sequence[str]) -> Alias:
        moves = (self._move(key) for key in sorted(keys))
        return Alias(tenant, name, [move for move in moves if move is not None])

    def _move(self, key: str) -> Move | None:
        """A move; None if it has just gone."""
        with self._lock:
            move = self._read.get(key)
        if move is None:
            try:
                move = read_model(self._blobs, key, Move)
            except Missing:
                return None
            with self._lock:
                self._read[key] = move
                while len(self._read) > _KEPT:
                    self._read.popitem(last=False)
        return move


def is_alias(name: str) -> bool:
    """Whether something may be called so."""
    return re.fullmatch(NAME, name) is not None
