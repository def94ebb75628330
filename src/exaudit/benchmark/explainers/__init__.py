"""The usual explainers of a text classifier, each a function from a document to a number for every word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from exaudit.benchmark.explainers.attention import attention
from exaudit.benchmark.explainers.classifier import Classifier, Floats, Reading
from exaudit.benchmark.explainers.gradients import gradient_x_input, integrated_gradients
from exaudit.benchmark.explainers.perturbation import lime, occlusion, shap

__all__ = ["EXPLAINERS", "Classifier", "Explainer", "Reading"]


@dataclass(frozen=True)
class Explainer:
    """A way to explain, and the package that it needs, if any."""

    explain: Callable[[Classifier, Reading], Floats]
    package: str | None = None

    @property
    def installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None


EXPLAINERS = {
    "gradient-x-input": Explainer(gradient_x_input),
    "integrated-gradients": Explainer(integrated_gradients, "captum"),
    "occlusion": Explainer(occlusion),
    "lime": Explainer(lime, "lime"),
    "shap": Explainer(shap, "shap"),
    "attention": Explainer(attention),
}
