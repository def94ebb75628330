"""A disk that forgets: system calls of a program, as strace records them, replayed on files that have to be synced.

A file has the content that was written and the one that was last synced, a folder likewise its names. A power cut
keeps of each folder the names as they were at its last sync or at any moment since (file systems keep these in
order), and of each file what was synced, or as much more as they like.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "open openat creat close dup dup2 dup3 fcntl lseek write pwrite64 writev ftruncate truncate fallocate rename "
    "renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir mkdir mkdirat fsync fdatasync "
    "copy_file_range sendfile chdir"
)


@dataclass(eq=False)
class File:
    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""

    def sync(self) -> None:
        self.synced = bytes(self.data)

    def left(self, draw: random.Random | None, share: float) -> bytes:
        if bytes(self.data) == self.synced:
            return self.synced
        share = share if draw is None else draw.choice((0, 0.5, 1))
        return bytes(self.data[: int(share * len(self.data))]) if share else self.synced


@dataclass(eq=False)
class Folder:
    names: dict[str, File | Folder] = field(default_factory=dict)
    since: list[dict[str, File | Folder]] = field(default_factory=lambda: [{}])  # the last sync, first of all

    def sync(self) -> None:
        self.since = [dict(self.names)]

    def changed(self) -> None:
        self.since.append(dict(self.names))

    def left(self, draw: random.Random | None, names: int) -> dict[str, File | Folder]:
        return draw.choice(self.since) if draw else self.since[names]


@dataclass
class Opened:
    node: File | Folder
    at: int = 0
    append: bool = False


class Disk:
    """What the replay has come to."""

    def __init__(self, root: Path, before: Path) -> None:
        self.root, self.top = root, Folder()
        for path in sorted(before.rglob("*")):  # what was there in the beginning is safe
            node = Folder() if path.is_dir() else File(bytearray(path.read_bytes()))
            self.find(str(root / path.relative_to(before).parent)).names[path.name] = node  # type: ignore[union-attr]
        for _, node in self._walk(self.top, ""):
            node.sync()
        self.top.sync()
        self.opened: dict[int, Opened] = {}
        self.said: list[str] = []  # whole lines of the standard output
        self._text = ""

    def _walk(self, folder: Folder, path: str) -> Iterator[tuple[str, File | Folder]]:
        for name, node in folder.names.items():
            yield f"{path}{name}", node
            if isinstance(node, Folder):
                yield from self._walk(node, f"{path}{name}/")

    # Paths

    def find(self, path: str, base: Folder | None = None) -> File | Folder | None:
        parts = self._parts(path, base)
        if parts is None:
            return None
        node: File | Folder | None = parts[0]
        for name in parts[1]:
            node = node.names.get(name) if isinstance(node, Folder) else None
        return node

    def _parts(self, path: str, base: Folder | None) -> tuple[Folder, list[str]] | None:
        root = str(self.root)
        if path.startswith("/"):
            if path != root and not path.startswith(root + "/"):
                return None
            base, path = self.top, path[len(root) :]
        if base is None:
            return None
        return base, [name for name in path.split("/") if name not in ("", ".")]

    def _place(self, path: str, base: Folder | None) -> tuple[Folder, str] | None:
        """The folder and the name in it."""
        parts = self._parts(path, base)
        if parts is None or not parts[1]:
            return None
        folder = parts[0]
        for name in parts[1][:-1]:
            folder = folder.names[name]  # type: ignore[assignment]
        return folder, parts[1][-1]

    def _base(self, handle: str) -> Folder | None:
        if handle == "AT_FDCWD":
            return self.top  # programs run in the root
        opened = self.opened.get(int(handle))
        return opened.node if opened and isinstance(opened.node, Folder) else None

    # Calls

    def do(self, call: str, arguments: list[str], result: int) -> bool:
        """Follow a call that succeeded; says whether it changed anything under the root."""
        texts = [_text(argument) if argument.startswith('"') else argument for argument in arguments]
        if call in ("open", "creat", "unlink", "rmdir", "mkdir"):
            texts = ["AT_FDCWD", *texts, *(["O_CREAT|O_TRUNC"] if call == "creat" else [])]
        elif call in ("rename", "link"):
            texts = ["AT_FDCWD", texts[0], "AT_FDCWD", texts[1]]
        handler: Callable[..., bool] | None = {
            "open": self._open,
            "creat": self._open,
            "openat": self._open,
            "rename": self._rename,
            "renameat": self._rename,
            "renameat2": self._rename,
            "link": self._link,
            "linkat": self._link,
            "unlink": self._unlink,
            "unlinkat": self._unlink,
            "rmdir": self._unlink,
            "mkdir": self._mkdir,
            "mkdirat": self._mkdir,
        }.get(call)
        if handler is not None:
            return handler(result, *texts)
        if call == "truncate" and self.find(texts[0]) is not None:
            raise NotImplementedError(call)
        if call.startswith("symlink") or call in ("truncate", "chdir"):
            return False
        return self._on_handle(call, result, arguments)

    def _open(self, result: int, handle: str, path: str, flags: str, *_: str) -> bool:
        self.opened.pop(result, None)
        place = self._place(path, self._base(handle))
        node = self.find(path, self._base(handle))
        made = False
        if node is None and place is not None and "O_CREAT" in flags:
            node = place[0].names[place[1]] = File()
            place[0].changed()
            made = True
        if node is None:
            return False
        if isinstance(node, File) and "O_TRUNC" in flags:
            node.data, made = bytearray(), True
        self.opened[result] = Opened(node, append="O_APPEND" in flags)
        return made

    def _rename(self, _: int, base: str, old: str, to: str, new: str, flags: str = "") -> bool:
        a, b = self._place(old, self._base(base)), self._place(new, self._base(to))
        if a is None or b is None:
            return False
        moved, there = a[0].names.pop(a[1]), b[0].names.get(b[1])
        b[0].names[b[1]] = moved
        if "EXCHANGE" in flags and there is not None:
            a[0].names[a[1]] = there
        for folder in {id(f): f for f in (a[0], b[0])}.values():
            folder.changed()
        return True

    def _link(self, _: int, base: str, old: str, to: str, new: str, *__: str) -> bool:
        a, b = self.find(old, self._base(base)), self._place(new, self._base(to))
        if a is None or b is None:
            return False
        b[0].names[b[1]] = a
        b[0].changed()
        return True

    def _unlink(self, _: int, base: str, path: str, *__: str) -> bool:
        place = self._place(path, self._base(base))
        if place is None:
            return False
        del place[0].names[place[1]]
        place[0].changed()
        return True

    def _mkdir(self, _: int, base: str, path: str, *__: str) -> bool:
        place = self._place(path, self._base(base))
        if place is None:
            return False
        place[0].names[place[1]] = Folder()
        place[0].changed()
        return True

    def _on_handle(self, call: str, result: int, arguments: list[str]) -> bool:
        handle = int(arguments[0])
        if call == "write" and handle == 1:
            self._text += _text(arguments[1])
            self.said = self._text.splitlines() if self._text.endswith("\n") else self.said
            return False
        opened = self.opened.get(handle)
        if opened is None:
            return False
        node = opened.node
        if call == "close":
            del self.opened[handle]
        elif call in ("dup", "dup2", "dup3") or (call == "fcntl" and "F_DUPFD" in arguments[1]):
            self.opened[result] = opened
        elif call in ("fsync", "fdatasync"):
            node.sync()
            return True
        elif call == "lseek":
            opened.at = result
        elif call in ("write", "pwrite64", "writev"):
            assert isinstance(node, File)
            data = b"".join(_bytes(s) for s in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', ", ".join(arguments)))[
                :result
            ]
            at = int(arguments[3]) if call == "pwrite64" else len(node.data) if opened.append else opened.at
            node.data.extend(bytes(max(0, at - len(node.data))))
            node.data[at : at + len(data)] = data
            if call != "pwrite64":
                opened.at = at + len(data)
            return True
        elif call == "ftruncate":
            assert isinstance(node, File)
            size = int(arguments[1])
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
            return True
        elif call in ("fallocate", "copy_file_range", "sendfile"):
            raise NotImplementedError(call)
        return False

    # What is left after a power cut

    def left(
        self, *, names: int = 0, share: float = 0, draw: random.Random | None = None
    ) -> dict[str, bytes | None]:
        """Files and folders (None) by their paths.

        names : 0 for names as they were synced last, -1 for those of now
        share : of what was written to a file since it was synced
        draw : both by lot
        """
        found: dict[str, bytes | None] = {}

        def visit(folder: Folder, path: str) -> None:
            for name, node in folder.left(draw, names).items():
                if isinstance(node, Folder):
                    found[f"{path}{name}"] = None
                    visit(node, f"{path}{name}/")
                else:
                    found[f"{path}{name}"] = node.left(draw, share)

        visit(self.top, "")
        return found


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.strip('"').replace("\\x", ""))


def _text(escaped: str) -> str:
    return os.fsdecode(_bytes(escaped))


def write(content: dict[str, bytes | None], folder: Path) -> None:
    """Put what is left of a disk into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, data in content.items():
        if data is None:
            (folder / path).mkdir(exist_ok=True)
        else:
            (folder / path).write_bytes(data)


