"""Damage to the files of a model folder, random and seeded: an answer stays the same or becomes one clear error line.

    python tests/fuzz/damage.py --cases 10000

Two folders are damaged in turn: one made now, and one of exaudit 0.1, whose JSON files carry no checksums and are left
alone. A case changes one file (flips a bit, zeroes a block, exchanges two blocks, cuts it short, deletes it, changes a
digit), asks for the same answers as before by the command line, and puts the file back. The cases run in another
process, so that even its death is one of the outcomes.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from quick import commands_built_once, progress, temporary_folder

OLD = Path(__file__).parents[1] / "model" / "written_by_0_1" / "frozen"
TEXT = "What a great and lovely film , but the sound was awful ."
WORST = 120  # seconds that a case may take before it counts as a death
GOOD = ("same", "error")


@dataclass(frozen=True)
class Outcome:
    """What one damage led to: `same` answers, an `error` in one clear line, or something that must not be."""

    case: int
    folder: str
    damage: str
    file: str
    kind: str  # same, error, wrong, unclear, long, traceback, panic or death
    told: str = ""


# The damages: the content of a file before and after (None: it is gone)


def flip(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def zero(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    stop = min(len(data), start + rng.choice((16, 64, 512, 4096)))
    data[start:stop] = bytes(stop - start)


def exchange(rng: random.Random, data: bytearray) -> None:
    size = min(rng.choice((4, 32, 256)), len(data) // 2)
    one, two = (
        sorted(rng.sample(range(len(data) // max(size, 1)), 2)) if len(data) >= 2 * size > 0 else (0, 0)
    )
    first, second = (slice(n * size, (n + 1) * size) for n in (one, two))
    data[first], data[second] = data[second], data[first]


def cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def digit(rng: random.Random, data: bytearray) -> None:
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        data[rng.choice(places)] = rng.randrange(48, 58)


DAMAGES: dict[str, Callable[[random.Random, bytearray], None] | None] = {
    "flip": flip, "zero": zero, "exchange": exchange, "cut": cut, "digit": digit, "delete": None,
}  # fmt: skip


@contextmanager
def damaged(rng: random.Random, files: list[Path]) -> Iterator[tuple[str, Path]]:
    """One file with one damage, for as long as the block lasts. Large files come more often, small ones too."""
    sizes = [path.stat().st_size for path in files]
    (file,) = rng.choices(files, weights=sizes) if rng.random() < 0.5 else [rng.choice(files)]
    name = rng.choices(list(DAMAGES), weights=(6, 2, 2, 2, 2, 1))[0]
    kept, times = file.read_bytes(), file.stat()
    change = DAMAGES[name]
    data = bytearray(kept)
    if change is None:
        file.unlink()
    elif data:
        change(rng, data)
        file.write_bytes(data)
    try:
        yield name, file
    finally:
        file.write_bytes(kept)
        os.utime(
            file, ns=(times.st_atime_ns, times.st_mtime_ns)
        )  # what is new and of no use may be tidied up


# The folders and the questions


def fresh(folder: Path) -> None:
    """A small model with a support set that was edited, a K-NN and admission limits."""
    from exaudit.audit import Auditor
    from exaudit.data.sample import sample_splits
    from exaudit.model.labeler import Labeler

    splits = sample_splits("reviews", sizes={"train": 60, "dev": 24, "test": 1})
    small = {"encoder": "none", "filters": 8, "vocabulary": 100, "word_dimension": 8, "device": "cpu"}
    Labeler(**small, epochs=3, learning_rate=5.0).fit(splits["train"], dev=splits["dev"]).save(folder)
    auditor = Auditor.open(folder, device="cpu")
    auditor.build(splits["train"][:30])
    first = auditor.support.ids[0]
    other = {"negative": "positive", "positive": "negative"}[str(auditor.support.document(first).label)]
    auditor.relabel(first, other, reason="a slip")
    auditor.relabel_token(auditor.support.ids[1], 0, 1)
    auditor.add(splits["train"][30:36])
    auditor.remove(auditor.support.ids[2])
    auditor.fit_knn(splits["dev"], k=3, epochs=2)
    auditor.fit_admission(splits["dev"])


def questions(folder: Path, documents: Path) -> list[list[str]]:
    where = str(folder)
    return [
        ["label", where, str(documents), "--admit", "--device", "cpu"],
        ["audit", where, TEXT, "--token", "3", "--json", "--device", "cpu"],
        ["support", "log", where, "--json"],
    ]


@contextmanager
def told(file: io.FileIO) -> Iterator[None]:
    """All that is written to standard error, also by libraries that are not Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def ask(arguments: list[str]) -> tuple[int, str, str]:
    """Status, standard output and standard error of a verb in this process."""
    from exaudit.cli import run

    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryFile(buffering=0) as native:
        with told(native), redirect_stdout(out), redirect_stderr(err):
            status = run(arguments)
        native.seek(0)
        return status, out.getvalue(), err.getvalue() + native.read().decode(errors="replace")


