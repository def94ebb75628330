"""Limits that were fitted before the support set was edited, beside what they would be now."""

from __future__ import annotations

from exaudit.audit.audited import Audited
from exaudit.decide.admission import Admission
from exaudit.decide.knn import KNN

__all__ = ["Staleness", "limits_text"]


class Staleness:
    """Admission limits of another version of the support set, the same fitted anew, and what that would change."""

    def __init__(self, knn: KNN, fitted: Admission, refitted: Admission, version: str) -> None:
        self.fitted, self.refitted, self.version = fitted, refitted, version
        self._knn = knn
        self.tokens = self.documents = 0  # counted so far
        self.flipped_tokens = self.flipped_documents = 0

    def count(self, audited: Audited) -> None:
        """Count what the refitted limits would decide otherwise in one document."""
        if audited.admission is None or audited.neighbours is None:
            return
        new = self.refitted.tokens(self._knn, audited.neighbours).admitted
        self.tokens += len(new)
        self.flipped_tokens += int((new != audited.admission.admitted).sum())
        self.documents += 1
        if audited.admitted is not None and self.refitted.document_limits is not None:
            of_token = [0] * len(new)
            whole = self.refitted.documents(new, of_token, 1)
            self.flipped_documents += bool(whole.admitted[0]) != audited.admitted

    def render(self, names: tuple[str, str]) -> str:
        """What to tell the person who asked for admission."""
        old, new = limits_text(self.fitted, names), limits_text(self.refitted, names)
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


def limits_text(admission: Admission, names: tuple[str, str]) -> dict[str, str]:
    """The limits that apply, as a table of words and numbers."""
    rows: dict[str, str] = {}
    for index, name in enumerate(names):
        farthest, weakest = admission.token_limits.distance[index], admission.token_limits.output[index]
        if admission.kind != "magnitude":
            rows[f"{name}: nearest exemplar at most"] = "never" if farthest is None else f"{farthest:.2f}"
        if admission.kind != "distance":
            side = "least" if index else "most"
            rows[f"{name}: K-NN output at {side}"] = "never" if weakest is None else f"{weakest:+.3f}"
    if (limits := admission.document_limits) is not None:
        rows["document: admitted share above"] = f"{100 * limits.share:.1f}%"
        if limits.count is not None:
            rows["document: admitted tokens"] = f"{limits.count[0]:.1f} to {limits.count[1]:.1f}"
    return rows