@dataclass
class Recording:
    """A program that ran in a folder, call by call."""

    root: Path
    before: Path
    trace: Path

    @classmethod
    def of(cls, script: str, root: Path, environment: dict[str, str]) -> Recording:
        before, trace = root.with_name("before"), root.with_name("trace")
        shutil.copytree(root, before)
        command = ["strace", "-f", "--seccomp-bpf", "-xx", "-s", str(1 << 28), "-o", str(trace)]
        command += ["-e", "trace=" + CALLS.replace(" ", ","), sys.executable, "-c", script]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return cls(root, before, trace)

    def replay(self) -> Iterator[tuple[str, Disk]]:
        """The disk before each call that changes names or syncs, with that call; "said" after a line was printed."""
        disk, waiting = Disk(self.root, self.before), {}
        with open(self.trace, encoding="ascii") as lines:
            for line in lines:
                pid, _, text = line.strip().partition(" ")
                text = text.strip()
                if text.endswith("<unfinished ...>"):
                    waiting[pid] = text = text.removesuffix("<unfinished ...>").rstrip()
                    if not text.startswith("close("):
                        continue
                    text += (
                        ") = 0"  # at once: another thread may be given the same number before we hear of it
                    )
                elif text.startswith("<... close"):
                    continue
                if text.startswith("<..."):
                    text = waiting.pop(pid) + text.split("resumed>", 1)[1]
                found = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", text)
                if found is None or int(found[3]) < 0:
                    continue
                call, arguments, result = found[1], found[2].split(", "), int(found[3])
                if call in (
                    "fsync",
                    "fdatasync",
                    "rename",
                    "renameat",
                    "renameat2",
                    "link",
                    "linkat",
                    "unlink",
                ):
                    yield call, disk
                before = len(disk.said)
                disk.do(call, arguments, result)
                if len(disk.said) > before:
                    yield "said", disk
        yield "end", disk
