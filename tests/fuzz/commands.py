"""Command lines, drawn at random from the verbs and options that the command line really has."""

from __future__ import annotations

import json
import os
import random
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_files import write_data

__all__ = ["READING", "Command", "draw", "verbs"]

READING = {
    "label", "evaluate", "audit", "features", "suggest", "diff", "compare", "reliability", "report", "verify",
    "support log",
    "support diff", "support show", "support verify", "knn show", "admission show", "data check", "cache show",
    "reproduce list", "data fetch",
}  # fmt: skip
SELDOM = ("demo", "data sample", "data fetch", "cache", "reproduce", "benchmark")  # few ways to fail
FILES = {
    "file", "a", "b", "targets", "dev", "preview", "reference", "test", "test_pairs", "token_labels", "word_vectors",
}  # fmt: skip
IDS = ("reviews-0-3", "reviews-0-0", "d0", "nobody")
# What an option may well be; those that are not here are given something odd.
GOOD: dict[str, tuple[str, ...]] = {
    "format": ("jsonl", "csv", "tsv", "conll", "lines", "text", "parquet", "arrow", "excel", "dataset"),
    "text_column": ("text", "label"), "label_column": ("label", "labels"), "id_column": ("id", "", "text"),
    "columns": ("id,label,text", "text", "text,text"), "label_separator": ("|", ","), "encoding": ("utf-8", "cp1252"),
    "device": ("cpu", "auto"), "rule": ("exag", "exat", "knn"), "by": ("total", "mean", "documents", "tokens", "zero"),
    "as_": ("csv", "json", "md", "html", "text"), "ngrams": ("1", "1-3"), "top": ("1", "5"), "minimum": ("1", "2"),
    "class_": ("positive", "negative", "both"), "about": ("positive", "negative"), "token": ("0", "1"), "k": ("1", "3"),
    "id": IDS, "ids": IDS, "label": ("positive", "negative", "1"), "name": ("first", "second"), "version": ("1", "2"),
    "before": ("1", "2", "first"), "after": ("1", "2"), "kind": ("distance", "exag", "knn", "output"),
    "dtype": ("float32", "float16"), "epochs": ("1", "2"), "seed": ("0", "1"), "filters": ("2", "4"),
    "widths": ("1", "1-3"), "pool": ("max", "none"), "dropout": ("0", "0.5"), "vocabulary": ("0", "20"),
    "word_dimension": ("2",), "batch_size": ("1", "3", "1000"), "learning_rate": ("0.1", "5"),
    "loss": ("document", "token"), "recipe": ("paper",), "select": ("document-f1", "last"),
    "boundary": ("documents", "zero"), "beta": ("0.5", "1"),
    "risk": ("0.05", "0.4"), "confidence": ("0.9",), "promise": ("recall",), "admit_rule": ("mean", "promise"),
    "documents": ("1", "3"), "quantile": ("0.5", "0.95"), "count": ("3",), "exemplars": ("1", "5"), "show": ("1", "3"),
    "rate": ("0.01", "0.2"),
    "positive": ("positive", "negative", "1"), "tokens": ("words", "whitespace"), "support": ("model/support",),
    "exemplar_labels": ("model", "documents"), "author": ("me",), "reason": ("a slip",), "id_prefix": ("p-",),
    "max_length": ("8",), "layers": ("1",), "init": ("model",), "source": ("text",), "pair_column": ("id", "pair"),
    "names": ("one", "two"), "out": ("out.jsonl",), "encoder": ("none",), "steps": ("*",), "seeds": ("0", "0,1"),
}  # fmt: skip
# Options that can well stand alone, with what they may then be; half of the commands have no others.
PLAIN: dict[str, tuple[str, ...]] = {
    "text_column": ("text",), "label_column": ("label",), "id_column": ("id",), "device": ("cpu", "auto"),
    "ngrams": ("1", "1-3"), "top": ("1", "5"), "minimum": ("1", "2"),
    "class_": ("both",), "k": ("1", "3"), "rule": ("exag", "exat", "knn"), "knn": (), "stream": (), "admit": (),
    "as_json": (), "ci": (), "epochs": ("1", "2"), "seed": ("0", "1"), "filters": ("2", "4"), "widths": ("1", "1-3"),
    "dropout": ("0", "0.5"), "vocabulary": ("20",), "word_dimension": ("2",), "batch_size": ("1", "3", "1000"),
    "learning_rate": ("0.1", "5"), "recipe": ("paper",), "boundary": ("documents", "zero"), "beta": ("0.5", "1"),
    "documents": ("1", "3"), "quantile": ("0.5", "0.95"), "exemplars": ("1", "5"), "show": ("1", "3"),
    "tokens": ("words", "whitespace"), "support": ("model/support",), "author": ("me",), "reason": ("a slip",),
    "id_prefix": ("p-",), "skip_unlabelled": (), "replace": (), "restart": (), "dry_run": (), "preview": (),
    "dev": (), "targets": (), "reference": (), "id": IDS[:2], "ids": IDS[:2], "label": ("positive", "negative"),
    "name": ("first", "second"), "version": ("1",), "before": ("1",), "after": ("1",), "pool": ("max",),
    "kind": ("distance", "both"), "names": ("one", "two"), "text": ("A great film , and dull .", "great"),
}  # fmt: skip
NEEDED = {"support build": ["--replace"], "boundary": ["--by", "documents"]}  # of plain commands
REPORTS = ("report", "reliability", "compare", "drift")  # whose format is told by the name
ODD = (
    "", " ", "0", "-1", "1.5", "nan", "inf", "-inf", "1e999", "9" * 30, "x", "é\u202e", "\udcff", "a,b", ",", "1-",
    "5-3", "-", "--", "[bold]", "[/red]", "x" * 3000, "=cmd|' /C calc'!A0", "%s{}", "\n", "none", "None",
    "true", "model", ".",
    "nowhere", "no/where", "https://example.org/a.csv", "utf-16", "rot13", "base64", "idna", "cuda:99", "meta",
    "1-99999",
)  # fmt: skip
# Where any number is work, or memory, odd numbers are those that can only be refused.
COSTLY = {
    "epochs",
    "filters",
    "word_dimension",
    "vocabulary",
    "widths",
    "max_length",
    "exemplars",
    "jobs",
    "encoder",
}
REFUSED = ("", " ", "0", "-1", "1.5", "nan", "inf", "x", "é", "\udcff", "9" * 30, "-", "5-3")
ALWAYS = {
    "train": ["--encoder", "none", "--filters", "4", "--epochs", "1", "--vocabulary", "30"],
    "compare": ["--encoder", "none", "--filters", "4", "--epochs", "1"],
    "demo": ["--out", "."],  # where there is a model that is not of the demo
    "cache show": ["--folder", "empty"],
    "cache clear": ["--folder", "empty"],
    "knn fit": ["--epochs", "1"],
    "data check": ["--encoder", "none"],
}
EXPERIMENT = ["--data", "empty", "--out", "tables"]  # without data, nothing is run


