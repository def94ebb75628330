"""Random data files, options and output paths, seeded: every command does its work, or says in one line why not.

    python tests/fuzz/run.py --cases 20000 --seed 0

A case is one command line, run in this process in a folder that holds a small model (written by exaudit 0.1), its
data files and some things that are no place to write to. It ends with status 0, 1 or 2; an error is one short line;
nothing is shown of Python or of a library's warnings; a verb that only reads changes nothing; one that fails leaves
no file behind; and what a verb has written into the model passes `exaudit verify`. Damage to model folders is the
business of `damage.py`.

The cases run in another process, so that even its death is one of the outcomes. A defect leaves its folder and its
command in `fuzz-SEED-CASE/`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

from commands import READING, Command, draw, furnish, verbs
from damage import told
from quick import commands_built_once, progress, temporary_folder

MODEL = Path(__file__).parents[1] / "model" / "written_by_0_1" / "frozen"
SLOWEST = 60  # seconds that a case may take
HIDDEN = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)  # as Python hides them
Snapshot = dict[str, str]  # what there is under every name of a folder
SPECIAL = {
    str(stat.S_IFIFO),
    str(stat.S_IFCHR),
    "target",
    "loop",
    "empty/new",
    "pipe",
}  # the last four are links


class TooSlowError(BaseException):
    """A case goes on and on. No `except Exception` of the code under test may hold it."""


@dataclass(frozen=True)
class Outcome:
    """What one command led to: `done`, an `error` in one line, wrong `usage`, or a defect."""

    case: int
    verb: str
    kind: str
    arguments: list[str]
    told: str = ""

    @property
    def good(self) -> bool:
        return self.kind in ("done", "error", "usage")


class Place:
    """A folder with a model and things that stand in the way, renewed where a command has changed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = verbs()
        self.renew()

    def renew(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        shutil.copytree(MODEL, self.folder / "model")
        furnish(self.folder)
        self.clean = snapshot(self.folder)

    def tidy(self) -> None:
        """Take away the data files of a case; more is done only where more has changed."""
        for each in self.folder.glob("data*"):
            each.unlink()
        if snapshot(self.folder) != self.clean:
            self.renew()

    def run(self, case: int, seed: int) -> Outcome:
        rng = random.Random(f"{seed} {case}")
        command = draw(rng, self.known, self.folder)
        before = snapshot(self.folder)
        status, out, err, shown = call(command, self.folder)
        after = snapshot(self.folder)
        kind = judge(status, out, err, shown) or compared(command, status, before, after)
        if kind is None and _model(before) != _model(
            after
        ):  # an edit that fails may bring a set of 0.1 up to date
            unsound, _, why, _ = call(Command("verify", ["verify", "model"], b"", None), self.folder)
            kind, err = ("unsound", why) if unsound else (None, err)
        kind = kind or ("done", "error", "usage")[status]
        return Outcome(case, command.verb, kind, command.arguments, (shown + err)[-1500:])


def snapshot(folder: Path) -> Snapshot:
    found: Snapshot = {}

    def look(under: str, names: str) -> None:
        for entry in os.scandir(under):
            about = entry.stat(follow_symlinks=False)
            what = str(stat.S_IFMT(about.st_mode))
            if entry.is_symlink():
                what = os.readlink(entry.path)
            elif entry.is_dir():
                what = "folder"
                look(entry.path, f"{names}{entry.name}/")
            elif stat.S_ISREG(about.st_mode):
                what = content(entry.path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
            found[names + entry.name] = what

    look(str(folder), "")
    return found


@lru_cache(10_000)
def content(path: str, *_: int) -> str:
    """What is in a file, read again only where its size or its times have changed."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def call(command: Command, folder: Path) -> tuple[int, str, str, str]:
    """Status, standard output, standard error, and what must not be shown at all (a traceback, a warning)."""
    from exaudit.cli import run

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", e) for e in ("surrogateescape", "backslashreplace"))
    kept, sys.stdin = sys.stdin, io.TextIOWrapper(io.BufferedReader(io.BytesIO(command.stdin)))
    status, shown = -1, ""
    try:
        with (
            tempfile.TemporaryFile(buffering=0) as native,
            inside(folder),
            limited(),
            warnings.catch_warnings(record=True) as caught,
            told(native),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            warnings.simplefilter("default")
            for each in HIDDEN:
                warnings.simplefilter("ignore", each)
            try:
                status = run(list(command.arguments))
            except TooSlowError:
                shown = f"slow: more than {SLOWEST} s\n"
            except BaseException as error:  # whatever comes out of it is a defect
                shown = f"raised: {type(error).__name__}: {error}\n"
            native.seek(0)
            shown += "".join(f"warning: {each.category.__name__}: {each.message}\n" for each in caught)
            more = native.read().decode(errors="replace")
    finally:
        sys.stdin = kept
    out.flush(), err.flush()
    texts = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return status, texts[0], texts[1] + more, shown


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In this folder, with a reader for its pipes, so that writers do not wait for one."""
    here = Path.cwd()
    os.chdir(folder)
    pipes = [os.open(each, os.O_RDONLY | os.O_NONBLOCK) for each in ("pipe", "device")]
    try:
        yield
    finally:
        for each in pipes:
            os.close(each)
        os.chdir(here)


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlowError

    kept = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SLOWEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, kept)


def judge(status: int, out: str, err: str, shown: str) -> str | None:
    """What is wrong with how a command ended; None: nothing."""
    from exaudit.cli import LONGEST

    lines = [line for line in err.splitlines() if line.startswith("exaudit: ")]
    if shown:
        return shown.partition(":")[0]
    if "Traceback (most" in err or "panicked at" in err:
        return "traceback"
    if any("unexpected " in line and "--debug" in line for line in lines):
        return "unexpected"
    if status not in (0, 1, 2):
        return "status"
    if len(lines) > (status > 0) or (status > 0 and not lines and not out):
        return "unclear"  # an error is one line; a check that finds faults tells them in its answer
    return "long" if any(len(line) > LONGEST + 20 for line in lines) else None


def compared(command: Command, status: int, before: Snapshot, after: Snapshot) -> str | None:
    """What is wrong with what a command has left in its folder."""
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    if any(name.endswith(".tmp") for name in changed):
        return "leftover"
    if any(before.get(name, "") in SPECIAL for name in changed):
        return "replaced"  # a link, pipe or device is written through
    written = {command.out, f"{command.out}.partial"} if command.out else set()
    elsewhere = {name for name in changed if not written & {name, *map(str, Path(name).parents)}}
    if command.verb in READING and _model(before) != _model(after):
        return "changed"
    if command.verb in READING and status == 0 and elsewhere - {"target", "empty/new"}:
        return "changed"
    if status != 0 and any(not name.startswith("model/") and ".partial" not in name for name in changed):
        return "half"
    return None


def _model(found: Snapshot) -> Snapshot:
    return {name: what for name, what in found.items() if name.startswith("model/")}


def work(folder: Path, cases: range, seed: int) -> Iterator[Outcome]:
    """The outcomes one by one; the folder of a defect is kept under its number."""
    place = Place(folder)
    for case in cases:
        yield Outcome(case, "", "death", [])
        outcome = place.run(case, seed)
        yield outcome
        if not outcome.good:
            kept = Path(f"fuzz-{seed}-{case}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True, ignore=lambda *_: ["pipe", "device"])
            line = shlex.join(["exaudit", *outcome.arguments]).encode(errors="surrogateescape")
            (kept / "command").write_bytes(line + b"\n")
            place.renew()
        place.tidy()


def survey(cases: int, seed: int, first: int) -> list[Outcome]:
    """The outcomes of so many cases, from a process that is started anew where it died."""
    found: dict[int, Outcome] = {}
    start, stop = first, first + cases
    while start < stop:
        command = [sys.executable, __file__, "--work", "--seed", str(seed), "--first", str(start), "--cases"]
        with subprocess.Popen([*command, str(stop - start)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                outcome = Outcome(**json.loads(line))
                found[outcome.case] = outcome
                if outcome.kind != "death":
                    progress(len(found), line, good=outcome.good)
        if start == (start := max(found, default=start - 1) + 1):
            raise RuntimeError("the process that runs the cases does not start")
    return [found[case] for case in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        results = os.fdopen(os.dup(1), "w")
        with temporary_folder("exaudit-fuzz-") as folder, commands_built_once():
            for outcome in work(
                Path(folder, "place"), range(options.first, options.first + options.cases), options.seed
            ):
                print(json.dumps(asdict(outcome)), file=results, flush=True)
        return
    outcomes = survey(options.cases, options.seed, options.first)
    bad = [outcome for outcome in outcomes if not outcome.good]
    for outcome in bad:
        if outcome.kind == "death":  # others were shown as they came
            print(json.dumps(asdict(outcome)))
    print("outcomes", dict(sorted(Counter(outcome.kind for outcome in outcomes).items())))
    print("verbs", dict(sorted(Counter(outcome.verb for outcome in outcomes).items())))
    print(
        f"{len(outcomes)} cases: {len(bad)} defects"
        + (f", in {', '.join(sorted({o.verb for o in bad}))}" if bad else "")
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
