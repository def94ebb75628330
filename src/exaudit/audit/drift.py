"""Is new data like the data that a model was calibrated on? No labels are needed: the figures of its documents are
compared with those of reference documents, kept in the model folder as drift.json."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exaudit._checksum import read_sealed, write_sealed
from exaudit.audit.profile import DIRECTIONS, DISTANCES, MEASURES, Floats, Profile, figures
from exaudit.audit.shift import CONTENT, FarDocument, Shift, far_documents
from exaudit.decide.density_ratio import density_ratio
from exaudit.decide.two_sample import draws_for, energy_distance, two_sample_test
from exaudit.decide.watch import Gambler
from exaudit.errors import DataError, ModelError, SettingError
from exaudit.model.folder import note_fitted, read_description
from exaudit.model.model import Model
from exaudit.model.scores import Scores

__all__ = [
    "COMMAND",
    "RATE",
    "Drift",
    "DriftReference",
    "DriftWatch",
    "check_enough",
    "check_rate",
    "find_drift",
]

RATE = 0.01  # of false alarms
FEWEST = 20  # documents, of the reference and of a file
MOST = 2000  # documents that are compared; more are drawn from
FARTHEST = 5  # documents that are shown
WINDOW = 50  # documents that a watch describes
SCHEMA = 1
COMMAND = "exaudit drift MODEL FILE --reference FILE --keep"


@dataclass(frozen=True)
class Drift:
    """Whether documents differ from the reference more than chance explains, and in what.

    `p` is the chance of so large a difference, in any measure, between files from one source. `shifts` has every
    measure that was looked at, the clearest first.
    """

    documents: int
    reference: int
    rate: float
    p: float
    shifts: tuple[Shift, ...]
    farthest: tuple[FarDocument, ...]
    profiles: tuple[Profile, Profile]  # of the reference and of the documents
    notes: tuple[str, ...] = ()

    @property
    def detected(self) -> bool:
        return self.p <= self.rate

    @property
    def found(self) -> tuple[Shift, ...]:
        """The measures that have shifted, at the same false-alarm rate."""
        return tuple(shift for shift in self.shifts if shift.p <= self.rate)

    @property
    def reason(self) -> str:
        """In plain words: what has shifted, or that nothing was seen to."""
        if self.detected:
            return "; ".join(shift.sentence for shift in self.found)
        return (
            f"no shift was found among {self.documents:,} documents against {self.reference:,} of the reference "
            f"(false-alarm rate {100 * self.rate:g}%); a small one may go unseen"
        )

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.detected:
            return f"No drift: {self.reason}."
        return (
            f"Drift: the {self.documents:,} documents are not like the {self.reference:,} of the reference, "
            f"p = {self.p:.2g} at a false-alarm rate of {100 * self.rate:g}%."
        )

    def weights(self) -> Floats:
        """How much more often documents like each of the reference occur in the file (m,), in the order of `profiles`:
        weights for what was calibrated on them, if only what documents look like has shifted."""
        return density_ratio(*(profile.values for profile in self.profiles))

    def to_json(self) -> dict[str, Any]:
        return {
            "detected": self.detected,
            "reason": self.reason,
            "p": self.p,
            "false_alarm_rate": self.rate,
            "documents": self.documents,
            "reference": self.reference,
            "shifts": [shift.to_json() for shift in self.shifts],
            "farthest": [document.to_json() for document in self.farthest],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class DriftReference:
    """The figures of documents like those that the model is meant for, and what they depend on."""

    profile: Profile
    boundaries: tuple[float, ...]  # of the words; what is flagged depends on them
    support_version: str | None  # that the distances are of; None: no support set
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, profile: Profile, model: Model, support_version: str | None) -> DriftReference:
        """Of at most 2,000 documents, drawn where there are more."""
        check_enough(len(profile), "the reference has")
        return cls(_at_most(profile), model.word_boundaries, support_version)

    def save(self, folder: Path) -> None:
        """Figures only: neither texts nor ids leave the documents' file."""
        content = None if self.profile.content is None else self.profile.content.tolist()
        value = {
            "schema": SCHEMA,
            "measures": list(self.profile.names),
            "figures": self.profile.values.tolist(),
            "content": content,
            "boundaries": list(self.boundaries),
            "support_version": self.support_version,
        }
        write_sealed(folder / "drift.json", value)
        note_fitted(folder, "drift.json")

    @classmethod
    def load(cls, folder: Path) -> DriftReference | None:
        """The reference of a model folder; None where none was kept."""
        path = folder / "drift.json"
        try:
            value = read_sealed(path)
            if value["schema"] > SCHEMA:
                raise ModelError(
                    f"{path} was written by a newer exaudit; install that, or run `{COMMAND}` again"
                )
            return cls._from_json(value)
        except FileNotFoundError:
            if path.name in read_description(folder).get("fitted", ()):
                raise ModelError(f"{path} is missing; restore it, or run `{COMMAND}` again") from None
            return None
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path} is damaged ({error!r}); run `{COMMAND}` again") from error

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> DriftReference:
        names = tuple(value["measures"])
        if not names or not set(names) <= set(MEASURES):
            raise ValueError(f"measures {names}")
        table = np.array(value["figures"], np.float64)
        content = None if value["content"] is None else np.array(value["content"], np.float64)
        if table.ndim != 2 or table.shape[1] != len(names) or len(table) < FEWEST:
            raise ValueError(f"figures of shape {table.shape}")
        if content is not None and content.shape != (len(table), DIRECTIONS):
            raise ValueError(f"content of shape {content.shape}")
        if not np.isfinite(table).all() or not (content is None or np.isfinite(content).all()):
            raise ValueError("a figure is not a number")
        version = value["support_version"]
        return cls(
            Profile(("",) * len(table), names, table, content),
            tuple(float(boundary) for boundary in value["boundaries"]),
            None if version is None else str(version),
        )

    def fitting(self, model: Model, support_version: str | None) -> DriftReference:
        """The reference for a model and support set as they are: without what cannot be compared any more."""
        if self.boundaries != model.word_boundaries:
            raise ModelError(
                "the reference for drift was measured when the decision boundary of the words was another; run "
                f"`{COMMAND}` again"
            )
        kept = [name for name in self.profile.names if name not in DISTANCES]
        if self.support_version == support_version or len(kept) == len(self.profile.names):
            return self
        note = "the support set has changed since the reference was measured, so distances are not compared"
        return replace(self, profile=self.profile.only(kept), notes=(*self.notes, note))


