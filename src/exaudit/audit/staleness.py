"""Limits that were fitted before the support set was edited, beside what they would be now."""

from __future__ import annotations

from dataclasses import replace

from exaudit.audit.audited import AuditedScores
from exaudit.audit.fitted import FittedAdmission
from exaudit.audit.policy import Policy
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import Admission

__all__ = ["Staleness", "limits_text"]


class Staleness:
    """Admission limits of another version of the support set, the same fitted anew, and what that would change."""

    def __init__(
        self, policy: Policy, fitted: FittedAdmission, refitted: FittedAdmission, version: str
    ) -> None:
        self.fitted, self.refitted, self.version = fitted, refitted, version
        self._policy = replace(policy, admissions=refitted.views)
        self.tokens = self.documents = 0  # counted so far
        self.flipped_tokens = self.flipped_documents = 0

    def count(self, audited: AuditedScores) -> None:
        """Count what the refitted limits would decide otherwise in one document."""
        neighbours = [view.neighbours for view in audited.views if view.neighbours is not None]
        old = audited.admitted_tokens
        if old is None or not neighbours:
            return
        again = self._policy.audited(audited, neighbours)
        new = again.admitted_tokens
        assert new is not None
        self.tokens += len(old)
        self.flipped_tokens += int((new != old).sum())
        self.documents += 1
        if audited.admitted is not None and again.admitted is not None:
            self.flipped_documents += again.admitted != audited.admitted

    def render(self) -> str:
        """What to tell the person who asked for admission."""
        labels = self._policy.labels
        old, new = limits_text(self.fitted.views, labels), limits_text(self.refitted.views, labels)
        lines = [
            f"the admission limits are stale: fitted on version {self.fitted.support_version[:8]} of the support set, "
            f"which is now {self.version[:8]}"
        ]
        lines += [f"  {what:<34} {old[what]:>12}   refitted {new.get(what, 'none'):>12}" for what in old]
        lines.append(
            f"  refitted they would admit otherwise {self.flipped_tokens} of {self.tokens} tokens and "
            f"{self.flipped_documents} of {self.documents} documents here; refit with: exaudit admission fit"
        )
        return "\n".join(lines)


def limits_text(admissions: tuple[Admission, ...], labels: LabelSet) -> dict[str, str]:
    """The limits that apply, as a table of words and numbers."""
    rows: dict[str, str] = {}
    for admission, names in zip(admissions, labels.views, strict=True):
        for index, name in enumerate((names.negative, names.positive)):
            farthest, weakest = admission.token_limits.distance[index], admission.token_limits.output[index]
            if admission.kind != "magnitude":
                rows[f"{name}: nearest exemplar at most"] = "never" if farthest is None else f"{farthest:.2f}"
            if admission.kind != "distance":
                side = "least" if index else "most"
                rows[f"{name}: K-NN output at {side}"] = "never" if weakest is None else f"{weakest:+.3f}"
        if (limits := admission.document_limits) is not None:
            which = "document" if len(admissions) == 1 else f"document, {names.positive}"
            rows[f"{which}: admitted share above"] = f"{100 * limits.share:.1f}%"
            if limits.count is not None:
                rows[f"{which}: admitted tokens"] = f"{limits.count[0]:.1f} to {limits.count[1]:.1f}"
    return rows
