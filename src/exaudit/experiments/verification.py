"""Whether a folder of pages is what its `results.json` says, and that what the code's recipe says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from exaudit.errors import SettingError
from exaudit.experiments.provenance import code_used
from exaudit.experiments.recipe import RECIPES
from exaudit.experiments.registry import EXPERIMENTS
from exaudit.experiments.results import Results
from exaudit.experiments.step_result import read_object

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
    """What was found: facts to know, and faults."""

    facts: tuple[str, ...]
    faults: tuple[str, ...]


def verify(folder: Path) -> Verification:
    """Make everything again from what is kept, and compare."""
    if not (folder / "results.json").is_file():
        raise SettingError(
            f"{folder} has no results.json; write one with `exaudit reproduce show OUT --write`, and keep it with the "
            "pages"
        )
    written = read_object(folder / "results.json")
    if "steps" not in written:
        raise SettingError(
            f"{folder / 'results.json'} was written by an earlier version, without its steps; write it again"
        )
    results = Results.read(folder)
    faults = [
        f"{name} {'is not what results.json gives' if (folder / name).is_file() else 'is missing'}"
        for name, text in results.pages().items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]
    again = json.loads(json.dumps(results.to_json()))
    faults += [
        f"results.json: {part} are not what its steps give"
        for part in ("tables", "ngrams", "claims", "seconds")
        if again[part] != written[part]
    ]
    recipe = json.loads(json.dumps(RECIPES[results.settings.recipe].to_json()))
    if written["recipe"] != recipe:
        faults.append(
            f"the recipe {results.settings.recipe!r} of this version is another than the one of the results"
        )
    patterns = [pattern for one in EXPERIMENTS.values() for pattern in one.steps]
    faults += [
        f"{name} is no step of this version"
        for name in results.steps
        if not any(fnmatch(name, pattern) for pattern in patterns)
    ]
    unknown = [name for name, step in results.steps.items() if not step.code.get("commit")]
    faults += [f"no commit is known of {', '.join(unknown)}"] if unknown else []
    faults += [
        f"commit {code['commit']} says that its sources were changed"
        for code in results.code
        if str(code["commit"]).endswith("+")
    ]
    faults += [f"the steps are of {len(results.code)} versions of the code"] if len(results.code) > 1 else []
    return Verification(tuple(_facts(results)), tuple(faults))


def _facts(results: Results) -> list[str]:
    used = code_used()
    facts = [
        f"steps: {len(results.steps)}, encoder {results.settings.encoder_name}, recipe {results.settings.recipe}"
    ]
    for code in results.code:
        same = (
            "the sources of this version" if code["source"] == used["source"] else "other sources than these"
        )
        facts.append(f"made by exaudit {code['version']}, commit {code['commit'] or 'unknown'}: {same}")
    return facts