def judge(status: int, out: str, err: str, expected: str) -> str:
    from exaudit.cli import LONGEST

    lines = [line for line in err.splitlines() if line.startswith("exaudit: ")]
    if "panicked" in err:
        return "panic"
    if "Traceback" in err:
        return "traceback"
    if status == 0:
        return "same" if out == expected else "wrong"
    if len(lines) != 1 or "--debug" in lines[0]:
        return "unclear"
    return "error" if len(lines[0]) <= LONGEST + 20 else "long"


def _files(folder: Path) -> list[Path]:
    """In the order in which they were written: the names that Lance gives are not the same in every run."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return sorted(files, key=lambda path: (path.parent, path.stat().st_mtime_ns, path.name))


def work(place: Path, cases: range, seed: int) -> None:
    """Go through the cases; one line of JSON for each."""
    import warnings

    from exaudit.errors import ModelWarning

    warnings.simplefilter("ignore", ModelWarning)  # settings of 0.1 that are gone
    stacks = os.fdopen(os.dup(2), "w")  # where a case that does not end is told to be; others may take over 2
    folders = {"fresh": place / "fresh", "0.1": place / "old"}
    documents = place / "documents.jsonl"
    asked = {name: questions(folder, documents) for name, folder in folders.items()}
    expected = {name: [ask(each) for each in asked[name]] for name in folders}
    files = {"fresh": _files(folders["fresh"]), "0.1": _files(folders["0.1"] / "support")}
    assert all(status == 0 for found in expected.values() for status, _, _ in found), expected
    for case in cases:
        rng = random.Random(f"{seed} {case}")
        name = rng.choice(["fresh", "fresh", "0.1"])
        verbs = 2 if name == "0.1" else 3  # the log of 0.1 has no hashes
        with damaged(rng, files[name]) as (damage, file):
            about = case, name, damage, str(file.relative_to(place))
            print(json.dumps(asdict(Outcome(*about, "death"))), flush=True)
            faulthandler.dump_traceback_later(WORST, exit=True, file=stacks)
            for arguments, (_, out, _) in list(zip(asked[name], expected[name], strict=True))[:verbs]:
                status, found, err = ask(arguments)
                kind = judge(status, found, err, out)
                if kind != "same":
                    break
        print(json.dumps(asdict(Outcome(*about, kind, err[-2000:] if kind != "same" else ""))), flush=True)


def survey(cases: int, seed: int = 0, *, first: int = 0) -> list[Outcome]:
    """The outcomes of so many cases, from a process that is started anew where it died."""
    with temporary_folder("exaudit-damage-") as temporary:
        place, kept = Path(temporary, "damaged"), Path(temporary, "kept")
        place.mkdir()
        fresh(place / "fresh")
        shutil.copytree(OLD, place / "old")
        lines = [{"id": "a", "text": TEXT}, {"id": "b", "text": "Nothing works and the staff was rude ."}]
        (place / "documents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        shutil.copytree(place, kept)
        found: dict[int, Outcome] = {}
        start, stop = first, first + cases
        while start < stop:
            command = [sys.executable, __file__, "--work", str(place), str(start), str(stop), str(seed)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    outcome = Outcome(**json.loads(line))
                    found[outcome.case] = outcome
                    if outcome.kind != "death":
                        progress(len(found), line, good=outcome.kind in GOOD)
            if process.returncode == 0:
                break
            shutil.rmtree(place)  # it died before it had put the file back
            shutil.copytree(kept, place)
            if start == (start := max(found, default=start - 1) + 1):
                raise RuntimeError("the process that damages files does not start")
            ended = f"the process ended with status {process.returncode}"
            found[start - 1] = replace(found[start - 1], told=ended)
    return [found[case] for case in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        place, first, last, seed = options.work
        with commands_built_once():
            work(Path(place), range(int(first), int(last)), int(seed))
        return
    outcomes = survey(options.cases, options.seed, first=options.first)
    bad = [outcome for outcome in outcomes if outcome.kind not in GOOD]
    for outcome in bad:
        if outcome.kind == "death":  # others were shown as they came
            print(json.dumps(asdict(outcome)))
    for what in ("kind", "damage"):
        print(what, dict(sorted(Counter(getattr(outcome, what) for outcome in outcomes).items())))
    print(
        f"{len(outcomes)} damages: {len(bad)} of them led to something other than the same answer or one error line"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