@dataclass(frozen=True)
class Command:
    """A command line, what it reads from standard input, and where it writes."""

    verb: str
    arguments: list[str]
    stdin: bytes
    out: str | None


def verbs() -> dict[str, Any]:
    """Every verb that ends by itself, with its parameters, as typer knows them."""
    from typer.main import get_command

    from exaudit.cli.app import app

    def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        inner = getattr(command, "commands", None)
        if not inner:
            yield " ".join(path), command.params
        for name in inner or ():
            yield from walk(inner[name], (*path, name))

    return {verb: parameters for verb, parameters in walk(get_command(app)) if verb != "serve"}


def draw(rng: random.Random, known: dict[str, Any], place: Path) -> Command:
    """A command line to be run in the folder `place`, where the files that it names are made."""
    experiments = [verb for verb in known if verb.startswith(("reproduce", "benchmark"))]
    verb = rng.choices(list(known), weights=[_weight(verb, known[verb]) for verb in known])[0]
    parameters = [each for each in known[verb] if each.name != "help"]
    plain = rng.random() < 0.5  # nothing odd, and nothing that needs something else
    odd = 0.0 if plain else rng.choice((0.0, 0.2, 0.6))
    files: list[str] = []

    def value(parameter: Any) -> str:
        name = parameter.name
        if name == "model" and parameter.param_type_name == "argument":
            return (
                "model"
                if rng.random() > odd / 4
                else rng.choice(["nowhere", ".", "empty", "model/model.json", "-", ""])
            )
        if plain and verb == "admission fit" and name == "file":
            return "dev.jsonl"
        if verb == "admission fit" and name == "rule":
            return "mean" if plain else rng.choice(["mean", "promise", "exag"])
        if name in FILES or (name == "text" and rng.random() < 0.7):
            if rng.random() < odd / 6:
                return rng.choice(
                    ["-", "-", "nowhere.csv", "empty", "model", "https://example.org/a.csv", "", "a\udcffb"]
                )
            files.append(write_data(rng, place, f"data{len(files)}", odd, plain=plain).name)
            return files[-1]
        if name == "text" and not plain:
            return rng.choice(
                ["A great film , and dull .", "", "great", "\u202e awful", "a\udcffb", "film " * 400]
            )
        if name == "out" or (name == "folder" and verb == "data sample"):
            return _out(rng, verb, odd)
        if plain and PLAIN.get(name):
            return rng.choice(PLAIN[name])
        if name in GOOD and rng.random() > odd / 2:
            return rng.choice(GOOD[name])
        return rng.choice(REFUSED if name in COSTLY else ODD)

    options = [each for each in parameters if each.param_type_name == "option"]
    chosen = [each for each in options if each.required and rng.random() > odd / 10]
    others = [
        each
        for each in options
        if not plain or (each.name in PLAIN and (each.name != "rule" or verb in ("label", "evaluate")))
    ]
    chosen += rng.sample(others, min(rng.choice((0, 1, 2) if plain else (0, 1, 2, 4)), len(others)))
    if verb not in ("demo", *experiments, "data sample"):
        chosen += [each for each in options if each.name == "out" and rng.random() < 0.5]
    chosen = list({each.name: each for each in chosen}.values())
    if verb in ("demo", "data fetch", *experiments):  # never the work itself
        chosen = [
            each
            for each in chosen
            if each.name not in ("sample", "samples", "out", "data", "accept_licence", "folder")
        ]
    arguments = [*verb.split()]
    for each in parameters:
        if (
            each.param_type_name == "argument"
            and (each.required or plain or rng.random() < 0.7)
            and rng.random() > odd / 20
        ):
            arguments += [value(each) for _ in range(rng.randint(1, 2) if each.nargs == -1 else 1)]
    if verb == "data fetch":
        arguments = [*verb.split(), rng.choice(["list", "nothing", "", "é"]), "--data", "empty"]
    given: list[str] = []
    out = next((str(each.default) for each in options if each.name == "out" and each.default), None)
    for each in chosen:
        name = rng.choice([*each.opts, *each.secondary_opts])
        words = [] if each.is_flag else [value(each) for _ in range(each.nargs)]
        given += [name, *words]
        out = words[0] if each.name == "out" else out
    always = ALWAYS.get(verb, EXPERIMENT if verb in experiments and known[verb][0].name == "data" else [])
    names = {option: each.name for each in options for option in each.opts}
    for option, word in zip(always[::2], always[1::2], strict=True):
        given_already = names.get(option) in {each.name for each in chosen}
        if option in names and (not given_already or verb in ("demo", "cache show", "cache clear")):
            given += [option, word]
    if plain:
        given += NEEDED.get(verb, ["--id", "d0"] if verb == "audit" and files else [])
    if rng.random() < odd / 20:
        given.insert(
            rng.randrange(len(given) + 1), rng.choice(["--nothing", "-x", "extra", "--help", "--", "--out"])
        )
    stdin = (
        (place / files[-1]).read_bytes()
        if files and rng.random() < 0.8
        else rng.randbytes(rng.choice((0, 40)))
    )
    return Command(verb, arguments + given, stdin, out)


