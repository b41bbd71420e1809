"""Blobs as plain files under one folder: `<root>/<key>`.

A write becomes durable in these steps: temporary file in `<root>/.tmp` (same file system), fsync of
its content, link or rename to its name, fsync of every folder that got a new entry. A name
therefore never appears on bytes that are not on disk. Two shortcuts: an empty create-only object (a
marker) has no content to sync; and files of an attempt get their names first and are then synced,
all at once, since nobody reads them before the terminal object is there. On ext4 a commit of the
journal includes all changes before it, so syncing late and together makes writes fast: two waits
for a submission and for a publication (`syncs`).

Deleting one object is not synced (an object that reappears after a power cut is deleted again by
the next cleanup); `delete_under` is synced, by moving the folder away first.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path

from workers.errors import NO_ROOM, AlreadyThere, Damaged, Missing, StoreFull, StoreUnavailable
from workers.stores.objects.blobs import Link, checked, checked_prefix
from workers.stores.objects.streams import batches
from workers.stores.objects.syncs import sync_paths, sync_together, syncing
from workers.stores.objects.temporary import TemporaryFile, TemporaryFolder

LINKED = "it is a link, which is not followed"
PIECE = 1 << 20
BATCH = 4 << 20
_REMEMBERED = 1000
"""Folders that are known to be on disk, at most: each job has two, a few are shared."""

_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)


class LocalBlobs:
    """The `Blobs` of one folder. Threads and processes may share it."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.place = self.root.as_uri()
        self._temporary = TemporaryFolder(self.root / ".tmp")
        self._synced: set[Path] = set()
        with _translated(str(root)):
            self._temporary.make()
            self._temporary.remove_leftovers()

    def put(self, key: str, data: bytes, *, create: bool = False) -> None:
        with _translated(key):
            self._put([(self._path(key), data)], create=create)

    def put_all(self, objects: Mapping[str, bytes | memoryview]) -> None:
        with _translated("several objects"):
            self._put([(self._path(key), data) for key, data in objects.items()], create=True)

    def put_file(self, key: str, path: Path) -> None:
        self.put_files({key: path})

    def put_files(self, files: Mapping[str, Path], then: tuple[str, bytes] | None = None) -> None:
        with _translated("several files"):
            targets = {self._path(key): path for key, path in files.items()}
            folders: set[Path] = set()
            for target, path in targets.items():
                path.lstat()
                self._in_folder(target, folders, partial(self._link, path))
            if then is None:
                self._sync(folders, targets)
            else:
                key, data = then
                self._put([(self._path(key), data)], create=True, before=(folders, targets))

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        target = self._path(key)
        with _translated(key):
            sink = self._temporary.create()
        writing: asyncio.Future[None] | None = None
        try:
            # One batch is written by a thread while the next is received.
            async for batch in batches(chunks, BATCH):
                if writing is not None:
                    await writing
                writing = asyncio.ensure_future(asyncio.to_thread(self._write, key, sink, batch))
            if writing is not None:
                await writing
            await asyncio.to_thread(self._complete, key, sink, target)
        finally:
            if writing is not None:
                writing.add_done_callback(lambda done: done.cancelled() or done.exception())
            sink.discard()
        return sink.length

    def get(self, key: str) -> bytes:
        with _translated(key), self._open(key) as source:
            return source.read()

    def read(self, key: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        with _translated(key):
            source = self._open(key)
            source.seek(start)

        def pieces() -> Iterator[bytes]:
            left = None if end is None else max(0, end - start)
            with source:
                while left is None or left > 0:
                    with _translated(key):
                        piece = source.read(PIECE if left is None else min(PIECE, left))
                    if not piece:
                        return
                    if left is not None:
                        left -= len(piece)
                    yield piece

        return pieces()

    def size(self, key: str) -> int | None:
        try:
            with _translated(key):
                return self._path(key).lstat().st_size
        except Missing:
            return None

    def local_path(self, key: str) -> Path:
        path = self._path(key)
        with _translated(key):
            kind = path.lstat().st_mode
            if stat.S_ISLNK(kind):
                raise Damaged(key, LINKED)
            if not stat.S_ISREG(kind):
                raise StoreUnavailable(f"{key} in the object store is no plain file")
        return path

    def link(self, key: str) -> Link | None:
        return None

    def keys(self, prefix: str) -> Iterator[str]:
        start = checked_prefix(prefix) if prefix else ""
        if prefix and self._path(start).is_file():
            yield start
            return
        # Keys, not paths, which take five times as much: a folder may have one for each job kept.
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            files = []
            try:
                with _translated(prefix), os.scandir(self.root / folder) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            # Temporary files; what file managers leave wherever they look.
                            continue
                        key = f"{folder}/{entry.name}" if folder else entry.name
                        if entry.is_file(follow_symlinks=False):
                            files.append(key)
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append(key)
            except Missing:
                continue
            yield from files

    def strays(self, prefix: str) -> Iterator[str]:
        start = self._path(checked_prefix(prefix)) if prefix else self.root
        with suppress(FileNotFoundError, NotADirectoryError):
            kind = start.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                yield start.relative_to(self.root).as_posix()
                return
        for folder, inner, names in os.walk(start):
            if Path(folder) == self.root and self._temporary.path.name in inner:
                inner.remove(self._temporary.path.name)
            for name in (*inner, *names):
                path = Path(folder, name)
                with suppress(FileNotFoundError):
                    kind = path.lstat().st_mode
                    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                        yield path.relative_to(self.root).as_posix()

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        for key in self.keys(prefix):
            size = self.size(key)
            if size is not None:
                yield key, size

    def delete(self, key: str) -> None:
        with suppress(Missing), _translated(key):
            self._path(key).unlink()

    def delete_under(self, prefix: str) -> None:
        folder = self._path(checked_prefix(prefix))
        away = self._temporary.fresh()
        with suppress(Missing), _translated(prefix):
            try:
                os.rename(folder, away)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                # Not even for a name: what is removed in place is gone or removed again.
                if folder.is_dir():
                    shutil.rmtree(folder)
                else:
                    folder.unlink()
                return
            sync_paths([folder.parent])
            if away.is_dir():
                shutil.rmtree(away, ignore_errors=True)
            else:
                away.unlink()

    def free_bytes(self) -> int | None:
        with _translated("free space"):
            return shutil.disk_usage(self.root).free

    def remove_leftovers(self) -> None:
        with _translated("leftovers"):
            self._temporary.remove_leftovers()

    def ping(self) -> None:
        with _translated("ping"):
            path = self._temporary.fresh()
            path.touch(exist_ok=False)
            path.unlink()

    def require_usable(self) -> None:
        """Nothing: a folder needs no credentials, and links refuse a name that is taken."""

    def _open(self, key: str) -> FileIO:
        """The file of an object, which no link leads to."""
        return FileIO(os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))

    def _path(self, key: str) -> Path:
        if key.partition("/")[0] == self._temporary.path.name:
            raise ValueError(f"not a key of the object store: {key!r}")
        return self.root / checked(key)

    def _put(
        self,
        objects: Sequence[tuple[Path, bytes | memoryview]],
        *,
        create: bool,
        before: tuple[Iterable[Path], Iterable[Path]] = ((), ()),
    ) -> None:
        """before : folders and files that must be durable before the objects are there."""
        sinks: dict[Path, TemporaryFile] = {}
        folders: set[Path] = set()
        try:
            for target, data in objects:
                if data or not create:
                    # Folders are made before the content is synced, so that one commit of the
                    # journal has both.
                    if target.parent not in folders:
                        self._make_folder(target.parent, folders)
                    sink = sinks[target] = self._temporary.create()
                    sink.write(data)
            self._sync(*before, contents=sinks.values())
            for target, _ in objects:
                if target in sinks:
                    self._name(sinks[target].path, target, folders, create=create)
                else:
                    self._in_folder(target, folders, _mark)
            self._sync(folders)
        finally:
            for sink in sinks.values():
                sink.discard()

    def _name(self, temporary: Path, target: Path, folders: set[Path], *, create: bool) -> None:
        """Give a synced temporary file its name; it is durable once `folders` are synced."""

        def name(to: Path) -> None:
            if not create:
                os.replace(temporary, to)
                return
            try:
                os.link(temporary, to)
            except FileExistsError as error:
                raise AlreadyThere(to.name) from error

        self._in_folder(target, folders, name)

    def _link(self, path: Path, target: Path) -> None:
        """Give a file a second name, or copy it if that is impossible.

        Replaces an existing file.
        """
        try:
            os.link(path, target, follow_symlinks=False)
            return
        except OSError as error:
            if error.errno not in (*_NO_LINK, errno.EEXIST):
                raise
        temporary = self._temporary.fresh()
        try:
            try:
                os.link(path, temporary, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_LINK:
                    raise
                shutil.copyfile(path, temporary, follow_symlinks=False)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    def _in_folder(self, target: Path, folders: set[Path], change: Callable[[Path], None]) -> None:
        """Run `change`, which creates the entry `target`; add the folders that must be synced.

        A folder that is among them was made a moment ago.
        """
        for _ in range(100):
            if target.parent not in folders:
                self._make_folder(target.parent, folders)
            with suppress(FileNotFoundError):  # A deletion removed it in between.
                change(target)
                return
            folders.discard(target.parent)
        raise StoreUnavailable(f"the folder {target.parent.name!r} keeps being removed")

    def _make_folder(self, folder: Path, folders: set[Path]) -> None:
        """Make `folder` and its parents.

        Add it, and all that are not known to be on disk, to `folders`. A folder made here does not
        count as known: another process may have removed it.
        """
        folders.add(folder)
        while folder != self.root:
            try:
                folder.mkdir(0o700)
            except FileExistsError:
                if folder in self._synced:
                    return
            except FileNotFoundError:
                self._make_folder(folder.parent, folders)
                continue
            folder = folder.parent
            folders.add(folder)

    def _sync(
        self,
        folders: Iterable[Path],
        files: Iterable[Path] = (),
        contents: Iterable[TemporaryFile] = (),
    ) -> None:
        """Make new entries of folders durable, with files that have their names already and the
        contents of others, all at once."""
        folders = [*folders]
        sync_together(
            [
                *(content.sync for content in contents),
                *(syncing(path) for path in (*files, *folders)),
            ]
        )
        if len(self._synced) > _REMEMBERED:
            self._synced.clear()
        self._synced.update(folders)

    def _write(self, key: str, sink: TemporaryFile, batch: bytes) -> None:
        with _translated(key):
            sink.write(batch)

    def _complete(self, key: str, sink: TemporaryFile, target: Path) -> None:
        with _translated(key):
            folders: set[Path] = set()
            sink.sync()
            self._name(sink.path, target, folders, create=False)
            self._sync(folders)


def _mark(target: Path) -> None:
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError as error:
        raise AlreadyThere(target.name) from error


@contextmanager
def _translated(key: str) -> Iterator[None]:
    """Errors of the file system as errors of the store."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(key) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise StoreFull("the object store's disk is full") from error
        if error.errno == errno.ELOOP:
            raise Damaged(key, LINKED) from error
        raise StoreUnavailable(f"the object store failed: {os.strerror(error.errno or 0)}") from (
            error
        )
