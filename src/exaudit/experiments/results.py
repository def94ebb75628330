"""The folder of a run, finished or not, read back: its figures, how they came about, and pages of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from exaudit._files import replace_file, write_json
from exaudit._version import __version__
from exaudit.encode.locate import fingerprint, locate
from exaudit.errors import EncoderError, SettingError
from exaudit.experiments.pages import claims_markdown, experiment_markdown
from exaudit.experiments.paper_comparison import PaperComparison, compare_with_paper
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

    @classmethod
    def read(cls, folder: Path) -> Results:
        paths = sorted((folder / "steps").glob("*.json"))
        if not (folder / "settings.json").is_file() or not paths:
            raise SettingError(
                f"{folder} holds no results; give the --out of `exaudit reproduce`, once a step of it is done"
            )
        steps = {path.stem: StepResult.read(path) for path in paths}
        models = sorted((folder / "models").glob("*/model.json"))
        encoders = {path.parent.name: read_object(path).get("encoder") for path in models}
        fingerprints = {name: str(encoder["fingerprint"]) for name, encoder in encoders.items() if encoder}
        if (folder / "results.json").is_file():  # the models themselves may have stayed elsewhere
            fingerprints = read_object(folder / "results.json").get("fingerprints", {}) | fingerprints
        return cls(folder, RunSettings.read(folder / "settings.json"), steps, fingerprints)

    @property
    def comparison(self) -> PaperComparison:
        return compare_with_paper(self.steps.values(), first_seed=self.settings.seeds[0])

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
        parts += ["--tune-encoder"] * own.tune_encoder
        parts += ["--fast"] * own.fast
        parts.append(f"--seeds {','.join(map(str, own.seeds))}")
        parts += [f"--epochs {own.epochs}"] if own.epochs is not None else []
        parts += [f"--filters {own.filters}"] if own.filters != default.filters else []
        parts += [f"--word-vectors {Path(own.word_vectors).name}"] if own.word_vectors else []
        return " ".join(parts)

    def header(self, experiments: Sequence[str]) -> list[str]:
        """How the figures came about: paragraphs of Markdown."""
        own = self.settings
        commands = "\n".join(self.command(name) for name in experiments)
        seeds = ", ".join(map(str, own.seeds))
        if len(own.seeds) > 1:
            seeds += f"; a row that does not say so is of seed {own.seeds[0]} alone"
        facts = [
            *(f"**{caution}**" for caution in self.cautions),
            f"encoder: {self._encoder(experiments)}",
            f"seeds: {seeds}",
            f"filters {own.filters}, epochs {'by default' if own.epochs is None else own.epochs}",
            f"exaudit {__version__}",
            f"steps, in seconds: {self._seconds(experiments)}",
        ]
        return [f"```\n{commands}\n```", "\n".join(f"- {fact}" for fact in facts)]

    def _encoder(self, experiments: Sequence[str]) -> str:
        own = self.settings
        if own.encoder == "none":
            return "none, word embeddings only"
        if own.tune_encoder:
            mine = self._of(experiments, self.fingerprints).items()
            listed = ", ".join(f"{name} `{mark[:12]}`" for name, mark in mine)
            return f"`{own.encoder_name}`{_fingerprint(own.encoder)}, then tuned for each model: {listed}"
        marks = ", ".join(f"`{mark}`" for mark in sorted(set(self.fingerprints.values())))
        return f"`{own.encoder_name}`, frozen" + (f", fingerprint {marks}" if marks else "")

    def _seconds(self, experiments: Sequence[str]) -> str:
        mine = self._of(experiments, {name: result.seconds for name, result in self.steps.items()})
        listed = ", ".join(f"{name} {seconds:.0f}" for name, seconds in mine.items())
        return f"{listed}; {sum(mine.values()):.0f} in all"

    @staticmethod
    def _of(experiments: Sequence[str], named: dict[str, _T]) -> dict[str, _T]:
        """Steps and models have the name of their experiment in front."""
        return {name: value for name, value in named.items() if name.split("-")[0] in experiments}

    def write(self) -> list[Path]:
        """Pages for the experiments that were begun, the claims, figures 3 and 4, and all of it as JSON."""
        comparison = self.comparison
        pictures = _pictures(comparison)
        pages = dict(pictures)
        for name in comparison.experiments:
            title, header = EXPERIMENTS[name].title, self.header([name])
            pages[f"{name}.md"] = experiment_markdown(comparison, name, title, header, pictures=[*pictures])
        pages["claims.md"] = claims_markdown(comparison, self.header(comparison.experiments))
        for name, text in pages.items():
            with replace_file(self.folder / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
        write_json(self.folder / "results.json", self.to_json())
        return [self.folder / name for name in (*pages, "results.json")]

    def to_json(self) -> dict[str, Any]:
        vectors = self.settings.word_vectors
        names = {
            "encoder": self.settings.encoder_name,
            "word_vectors": Path(vectors).name if vectors else None,
        }
        return {
            "exaudit": __version__,
            "settings": self.settings.to_json() | names,
            "fingerprints": self.fingerprints,
            "seconds": {name: result.seconds for name, result in self.steps.items()},
            **self.comparison.to_json(),
        }


def _fingerprint(encoder: str) -> str:
    """Of the encoder before it was tuned, if it is at hand."""
    try:
        return f", fingerprint `{fingerprint(locate(encoder))}`"
    except EncoderError:
        return ""


def _pictures(comparison: PaperComparison) -> dict[str, str]:
    """Drawn where the reports' own means of drawing can be had; they need more than the experiments do."""
    try:
        from exaudit.experiments.plots import reliability_figures
    except ImportError:
        return {}
    return reliability_figures(comparison)