def _weight(verb: str, parameters: list[Any]) -> int:
    """Verbs that read files come more often; of those, the ones that train are slow."""
    if verb.startswith(SELDOM):
        return 1
    if verb in ("train", "compare", "knn fit"):
        return 3
    return 6 if FILES & {each.name for each in parameters} else 2


def _out(rng: random.Random, verb: str, odd: float) -> str:
    """Somewhere to write: a new file, or one of the things that stand in the folder (see `furnish`)."""
    if verb in REPORTS and rng.random() > odd:
        return "new.html"
    if rng.random() > max(odd, 0.3):
        return rng.choice(["new", "new.jsonl", "new.html"])
    return rng.choice([
        "", "-", "empty", "full", "old.jsonl", "link", "loop", "nowhere/new", "old.jsonl/new", "x" * 300, "dangling",
        "a\udcffb", "pipe", "device", "pipelink", "model/model.json", "model/new",
    ])  # fmt: skip


def furnish(place: Path) -> None:
    """What stands in the folder where commands are run, beside a model."""
    (place / "empty").mkdir()
    (place / "full").mkdir()
    (place / "full" / "something").write_text("kept\n")
    (place / "old.jsonl").write_text('{"text": "kept"}\n')
    (place / "target").write_text("old\n")
    fitted = json.loads((place / "model" / "admission.json").read_text())  # on these very documents
    (place / "dev.jsonl").write_text("".join(json.dumps(each) + "\n" for each in fitted["documents"]))
    (place / "link").symlink_to("target")
    (place / "loop").symlink_to("loop")
    (place / "dangling").symlink_to("empty/new")
    os.mkfifo(place / "pipe")
    (place / "pipelink").symlink_to("pipe")
    try:
        os.mknod(
            place / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3)
        )  # as /dev/null, which is not risked
    except OSError:
        os.mkfifo(place / "device")
