"""The estimator that users import: trains on documents, labels documents and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from exaudit._device import pick_device
from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.encode.features import Features
from exaudit.encode.packed import Packed
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.errors import DataError, ModelError, SettingError
from exaudit.head.batch import Batch
from exaudit.head.network import Head
from exaudit.metrics import best_offset, stable_offset
from exaudit.model import fitting, folder
from exaudit.model.scores import TokenScores
from exaudit.model.tuned import Plan

__all__ = ["Labeler", "as_documents"]

_CHUNK = 2048  # documents sorted by length together while labelling


class Labeler(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A document classifier whose decision comes apart into a decision for every word.

    >>> labeler = Labeler().fit(texts, labels)          # document labels only
    >>> labeler.predict(["The soup was cold ."])        # document decisions, as scikit-learn has it
    >>> labeler.label(["The soup was cold ."])[0]       # TokenScores: a score for every word

    X may be texts, lists of tokens, or `Document`s; y the labels (left out where Documents carry theirs).

    Parameters
    ----------
    encoder : "minilm" (the embedded default), a folder, a hub name, or "none" for word embeddings only.
    layers : hidden layers to concatenate, counted from 1; None takes the encoder's default, or, where it is
        tuned, the last four (all of them for the teacher; see `exaudit.model.teaching`).
    max_length : cut documents after so many word pieces; None cuts nothing.
    tune_encoder : fine-tune the Transformer on the labels before it is frozen; word embeddings are then left out.
    rehearse : let the encoder first learn to spot changed words (`exaudit.model.rehearsal`), or not; None goes on from
        that where it tells the dev documents apart (with token labels: if there are clean texts).
    teachers : how many of them a tuned student of document labels learns from; each takes as long as the student.
    vocabulary, word_dimension, word_vectors : the trainable word embeddings (0 leaves them out), and a
        word2vec or GloVe file to start them from.
    filters, widths, dropout, pool : the head; see `HeadConfig`. pool None means max, but none (each token by its
        own filters) for tokens, or a student, on a tuned encoder.
    loss : "document", "min-max" or "token".
    epochs, batch_size, learning_rate, select : training; epochs None means 12 (20 with recipe paper), or a few on
        a tuned encoder; `select` is f1, accuracy, loss or token-f0.5.
    recipe : "stable" (falling rate, averaged weights, boundary of the documents tuned on dev) or "paper".
    boundary : of the words, after training with document labels: "documents" (where the dev documents are decided
        best by their largest word, for F0.5; see `tune_boundary`) or "zero", as in the paper. None means documents,
        but zero with recipe paper.
    positive : the positive class, where its name does not tell.
    seed, device, precision : precision "bfloat16" runs the encoder in half precision on a GPU.
    cache : folder of the feature cache; None takes the usual place, "" keeps features in memory.
    """

    def __init__(
        self,
        *,
        encoder: str = "minilm",
        layers: Sequence[int] | None = None,
        max_length: int | None = None,
        tune_encoder: bool = False,
        rehearse: bool | None = None,
        teachers: int = 1,
        vocabulary: int = 7500,
        word_dimension: int = 300,
        word_vectors: str | None = None,
        filters: int = 1000,
        widths: Sequence[int] = (1,),
        dropout: float = 0.5,
        pool: str | None = None,
        loss: str = "document",
        epochs: int | None = None,
        batch_size: int = 50,
        learning_rate: float = 1.0,
        recipe: str = "stable",
        boundary: str | None = None,
        select: str | None = None,
        positive: str | None = None,
        seed: int = 0,
        device: str = "auto",
        precision: str = "float32",
        cache: str | None = None,
    ) -> None:
        self.encoder = encoder
        self.layers = layers
        self.max_length = max_length
        self.tune_encoder = tune_encoder
        self.rehearse = rehearse
        self.teachers = teachers
        self.vocabulary = vocabulary
        self.word_dimension = word_dimension
        self.word_vectors = word_vectors
        self.filters = filters
        self.widths = widths
        self.dropout = dropout
        self.pool = pool
        self.loss = loss
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.recipe = recipe
        self.boundary = boundary
        self.select = select
        self.positive = positive
        self.seed = seed
        self.device = device
        self.precision = precision
        self.cache = cache

    # Set by fit and load:
    names_: LabelNames
    classes_: NDArray[Any]
    head_: Head
    encoder_: Transformer | None
    vocabulary_: Vocabulary | None
    by_tokens_: bool  # whether the largest token score decides the document
    offset_: float  # decision boundary of the tokens
    document_offset_: float  # decision boundary of the documents
    record_: dict[str, Any]  # how the model was trained, and how it did on dev

    # -- training -------------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        *,
        dev: Sequence[Any] | tuple[Sequence[Any], Sequence[Any]] | None = None,
        init: Labeler | None = None,
        clean: Sequence[Any] | None = None,
        work: str | Path | None = None,
        resume: bool = False,
        group: str | None = None,
        report: Callable[[dict[str, Any]], None] | None = None,
    ) -> Labeler:
        """Train on documents X with labels y, choosing the epoch on `dev`.

        dev : Documents, or a pair (X, y); None sets aside a tenth of X.
        init : a trained Labeler to go on from; it gives encoder, vocabulary and weights, and their parameters.
        clean : texts that hold no positive word, beside token labels: an encoder that is tuned rehearses with them.
        work : a folder for checkpoints; with `resume`, a run that was stopped goes on from them.
        group : a column of the Documents (`meta`); those with the same value, such as an original and its revision,
            are in one batch while the encoder is tuned.
        report : called with a dict after every epoch.
        """
        documents = as_documents(X, y)
        held_out = (
            as_documents(*dev) if isinstance(dev, tuple) else None if dev is None else as_documents(dev)
        )
        plan = Plan(None if work is None else Path(work), resume, report, group)
        spare = () if clean is None else as_documents(clean, name="clean")
        fitting.fit(self, documents, held_out, init=init, plan=plan, clean=spare)
        self.classes_ = _classes(self.names_, y)
        return self

    def tune_boundary(self, X: Sequence[Any], *, beta: float = 0.5, level: str = "token") -> Labeler:
        """Move the decision boundary of the tokens to where F_beta on these documents is best.

        level : "token" needs the label of every token. "document" needs document labels alone: a document counts as
            decided positive if one of its tokens is, and the boundary goes where these decisions do best. It is the
            median of resampled documents, since the single best one is mostly luck.
        """
        documents = as_documents(X)
        if level not in ("token", "document"):
            raise SettingError(f"a boundary is tuned at the level of tokens or documents, not {level!r}")
        find: Callable[[Document], Any] = (
            self.names_.token_targets if level == "token" else self.names_.document_target
        )
        truth = [find(document) for document in documents]
        if not documents or any(target is None for target in truth):
            raise DataError(
                f"tuning the decision boundary needs {level} labels in every document, and some have none"
            )
        scores = [one.scores for one in self.iter_label(documents)]
        if level == "token":
            self.offset_ = best_offset(np.concatenate(scores), np.concatenate(truth), beta)
        else:
            largest = np.array([own.max() for own in scores])
            self.offset_ = stable_offset(largest, np.array(truth), beta)
        self.record_["boundary"] = {
            "offset": self.offset_,
            "documents": len(documents),
            "beta": beta,
            "level": level,
        }
        return self

    # -- prediction -----------------------------------------------------------------------------------

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """The class of every document."""
        decisions = [scores.decision for scores in self.iter_label(X)]
        return self.classes_[decisions]

    def predict_proba(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Probabilities of (negative, positive), in the order of `classes_`."""
        outputs = torch.tensor([scores.output for scores in self.iter_label(X)], dtype=torch.float64)
        positive = torch.sigmoid(outputs)  # softmax over two classes is the sigmoid of their difference
        return torch.stack([1 - positive, positive], 1).numpy()

    def decision_function(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Document scores; positive means the positive class."""
        return np.array([scores.output for scores in self.iter_label(X)], dtype=np.float64)

    def label(self, X: Sequence[Any], *, exemplars: bool = False) -> list[TokenScores]:
        """Scores of every document and of each of its words, with exemplar vectors where asked for."""
        return list(self.iter_label(X, exemplars=exemplars))

    def iter_label(
        self, X: Iterable[Any], *, exemplars: bool = False, desc: str | None = None, total: int | None = None
    ) -> Iterator[TokenScores]:
        """The same, one after another, for files that do not fit into memory."""
        self._check_fitted()
        documents = iter(_each_document(X))
        with progress(total=total, unit="doc", desc=desc or "label") as bar:
            while chunk := list(islice(documents, _CHUNK)):
                yield from self._label_chunk(chunk, exemplars, bar)

    def note_on_length(self, documents: Sequence[Document]) -> str | None:
        """A sentence where documents go on after the last word piece that the model reads (`max_length`)."""
        if self.encoder_ is None or self.encoder_.max_length is None:
            return None
        pieces = self.encoder_.pieces([document.tokens for document in documents])
        last = pieces.words[pieces.bounds[1:] - 1]  # (D,) the last word that was read, in part at least
        cut = sum(int(word) + 1 < len(d.tokens) for word, d in zip(last, documents, strict=True))
        if not cut:
            return None
        return (
            f"{cut:,} of {len(documents):,} documents are longer than the {self.encoder_.max_length} word pieces that "
            "the model reads; the words after those score the bias alone."
        )

    def _label_chunk(self, documents: list[Document], exemplars: bool, bar: Any) -> list[TokenScores]:
        results: list[TokenScores | None] = [None] * len(documents)
        for indices, packed in self._packed([document.tokens for document in documents]):
            mine = [documents[i] for i in indices]
            for i, scores in zip(indices, self._decompose(mine, packed, exemplars), strict=True):
                results[i] = scores
            bar.update(len(indices))
        return [scores for scores in results if scores is not None]

    def _decompose(self, documents: list[Document], packed: Packed, exemplars: bool) -> Iterator[TokenScores]:
        ids = None if self.vocabulary_ is None else [self.vocabulary_.ids(d.tokens) for d in documents]
        batch = Batch.of(packed, [len(d.tokens) for d in documents], ids)
        parts = self.head_.decompose(batch, exemplars=exemplars)
        logits, scores = parts.logits.cpu().numpy(), parts.scores.cpu().numpy()
        vectors = None if parts.exemplars is None else parts.exemplars.cpu().numpy()
        for b, (first, last) in enumerate(pairwise(batch.word_bounds.tolist())):
            negative, positive = scores[first:last, 0], scores[first:last, 1]
            output = logits[b, 1] - logits[b, 0] - np.float32(self.document_offset_)
            if self.by_tokens_:
                output = (positive - negative).max() - np.float32(self.offset_)
            mine = None if vectors is None else vectors[first:last]
            yield TokenScores(documents[b], float(output), negative, positive, self.offset_, mine)

    def _packed(self, token_lists: list[tuple[str, ...]]) -> Iterator[tuple[list[int], Packed]]:
        if self.encoder_ is not None:
            yield from self.encoder_.batches(token_lists)
            return
        features = Features.of_words(token_lists)
        device = self.head_.weight.device
        for start in range(0, len(token_lists), 256):
            indices = list(range(start, min(start + 256, len(token_lists))))
            packed = features.packed(indices)
            yield indices, Packed(packed.vectors.to(device), packed.bounds, packed.words.to(device))

    def _check_fitted(self) -> None:
        if not hasattr(self, "head_"):
            raise NotFittedError("this Labeler is not trained yet: call fit, or load a model folder")

    # -- files ------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a model folder: safetensors, JSON and a model card."""
        self._check_fitted()
        folder.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto", encoder: str | None = None) -> Labeler:
        """Read a model folder. `encoder` says where its Transformer is now, if it has moved."""
        pick_device(device)
        labeler: Labeler = folder.load(cls, Path(path), device=device, encoder=encoder)
        return labeler


def as_documents(X: Sequence[Any], y: Sequence[Any] | None = None, *, name: str = "X") -> list[Document]:
    """Texts, token lists or Documents as Documents, with labels y where given."""
    if isinstance(X, str):
        raise SettingError(f"{name} is one string; give a list of texts")
    documents = list(_each_document(X, name))
    if y is None:
        return documents
    if len(y) != len(documents):
        raise DataError(f"{len(documents)} documents but {len(y)} labels; give one label per document")
    return [
        Document(d.id, d.text, d.tokens, str(label), d.token_labels, d.meta, d.line)
        for d, label in zip(documents, y, strict=True)
    ]


def _each_document(X: Iterable[Any], name: str = "X") -> Iterator[Document]:
    for number, item in enumerate(X, 1):
        if isinstance(item, Document):
            document = item
        elif isinstance(item, str):
            document = Document.from_text(item, id=str(number))
        elif isinstance(item, list | tuple) and all(isinstance(token, str) for token in item):
            document = Document.from_tokens(item, id=str(number))
        else:
            raise SettingError(
                f"item {number} of {name} is a {type(item).__name__}; give texts, lists of tokens or Documents"
            )
        if not document.tokens:
            raise DataError(
                f"document {document.id!r} of {name} is empty: it has no tokens", line=document.line or None
            )
        yield document


def _classes(names: LabelNames, y: Sequence[Any] | None) -> NDArray[Any]:
    """Negative and positive class, as the caller's own objects where y gave them (numbers stay numbers)."""
    given = {str(label): label for label in (y if y is not None else ())}
    try:
        return np.array([given.get(name, name) for name in (names.negative, names.positive)])
    except ValueError as error:
        raise ModelError(f"labels of mixed kinds: {error}") from error
