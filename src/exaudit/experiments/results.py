"""The folder of a run, finished or not, read back: its figures, how they came about, and pages of them.

`results.json`, which is written with the pages, holds all that they are made of: from it alone the same pages can be
made again (`exaudit.experiments.verification`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from exaudit._files import replace_file, write_json
from exaudit._version import __version__
from exaudit.encode.locate import fingerprint, locate
from exaudit.errors import DataError, EncoderError, SettingError
from exaudit.experiments.contents import contents_markdown
from exaudit.experiments.pages import NGRAMS_SHOWN, claims_markdown, experiment_markdown
from exaudit.experiments.paper_comparison import PaperComparison, compare_with_paper
from exaudit.experiments.recipe import RECIPES
from exaudit.experiments.registry import EXPERIMENTS
from exaudit.experiments.run import RunSettings
from exaudit.experiments.step_result import StepResult, read_object

__all__ = ["Results"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Results:
    """What a run has found so far."""

    folder: Path
    settings: RunSettings
    steps: dict[str, StepResult]
    fingerprints: dict[str, str]  # of the encoder of each model
    encoder: str | None = None  # the fingerprint of the encoder as it came
    data: dict[str, str] = field(default_factory=dict)  # digests of the files
    recipe: dict[str, Any] = field(default_factory=dict)  # as it was when the results were written

    @classmethod
    def read(cls, folder: Path) -> Results:
        """From the steps of a run, or from `results.json`, where the steps have stayed elsewhere."""
        paths = sorted((folder / "steps").glob("*.json"))
        written = read_object(folder / "results.json") if (folder / "results.json").is_file() else {}
        if not paths and "steps" in written:
            return cls._from_json(folder, written)
        if not (folder / "settings.json").is_file() or not paths:
            raise SettingError(
                f"{folder} holds no results; give the --out of `exaudit reproduce`, once a step of it is done"
            )
        settings = RunSettings.read(folder / "settings.json")
        models = sorted((folder / "models").glob("*/model.json"))
        encoders = {path.parent.name: read_object(path).get("encoder") for path in models}
        fingerprints = {name: str(encoder["fingerprint"]) for name, encoder in encoders.items() if encoder}
        return cls(
            folder,
            settings,
            {path.stem: StepResult.read(path) for path in paths},
            written.get("fingerprints", {}) | fingerprints,  # the models themselves may have stayed elsewhere
            written.get("encoder_fingerprint") or _fingerprint(settings.encoder),
            written.get("data", {})
            | (read_object(folder / "data.json") if (folder / "data.json").is_file() else {}),
            RECIPES[settings.recipe].to_json(),
        )

    @classmethod
    def _from_json(cls, folder: Path, written: dict[str, Any]) -> Results:
        try:
            return cls(
                folder,
                RunSettings.from_json(written["settings"]),
                {name: StepResult.from_json(step) for name, step in written["steps"].items()},
                written["fingerprints"],
                written["encoder_fingerprint"],
                written["data"],
                written["recipe"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"damaged ({error!r}); write it again", folder / "results.json") from error

    @property
    def comparison(self) -> PaperComparison:
        own = self.settings
        return compare_with_paper(self.steps.values(), first_seed=own.seeds[0], tuned=own.tune_encoder)

    @property
    def cautions(self) -> list[str]:
        """What nobody must overlook."""
        own = self.settings
        cautions = {
            "made-up corpora: these figures say nothing about the paper": own.sample,
            "a tenth of the data": own.fast,
        }
        return [caution for caution, true in cautions.items() if true]

    def command(self, experiment: str) -> str:
        """What to type for the same figures, wherever the data are."""
        own, default = self.settings, RunSettings()
        parts = ["exaudit", "reproduce", experiment, "--sample" if self.settings.sample else "--data DIR"]
        parts.append(f"--encoder {own.encoder_name}")
        parts += [f"--recipe {own.recipe}"] if own.recipe != default.recipe else []
        parts += ["--tune-encoder"] * own.tune_encoder
        parts += ["--fast"] * own.fast
        parts.append(f"--seeds {','.join(map(str, own.seeds))}")
        parts += [f"--epochs {own.epochs}"] if own.epochs is not None else []
        parts += [f"--filters {own.filters}"] if own.filters != default.filters else []
        parts += [f"--word-vectors {Path(own.word_vectors).name}"] if own.word_vectors else []
        return " ".join(parts)

    @property
    def code(self) -> list[dict[str, Any]]:
        """By which code the steps were made; one, if all is well."""
        used = [step.code for step in self.steps.values() if step.code]
        return [code for n, code in enumerate(used) if code not in used[:n]]

    def header(self, experiments: Sequence[str]) -> list[str]:
        """How the figures came about: paragraphs of Markdown."""
        own = self.settings
        commands = "\n".join(self.command(name) for name in experiments)
        seeds = ", ".join(map(str, own.seeds))
        if len(own.seeds) > 1:
            seeds += f"; a row that does not say so is of seed {own.seeds[0]} alone"
        recipe = "the paper's, to the letter of its code" if own.recipe == "paper" else "ours"
        facts = [
            *(f"**{caution}**" for caution in self.cautions),
            f"recipe: {recipe}",
            f"encoder: {self._encoder(experiments)}",
            f"seeds: {seeds}",
            f"filters {own.filters}, epochs {'by default' if own.epochs is None else own.epochs}",
            f"code: {self._code()}",
            f"data: {self._data(experiments)}",
            f"steps, in seconds: {self._seconds(experiments)}",
        ]
        return [f"```\n{commands}\n```", "\n".join(f"- {fact}" for fact in facts)]

    def _encoder(self, experiments: Sequence[str]) -> str:
        own = self.settings
        if own.encoder == "none":
            return "none, word embeddings only"
        before = f"`{own.encoder_name}`" + (f", fingerprint `{self.encoder}`" if self.encoder else "")
        if own.tune_encoder:
            mine = self._of(experiments, self.fingerprints).items()
            listed = ", ".join(f"{name} `{mark[:12]}`" for name, mark in mine)
            return f"{before}, then tuned for each model: {listed}"
        marks = ", ".join(f"`{mark}`" for mark in sorted(set(self.fingerprints.values())))
        return f"`{own.encoder_name}`, frozen" + (f", fingerprint {marks}" if marks else "")

    def _code(self) -> str:
        if not self.code:
            return f"exaudit {__version__}; the steps do not say by which commit they were made"
        told = (
            f"exaudit {one['version']}, commit {one['commit'] or 'unknown'}, sources `{one['source'][:16]}`"
            for one in self.code
        )
        more = "" if len(self.code) == 1 else " (**several: not all of one commit**)"
        return "; ".join(told) + more

    def _data(self, experiments: Sequence[str]) -> str:
        files = [name for one in experiments for name in EXPERIMENTS[one].files]
        listed = [f"{name} `{self.data[name][:12]}`" for name in dict.fromkeys(files) if name in self.data]
        return ", ".join(listed) or "not known"

    def _seconds(self, experiments: Sequence[str]) -> str:
        mine = self._of(experiments, {name: result.seconds for name, result in self.steps.items()})
        listed = ", ".join(f"{name} {seconds:.0f}" for name, seconds in mine.items())
        return f"{listed}; {sum(mine.values()):.0f} in all"

    @staticmethod
    def _of(experiments: Sequence[str], named: dict[str, _T]) -> dict[str, _T]:
        """Steps and models have the name of their experiment in front."""
        return {name: value for name, value in named.items() if name.split("-")[0] in experiments}

    def pages(self) -> dict[str, str]:
        """Names and texts: the experiments that were begun, the claims, figures 2 and 3, and a list by number."""
        comparison = self.comparison
        pictures = _pictures(comparison)
        pages = dict(pictures)
        for name in comparison.experiments:
            title, header = EXPERIMENTS[name].title, self.header([name])
            pages[f"{name}.md"] = experiment_markdown(comparison, name, title, header, pictures=[*pictures])
        pages["claims.md"] = claims_markdown(comparison, self.header(comparison.experiments))
        pages["contents.md"] = contents_markdown(comparison)
        return pages

    def write(self) -> list[Path]:
        """The pages, and all that they are made of as JSON."""
        pages = self.pages()
        for name, text in pages.items():
            with replace_file(self.folder / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
        write_json(self.folder / "results.json", self.to_json())
        return [self.folder / name for name in (*pages, "results.json")]

    def to_json(self) -> dict[str, Any]:
        """All but the n-grams that no page shows."""
        vectors = self.settings.word_vectors
        steps = {name: step.with_few_ngrams(NGRAMS_SHOWN) for name, step in self.steps.items()}
        names = {
            "encoder": self.settings.encoder_name,
            "word_vectors": Path(vectors).name if vectors else None,
        }
        return {
            "exaudit": __version__,
            "settings": self.settings.to_json() | names,
            "recipe": self.recipe,
            "encoder_fingerprint": self.encoder,
            "fingerprints": self.fingerprints,
            "data": self.data,
            "seconds": {name: result.seconds for name, result in self.steps.items()},
            **replace(self, steps=steps).comparison.to_json(),
            "steps": {name: step.to_json() for name, step in steps.items()},
        }


def _fingerprint(encoder: str) -> str | None:
    """Of the encoder as it came, if it is at hand."""
    try:
        return None if encoder == "none" else fingerprint(locate(encoder))
    except EncoderError:
        return None


def _pictures(comparison: PaperComparison) -> dict[str, str]:
    """Drawn where the reports' own means of drawing can be had; they need more than the experiments do."""
    try:
        from exaudit.experiments.plots import reliability_figures
    except ImportError:
        return {}
    return reliability_figures(comparison)
