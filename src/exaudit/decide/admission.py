"""When to refuse an answer: limits learned where the K-NN was right about the model, and reasons in words.

Token level, per class of the K-NN's prediction, limits from the correct approximations on K-NN dev:
    distance    the nearest exemplar is no farther than the limit, and the K-NN agrees with its document's label
    magnitude   the K-NN's output is at least as far out as the limit
Document level, limits from labelled dev documents:
    share       more of the tokens are admitted than in any dev document that the model got wrong
    count       (optional) the number of admitted tokens is within one standard deviation of the correct ones'

With the recipe `paper` the means are those of the paper's code: distances only of tokens whose nearest exemplar's
document has the label that the K-NN says, and counts only of documents with an admitted token.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Bools, Neighbours, Signs, per_token
from exaudit.decide.rules import sgn
from exaudit.errors import ModelError, SettingError, SupportError

__all__ = [
    "Admission",
    "AdmissionKind",
    "DocumentAdmission",
    "DocumentLimits",
    "TokenAdmission",
    "TokenLimits",
    "apart",
]

AdmissionKind = Literal["distance", "magnitude", "both"]
RECIPES = ("stable", "paper")
Pair = tuple[float | None, float | None]  # (negative, positive); None: never seen, so nothing is admitted


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Largest distance and weakest output allowed, for (negative, positive) predictions."""

    distance: Pair
    output: Pair  # signed: a negative prediction needs an output of at most the first number

    def __post_init__(self) -> None:
        if [limit is None for limit in self.distance] != [limit is None for limit in self.output]:
            raise SettingError("a class has both a distance and an output limit, or neither")

    @classmethod
    def fit(
        cls,
        knn: KNN,
        neighbours: Neighbours,
        model_scores: npt.ArrayLike,
        *,
        quantile: float | None = None,
        paper: bool = False,
    ) -> TokenLimits:
        """Limits from tokens of K-NN dev: the class-wise means over the correct approximations.

        Both means are over all tokens where the K-NN has the model's sign. Whether the nearest exemplar's document
        label agrees too is a condition for admitting a token, not for counting it here; with `paper`, the distance is
        the mean over those alone, "among matches for which the K-NN prediction equals that of the sentence-level label
        of the nearest match". With `quantile` 0.9, say, the limits are instead those that nine in ten correct
        approximations of the class stay within, which admits more.
        """
        if quantile is not None and not 0.0 < quantile <= 1.0:
            raise SettingError(f"the quantile must be above 0 and at most 1, not {quantile}")
        scores = per_token(model_scores, neighbours, "model scores")
        output = knn.output(neighbours)  # (N,)
        prediction = knn.decide(output)  # (N,)
        correct = prediction == sgn(scores)  # (N,)
        if not correct.any():
            raise SupportError(
                "the K-NN agrees with the model on no token given; limits need some that agree"
            )

        def limit(values: npt.NDArray[np.float64]) -> float:
            return float(
                values.mean() if quantile is None else np.quantile(values, quantile, method="inverted_cdf")
            )

        distance: list[float | None] = [None, None]
        weakest: list[float | None] = [None, None]
        for index, sign in enumerate((-1, 1)):
            chosen = correct & (prediction == sign)  # (N,)
            near = chosen & (neighbours.labels[:, 0] == sign) if paper else chosen  # (N,)
            if near.any():
                distance[index] = limit(neighbours.distances[near, 0].astype(np.float64))
                weakest[index] = -sign * limit(-sign * output[chosen])  # a lower bound on sign * output
        return cls((distance[0], distance[1]), (weakest[0], weakest[1]))


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The share of admitted tokens to exceed and, where set, the range of their number."""

    share: float
    count: tuple[float, float] | None = None

    @classmethod
    def fit(
        cls,
        admitted: Bools,
        document_of_token: npt.ArrayLike,
        correct: npt.ArrayLike,
        *,
        use_count: bool = False,
        paper: bool = False,
    ) -> DocumentLimits:
        """Limits from dev: `correct` says of each document whether the model's document prediction is right.

        The share is the largest among the wrong documents, to be exceeded. It starts at zero: a document without
        one admitted token is never admitted, even when dev had no wrong document. With `paper`, such documents are
        left out of the range of the count, too.
        """
        right = np.asarray(correct, dtype=bool)
        counts, tokens = _counts(admitted, document_of_token, len(right))
        shares = counts / np.maximum(tokens, 1)  # (D,)
        if not right.any():
            raise SupportError(
                "the model is right on no document given; document limits need some that are right"
            )
        share = float(shares[~right].max(initial=0.0))
        if not use_count:
            return cls(share)
        counted = counts[right & (counts > 0)] if paper and counts[right].any() else counts[right]
        mean, deviation = float(counted.mean()), float(counted.std())
        return cls(share, (mean - deviation, mean + deviation))


@dataclass(frozen=True, slots=True, eq=False)
class TokenAdmission:
    """Which tokens are admitted; `reason(i)` says why token i is not."""

    admitted: Bools  # (N,)
    prediction: Signs  # (N,), the K-NN's
    output: npt.NDArray[np.float64]  # (N,), the K-NN's
    distance: npt.NDArray[np.float32]  # (N,), to the nearest exemplar
    label: Signs  # (N,), of the nearest exemplar's document
    kind: AdmissionKind
    limits: TokenLimits

    def reason(self, i: int, *, names: tuple[str, str] = ("negative", "positive")) -> str | None:
        """Why token `i` is refused, in words and numbers; None where it is admitted."""
        if self.admitted[i]:
            return None
        sign, output, distance = int(self.prediction[i]), float(self.output[i]), float(self.distance[i])
        index = int(sign > 0)
        farthest, weakest = self.limits.distance[index], self.limits.output[index]
        if farthest is None or weakest is None:
            return f"K-NN says {names[index]}, which it never said rightly where the limits were fitted"
        reasons = []
        if self.kind != "magnitude":
            label = int(self.label[i])
            if label != sign:
                whose = "has no label" if label == 0 else f"is {names[int(label > 0)]}"
                reasons.append(f"K-NN says {names[index]} but the nearest exemplar's document {whose}")
            if distance > farthest:
                found, limit = apart(distance, farthest, 1)
                reasons.append(f"nearest exemplar at {found}, limit {limit}")
        if self.kind != "distance" and sign * output < sign * weakest:
            found, limit = apart(output, weakest, 2)
            reasons.append(f"K-NN output {found}, needs at {'least' if sign > 0 else 'most'} {limit}")
        return "; ".join(reasons)


@dataclass(frozen=True, slots=True, eq=False)
class DocumentAdmission:
    """Which documents are admitted; `reason(d)` says why document d is not."""

    admitted: Bools  # (D,)
    counts: npt.NDArray[np.int64]  # (D,), admitted tokens
    tokens: npt.NDArray[np.int64]  # (D,)
    limits: DocumentLimits

    def reason(self, d: int) -> str | None:
        """Why document `d` is refused, in words and numbers; None where it is admitted."""
        if self.admitted[d]:
            return None
        count, tokens = int(self.counts[d]), int(self.tokens[d])
        if tokens == 0:
            return "the document has no tokens"
        reasons = []
        if not count / tokens > self.limits.share:
            found, limit = apart(100 * count / tokens, 100 * self.limits.share, 1)
            reasons.append(f"{count} of {tokens} tokens admitted ({found}%), needs more than {limit}%")
        if self.limits.count is not None and not self.limits.count[0] <= count <= self.limits.count[1]:
            low, high = self.limits.count
            reasons.append(f"{count} tokens admitted, needs {low:.1f} to {high:.1f}")
        return "; ".join(reasons)


@dataclass(frozen=True, slots=True)
class Admission:
    """The limits, which of them apply, and what they were fitted on."""

    kind: AdmissionKind
    token_limits: TokenLimits
    knn: str  # fingerprint of the K-NN
    support_version: str
    quantile: float | None = None
    document_limits: DocumentLimits | None = None
    recipe: str = "stable"

    def __post_init__(self) -> None:
        if self.kind not in get_args(AdmissionKind):
            raise SettingError(f"admission {self.kind!r} is not one of {', '.join(get_args(AdmissionKind))}")
        if self.recipe not in RECIPES:
            raise SettingError(
                f"unknown recipe {self.recipe!r} of admission; use one of {', '.join(RECIPES)}"
            )

    @classmethod
    def fit(
        cls,
        knn: KNN,
        neighbours: Neighbours,
        model_scores: npt.ArrayLike,
        *,
        support_version: str,
        kind: AdmissionKind = "both",
        quantile: float | None = None,
        recipe: str = "stable",
    ) -> Admission:
        """Token limits from the tokens of K-NN dev; see `TokenLimits.fit`."""
        limits = TokenLimits.fit(knn, neighbours, model_scores, quantile=quantile, paper=recipe == "paper")
        return cls(kind, limits, knn.fingerprint(), support_version, quantile, recipe=recipe)

    def fit_documents(
        self,
        knn: KNN,
        neighbours: Neighbours,
        document_of_token: npt.ArrayLike,
        correct: npt.ArrayLike,
        *,
        use_count: bool = False,
    ) -> Admission:
        """The same admission with document limits as well; see `DocumentLimits.fit`."""
        admitted = self.tokens(knn, neighbours).admitted
        limits = DocumentLimits.fit(
            admitted, document_of_token, correct, use_count=use_count, paper=self.recipe == "paper"
        )
        return replace(self, document_limits=limits)

    def is_stale(self, support_version: str) -> bool:
        """Whether the support set has changed since the limits were fitted."""
        return support_version != self.support_version

    def tokens(self, knn: KNN, neighbours: Neighbours) -> TokenAdmission:
        """Admit or refuse each token."""
        if knn.fingerprint() != self.knn:
            raise SupportError("the admission limits were fitted for another K-NN; fit them again")
        output = knn.output(neighbours)  # (N,)
        prediction = knn.decide(output)  # (N,)
        distance, label = neighbours.distances[:, 0], neighbours.labels[:, 0]  # (N,) each
        index = (prediction > 0).astype(np.int64)  # (N,)
        farthest = np.array(self.token_limits.distance, dtype=np.float64)[
            index
        ]  # (N,); None is nan, and refuses
        weakest = np.array(self.token_limits.output, dtype=np.float64)[index]  # (N,)
        admitted = np.ones(len(neighbours), dtype=bool)  # (N,)
        if self.kind != "magnitude":
            admitted &= (prediction == label) & (distance <= farthest)
        if self.kind != "distance":
            admitted &= prediction * output >= prediction * weakest
        return TokenAdmission(admitted, prediction, output, distance, label, self.kind, self.token_limits)

    def documents(
        self, admitted: Bools, document_of_token: npt.ArrayLike, documents: int
    ) -> DocumentAdmission:
        """Admit or refuse each of `documents` documents by its admitted tokens."""
        limits = self.document_limits
        if limits is None:
            raise SupportError("no document limits were fitted; fit them on labelled documents first")
        counts, tokens = _counts(admitted, document_of_token, documents)
        chosen = counts / np.maximum(tokens, 1) > limits.share  # (D,)
        if limits.count is not None:
            chosen &= (limits.count[0] <= counts) & (counts <= limits.count[1])
        return DocumentAdmission(chosen, counts, tokens, limits)

    def to_json(self) -> dict[str, Any]:
        """As ever; the recipe only where it is not the usual one."""
        value = asdict(self)
        return value if self.recipe != "stable" else {k: v for k, v in value.items() if k != "recipe"}

    @classmethod
    def from_json(cls, value: Any) -> Admission:
        """What `to_json` gave, checked."""
        try:
            token, document = value["token_limits"], value["document_limits"]
            return cls(
                kind=value["kind"],
                token_limits=TokenLimits(_pair(token["distance"]), _pair(token["output"])),
                knn=str(value["knn"]),
                support_version=str(value["support_version"]),
                quantile=None if value["quantile"] is None else float(value["quantile"]),
                document_limits=None if document is None else _document_limits(document),
                recipe=str(value.get("recipe", "stable")),  # until 0.2 there was one
            )
        except (KeyError, TypeError, ValueError) as error:  # SettingError is a ValueError
            raise ModelError(f"damaged admission limits: {error!r}; fit them again") from error


def _pair(values: Any) -> Pair:
    negative, positive = (None if value is None else float(value) for value in values)
    return negative, positive


def _document_limits(value: Any) -> DocumentLimits:
    count = value["count"]
    return DocumentLimits(
        float(value["share"]), None if count is None else (float(count[0]), float(count[1]))
    )


def _counts(
    admitted: Bools, document_of_token: npt.ArrayLike, documents: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Admitted tokens and all tokens of each document."""
    chosen, of_token = np.asarray(admitted), np.asarray(document_of_token)
    if chosen.dtype != bool or chosen.ndim != 1 or chosen.shape != of_token.shape:
        raise SettingError(
            f"admitted tokens {chosen.shape} and their documents {of_token.shape} must be alike"
        )
    if of_token.size and (
        of_token.dtype.kind not in "iu" or of_token.min() < 0 or of_token.max() >= documents
    ):
        raise SettingError(f"the document of a token must be a number from 0 to {documents - 1}")
    of_token = of_token.astype(np.int64)
    return np.bincount(of_token[chosen], minlength=documents), np.bincount(of_token, minlength=documents)


def apart(found: float, limit: float, digits: int) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to see that they differ."""
    while digits < 9 and found != limit and f"{found:.{digits}f}" == f"{limit:.{digits}f}":
        digits += 1
    return f"{found:.{digits}f}", f"{limit:.{digits}f}"
