"""exaudit verify: whether everything in a model folder is what was written."""

from __future__ import annotations

from dataclasses import asdict

from exaudit.cli.options import AsJson, Encoder, Model, SupportAt, tell, tell_json

__all__ = ["verify"]


def verify(model: Model, support: SupportAt = None, encoder: Encoder = None, as_json: AsJson = False) -> None:
    """Read all of a model folder and compare it with the checksums taken when it was written.

    Description, weights, vocabulary, encoder, support set (every document, the whole log), K-NN and admission limits.
    """
    from exaudit.audit.integrity import verify_folder
    from exaudit.errors import ModelError

    findings = verify_folder(model, support=support, encoder=encoder)
    if as_json:
        tell_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            state = "whole  " if finding.whole else "DAMAGED"
            tell(f"{state}  {finding.part:<20} {finding.told}")
    damaged = [finding.part for finding in findings if not finding.whole]
    if damaged:
        raise ModelError(f"{model} is damaged: {', '.join(damaged)}")
