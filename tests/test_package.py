from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name as canonical

import exaudit

ROOT = Path(__file__).parent.parent
SOURCE = Path(exaudit.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIRED = list(PROJECT["dependencies"])
REQUIRED += [line for name in ("excel", "explainers", "serve", "ray") for line in EXTRAS[name]]
BOUNDS = {canonical(name.split("[")[0]): bound for name, bound in (line.split(">=") for line in REQUIRED)}


def test_public_names_are_sorted_and_real() -> None:
    assert exaudit.__all__ == sorted(exaudit.__all__)
    assert set(exaudit.__all__) == set(exaudit._HOME)
    for name in exaudit.__all__:
        assert getattr(exaudit, name).__name__ == name


def test_unknown_names_are_refused() -> None:
    assert not hasattr(exaudit, "nothing_of_that_name")


def test_compute_rooms_need_no_store_web_or_terminal() -> None:
    """They also run where only torch, numpy, safetensors, transformers and tqdm are installed."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"lance", "pyarrow", "typer", "click", "rich", "sklearn", "jinja2",
                                  "captum", "lime", "shap", "matplotlib"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import exaudit.encode, exaudit.encode.cache, exaudit.encode.transformer, exaudit.head.training, exaudit.head.tuning
import exaudit.support.search, exaudit.support.memory, exaudit.decide
import exaudit.benchmark.pages, exaudit.benchmark.words, exaudit.benchmark.race, exaudit.benchmark.race_pages
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_and_help_load_nothing_heavy() -> None:
    heavy = (
        "{'torch', 'transformers', 'numpy', 'lance', 'pyarrow', 'pandas', 'safetensors', 'sklearn', 'jinja2', "
        "'tokenizers', 'regex'}"
    )
    helps = "; ".join(f"run([{verb!r}, '--help'])" for verb in ("audit", "label", "support", "train"))
    for code in ("import exaudit, exaudit.cli", f"from exaudit.cli import run; run(['--help']); {helps}"):
        tell = f"{code}; import sys; sys.exit(', '.join({heavy} & sys.modules.keys()) or None)"
        done = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_every_import_is_a_declared_dependency() -> None:
    """What comes along with another package today may not tomorrow."""
    places = packages_distributions()
    imported = {
        name for path in SOURCE.rglob("*.py") for name in _imports(ast.parse(path.read_text("utf-8")))
    }
    outside = (
        imported - sys.stdlib_module_names - {"exaudit", "triton"}
    )  # torch for CUDA brings Triton, or not
    # One that is not installed is an extra, and called as its package, but for one.
    named = {"grpc": "grpcio"}
    assert {canonical(places.get(name, [named.get(name, name)])[0]) for name in outside} == set(BOUNDS)


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    tested = {canonical(name): version for name, _, version in (x.partition("==") for x in lines) if version}
    for name in BOUNDS.keys() - {"torch"}:
        assert (name, tested.get(name)) == (name, BOUNDS[name])


ROOMS = (
    "data",
    "encode",
    "head",
    "model",
    "support",
    "decide",
    "audit",
    "analyse",
    "batch",
    "cluster",
    "experiments",
    "benchmark",
    "plan",
    "serve",
    "cli",
)


def test_no_room_knows_a_later_one_and_no_module_itself() -> None:
    """Imports under TYPE_CHECKING and inside functions count, too."""
    modules = {_name(path): path for path in SOURCE.rglob("*.py")}
    known = {
        name: _modules(ast.parse(path.read_text("utf-8")), modules) - {name} for name, path in modules.items()
    }
    for name, others in known.items():
        for other in others:
            rooms = [part.split(".")[1] for part in (name, other) if part.count(".")]
            if len(rooms) == 2 and set(rooms) <= set(ROOMS):
                assert ROOMS.index(rooms[0]) >= ROOMS.index(rooms[1]), f"{name} imports {other}"
    waiting = dict(known)
    while ready := [name for name, others in waiting.items() if not others & waiting.keys()]:
        for name in ready:
            del waiting[name]
    assert not waiting, f"these import one another: {sorted(waiting)}"


def _name(path: Path) -> str:
    parts = ["exaudit", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _modules(tree: ast.AST, modules: Collection[str]) -> set[str]:
    """The modules of exaudit that a module imports something of."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "exaudit":
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in modules else node.module for name in whole)
    return found & set(modules)


def _imports(tree: ast.AST) -> Iterator[str]:
    """The top-level packages that a module imports, inside functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