def find_drift(
    reference: DriftReference, new: Profile, *, rate: float = RATE, seed: int = 0, farthest: int = FARTHEST
) -> Drift:
    """Compare the documents of a file with the reference, with at most `rate` false alarms.

    Parameters
    ----------
    reference, new
        Figures of documents; of more than 2,000 new ones, so many are drawn for the test.
    rate
        The share of files from the same source for which drift is reported nevertheless, at most: 0.001 to 0.2.
    seed
        Of the permutations.
    farthest
        How many of the documents to name that are least like the reference, by what has shifted where anything has.
    """
    check_rate(rate)
    check_enough(len(new), "the file has")
    old = reference.profile
    names = tuple(name for name in old.names if name in new.names)
    old, new = old.only(names), new.only(names)
    drawn = _at_most(new)
    contents = None
    if old.content is not None and drawn.content is not None:
        contents = old.content, drawn.content
    test = two_sample_test(old.values, drawn.values, contents, draws=draws_for(rate), seed=seed)
    shifts = [
        Shift.of(name, float(test.adjusted[k]), old.column(name), new.column(name))
        for k, name in enumerate(names)
    ]
    if contents is not None:
        apart = energy_distance(*contents)
        sentence = (
            f"the words are others, or used otherwise, as the model sees them: energy distance {apart:.3g}"
        )
        shifts.append(Shift(CONTENT, float(test.adjusted[-1]), sentence, apart, 0.0))
    shifts.sort(key=lambda shift: shift.p)
    shifted = [shift.measure for shift in shifts if shift.p <= rate and shift.measure != CONTENT]
    far = far_documents(old.only(shifted or names), new.only(shifted or names), farthest)
    return Drift(len(new), len(old), rate, test.p, tuple(shifts), far, (old, new), reference.notes)


def check_rate(rate: float) -> None:
    if not 0.001 <= rate <= 0.2:
        raise SettingError(f"the false-alarm rate must be from 0.001 to 0.2, not {rate:g}")


def check_enough(count: int, found: str) -> None:
    """Refuse to compare a handful of documents, before work is put into them."""
    if count < FEWEST:
        raise DataError(
            f"{found} only {count} document{'' if count == 1 else 's'}; with fewer than {FEWEST}, a shift cannot be "
            "told from chance: give more"
        )


class DriftWatch:
    """Drift in a stream: see one labelled document after another, and ask at any time.

    The chance that it is ever `detected` while the documents are like the reference is at most `rate`, however long the
    stream. Once detected it stays so.

    Examples
    --------
    >>> watch = DriftWatch(auditor.drift_reference(), auditor.model)
    >>> for scores in auditor.iter_label(documents):
    ...     if watch.see(scores):
    ...         print(watch.reason)
    """

    def __init__(self, reference: DriftReference, model: Model, *, rate: float = RATE, seed: int = 0) -> None:
        check_rate(rate)
        self._reference, self._model = reference.profile, model
        self.rate, self._seed = rate, seed
        self._gamblers: dict[str, Gambler] = {}
        self._recent: deque[dict[str, float]] = deque(maxlen=WINDOW)
        self.documents = 0
        self.reason: str | None = None  # why drift was reported; None: it was not
        self.since: int | None = None  # the number of the document at which it was

    @property
    def detected(self) -> bool:
        return self.reason is not None

    def see(self, scores: Scores) -> bool:
        """Look at one more document; tells whether drift was detected by now."""
        return self.see_figures(figures(scores, self._model))

    def see_figures(self, found: dict[str, float]) -> bool:
        """The same, of a document that was measured already."""
        if self.detected:
            return True
        if not self._gamblers:
            names = [name for name in self._reference.names if name in found]
            self._gamblers = {
                name: Gambler(self._reference.column(name).tolist(), seed=self._seed + k)
                for k, name in enumerate(names)
            }
        self.documents += 1
        self._recent.append(found)
        limit = len(self._gamblers) / self.rate
        won = {name: gambler.see(found[name]) for name, gambler in self._gamblers.items()}
        name = max(won, key=lambda each: won[each])
        if won[name] >= limit:
            recent = np.array([row[name] for row in self._recent])
            shift = Shift.of(name, 1 / won[name], self._reference.column(name), recent)
            self.since = self.documents
            self.reason = f"of the last {len(recent)} documents: {shift.sentence}"
        return self.detected


def _at_most(profile: Profile) -> Profile:
    if len(profile) <= MOST:
        return profile
    return profile.rows(np.sort(np.random.default_rng(0).permutation(len(profile))[:MOST]))
