"""The estimator that users import: scikit-learn's manners over `train` and `Model`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from exaudit.errors import SettingError
from exaudit.model.boundaries import with_boundary
from exaudit.model.documents import as_documents, values_of
from exaudit.model.folder import load_model, save_model
from exaudit.model.model import Model
from exaudit.model.options import Report, RunOptions
from exaudit.model.scores import Scores
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["Labeler"]


class Labeler(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A document classifier whose decision comes apart into a decision for every word.

    X can be texts, lists of tokens, or `Document`s; y the labels (omitted if the Documents carry theirs): two
    classes, more, or lists of labels if a document may have several (also as scikit-learn's table of zeros and ones).

    Parameters
    ----------
    tokens
        How texts become tokens: "words" (punctuation stands by itself, HTML is left out, Chinese, Japanese and Thai
        are cut) or "whitespace". Documents that come with tokens keep them; where all of them do, later texts are cut
        like these.
    encoder
        "minilm" (the default), a folder, a hub name, or "none" for word embeddings only.
    layers
        Hidden layers to concatenate, counted from 1; None takes the encoder's default or, if it is tuned, the last
        four (all of them for the teacher).
    max_length
        Cut documents after so many word pieces; None cuts nothing.
    tune_encoder
        Fine-tune the Transformer on the labels before it is frozen; word embeddings are then left out.
    pretrain
        Pre-train the encoder on synthetic errors before it is tuned. None keeps the result only if it separates the
        dev documents, and does not pre-train with token labels.
    vocabulary
        Words with a trainable embedding; 0 for none.
    word_dimension
        Width of the word embeddings.
    word_vectors
        A word2vec or GloVe file to start them from.
    filters
        Filters of each width (M).
    widths
        Filter widths.
    dropout
        On the pooled output.
    pool
        "max", or "none" to score each token by its own filters. None means max, but none on a tuned encoder for
        tokens or a student.
    passage
        Word pieces of a passage: a longer document has a max-pool for each of its passages, and its output is their
        mean. 0: one for the whole document, as in the paper. None means 256; 0 with recipe paper, a tuned encoder or
        filters wider than one.
    loss
        "document", "min-max" or "token".
    min_max
        How the min-max loss is computed: over the "words" of a document, as in the paper's equations, or "padded", as
        in its code, where padding takes part with a score of 0. None means words, but padded with recipe paper.
    epochs
        None means 12 (20 with recipe paper), or a few on a tuned encoder.
    batch_size
        Documents per step.
    learning_rate
        Of Adadelta.
    recipe
        "stable" (decaying rate, averaged weights, document boundary tuned on dev) or "paper" (its code to the letter:
        last four layers, constant rate, the single best epoch of the dev documents, boundaries at zero).
    boundary
        How the words' boundary is set after training on document labels: for "f0.5" (few and right words) or "f1"
        (misses count as much as false alarms), by the labels of the dev documents; by "documents" (where these are
        decided best by their largest word); or "zero", as in the paper. None means f0.5, but zero with recipe paper.
    select
        Choose the epoch by "f1", "accuracy", "loss", "token-f0.5" or "linear-f1" on dev; the last is F1 by the final
        linear layer, whatever the loss, as in the paper's code, and the default with recipe paper.
    positive
        The positive class of two, if its name does not tell; of more, the one to tell from the rest.
    seed
        One seed for everything random.
    device
        "auto", "cpu" or "cuda".
    precision
        What the encoder reads in: "float32", "bfloat16" (about twice as fast on hardware that has it, with nearly the
        same decisions), or "auto": bfloat16 on CPUs and GPUs that have it, float32 elsewhere, with recipe paper, and
        while the encoder is tuned on a GPU.
    cache
        Folder of the feature cache; None takes the usual place, "" keeps features in memory.

    Attributes
    ----------
    model_
        The trained `Model`.
    classes_
        The labels, sorted, as they were given.

    Examples
    --------
    >>> labeler = Labeler().fit(texts, labels)          # document labels only
    >>> labeler.predict(["The soup was cold ."])        # document decisions, as in scikit-learn
    >>> labeler.label(["The soup was cold ."])[0]       # a score for every word
    """

    def __init__(
        self,
        *,
        tokens: str = "words",
        encoder: str = "minilm",
        layers: Sequence[int] | None = None,
        max_length: int | None = None,
        tune_encoder: bool = False,
        pretrain: bool | None = None,
        vocabulary: int = 7500,
        word_dimension: int = 300,
        word_vectors: str | None = None,
        filters: int = 1000,
        widths: Sequence[int] = (1,),
        dropout: float = 0.5,
        pool: str | None = None,
        passage: int | None = None,
        loss: str = "document",
        min_max: str | None = None,
        epochs: int | None = None,
        batch_size: int = 50,
        learning_rate: float = 1.0,
        recipe: str = "stable",
        boundary: str | None = None,
        select: str | None = None,
        positive: str | None = None,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        cache: str | None = None,
    ) -> None:
        self.tokens = tokens
        self.encoder = encoder
        self.layers = layers
        self.max_length = max_length
        self.tune_encoder = tune_encoder
        self.pretrain = pretrain
        self.vocabulary = vocabulary
        self.word_dimension = word_dimension
        self.word_vectors = word_vectors
        self.filters = filters
        self.widths = widths
        self.dropout = dropout
        self.pool = pool
        self.passage = passage
        self.loss = loss
        self.min_max = min_max
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

    model_: Model
    classes_: NDArray[Any]

    @property
    def settings(self) -> Settings:
        """The parameters as training takes them, checked."""
        return Settings(**{field.name: getattr(self, field.name) for field in fields(Settings)})

    # -- training -------------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Any],
        y: Sequence[Any] | None = None,
        *,
        dev: Iterable[Any] | tuple[Iterable[Any], Sequence[Any]] | None = None,
        init: Labeler | Model | None = None,
        work: str | Path | None = None,
        resume: bool = False,
        group: str | None = None,
        report: Report | None = None,
    ) -> Self:
        """Train on documents X with labels y, choosing the epoch on `dev`.

        Parameters
        ----------
        X
            Texts, lists of tokens, or Documents.
        y
            Their labels; None if the Documents carry theirs.
        dev
            Documents, or a pair (X, y); None holds out a tenth of X.
        init
            A trained Labeler or Model to start from; it provides encoder, vocabulary, classes and weights.
        work
            A folder for checkpoints.
        resume
            Continue an interrupted run from the checkpoints in `work`.
        group
            A column of the Documents (`meta`); those with the same value, such as an original and its revision, go
            into one batch while the encoder is tuned.
        report
            Called with a dict after every epoch.
        """
        labels = _label_lists(y)
        documents = as_documents(X, labels, cut=self.tokens)
        if isinstance(dev, tuple):
            dev = as_documents(dev[0], _label_lists(dev[1]), name="dev", cut=self.tokens)
        elif dev is not None:
            dev = as_documents(dev, name="dev", cut=self.tokens)
        model = train(
            self.settings,
            documents,
            dev,
            init=init.model_ if isinstance(init, Labeler) else init,
            values=values_of(labels),
            options=RunOptions(None if work is None else Path(work), resume, report, group),
        )
        return self._take(model)

    def tune_boundary(self, X: Iterable[Any], *, beta: float = 0.5, by: str = "tokens") -> Self:
        """Move the decision boundary of the tokens to where F_beta is best, by these documents, of which a few will do.

        Parameters
        ----------
        X
            Labelled documents.
        beta
            Which F-score; 0.5 prefers precision.
        by
            The labels of the "tokens"; or those of documents alone, by "f1", "f0.5" or "documents".
        """
        check_is_fitted(self)
        return self._take(
            with_boundary(self.model_, as_documents(X, cut=self.model_.settings.tokens), beta=beta, by=by)
        )

    # -- prediction -----------------------------------------------------------------------------------

    def predict(self, X: Iterable[Any]) -> NDArray[Any]:
        """The class of every document; where documents have several labels, a table of zeros and ones (n, C)."""
        check_is_fitted(self)
        labels = self.model_.labels
        decided = [scores.decided for scores in self.iter_label(_texts(X))]
        if labels.kind != "multilabel":
            return np.array(labels.values)[[classes[0] for classes in decided]]
        table = np.zeros((len(decided), len(labels)), np.int64)
        for row, classes in zip(table, decided, strict=True):
            row[list(classes)] = 1
        return table[:, self._order()]

    def predict_proba(self, X: Iterable[Any]) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of `classes_`."""
        outputs = self._outputs(X)  # (n, C)
        if self.model_.labels.kind != "multiclass":
            return np.asarray(1 / (1 + np.exp(-outputs)))  # of two classes, the sigmoid of their difference
        # Of the winner the output is its lead over the second; of the others, how far they are behind the winner.
        behind = np.exp(np.minimum(outputs, 0))  # (n, C)
        return np.asarray(behind / behind.sum(1, keepdims=True))

    def decision_function(self, X: Iterable[Any]) -> NDArray[np.float64]:
        """Scores (n, C) in the order of `classes_`; of two classes those of the second (n,), as scikit-learn has it."""
        scores = self._outputs(X)
        return scores[:, 1] if self.model_.labels.kind == "binary" else scores

    def label(self, X: Iterable[Any], *, exemplars: bool = False) -> list[Scores]:
        """Scores of every document and of each of its words, with exemplar vectors on request."""
        return list(self.iter_label(X, exemplars=exemplars))

    def iter_label(
        self, X: Iterable[Any], *, exemplars: bool = False, desc: str | None = None, total: int | None = None
    ) -> Iterator[Scores]:
        """Like `label`, one document at a time, for files that do not fit into memory."""
        check_is_fitted(self)
        return self.model_.iter_label(X, exemplars=exemplars, desc=desc, total=total)

    def _outputs(self, X: Iterable[Any]) -> NDArray[np.float64]:
        """The scores of all classes in the order of `classes_`; of two, the one is minus the other."""
        check_is_fitted(self)
        rows = [[view.output for view in scores.views] for scores in self.iter_label(_texts(X))]
        outputs = np.array(rows, np.float64).reshape(len(rows), -1)  # (n, K)
        if self.model_.labels.kind == "binary":
            outputs = np.concatenate([-outputs, outputs], 1)  # (n, 2)
        return outputs[:, self._order()]

    def _order(self) -> NDArray[np.int64]:
        """Where the classes of `classes_` stand in the model."""
        return np.argsort(np.array(self.model_.labels.values), kind="stable")

    # -- files and scikit-learn -------------------------------------------------------------------------

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a model folder: safetensors, JSON and a model card."""
        check_is_fitted(self)
        save_model(self.model_, Path(path), overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str = "auto",
        encoder: str | None = None,
        precision: str | None = None,
    ) -> Self:
        """Read a model folder. `encoder` says where its Transformer is now, if it has moved; `precision` what it reads
        in, if not what the model was trained with."""
        model = load_model(Path(path), device=device, encoder=encoder, precision=precision)
        parameters = {field.name: getattr(model.settings, field.name) for field in fields(Settings)}
        return cls(**parameters)._take(model)

    def _take(self, model: Model) -> Self:
        self.model_ = model
        self.classes_ = model.labels.sorted_values
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


def _texts(X: Iterable[Any]) -> Iterable[Any]:
    if isinstance(X, str):
        raise SettingError("X is one string; give a list of texts")
    return X


def _label_lists(y: Any) -> Any:
    """Labels as they come; scikit-learn's table of zeros and ones as lists of column numbers."""
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return [np.flatnonzero(row).tolist() for row in y]
    return y
