"""Explainers that ask for the gradient of the log-odds with respect to the input embeddings."""

from __future__ import annotations

import torch

from exaudit.benchmark.explainers.classifier import Classifier, Floats, Reading

__all__ = ["gradient_x_input", "integrated_gradients"]

STEPS = 50  # captum's own default


def gradient_x_input(classifier: Classifier, reading: Reading) -> Floats:
    """The gradient times the embedding, summed over the dimensions and the pieces of each word."""
    embedded = classifier.embed(reading).requires_grad_()  # (1, W, L, E)
    (gradient,) = torch.autograd.grad(classifier.logits(embedded, reading).sum(), embedded)
    return reading.by_word((gradient * embedded).sum(-1)[0])


def integrated_gradients(classifier: Classifier, reading: Reading) -> Floats:
    """Gradients along the straight line from the document with every word masked to the document itself."""
    from captum.attr import IntegratedGradients

    device = reading.ids.device
    nothing = torch.zeros(1, len(reading.tokens), dtype=torch.bool, device=device)  # (1, N)
    method = IntegratedGradients(lambda embedded: classifier.logits(embedded, reading))
    found = method.attribute(
        classifier.embed(reading),
        baselines=classifier.embed(reading, nothing),
        n_steps=STEPS,
        internal_batch_size=classifier.at_once(reading, gradients=True),
    )  # (1, W, L, E)
    return reading.by_word(found.sum(-1)[0])
