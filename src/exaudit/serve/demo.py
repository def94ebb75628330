"""A model of the built-in sample, with a support set, a K-NN and limits, made once and kept in the cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from exaudit._files import folder_beside, make_folder, put_folder
from exaudit._version import __version__
from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.encode.cache import default_folder
from exaudit.errors import EncoderError
from exaudit.model.folder import save_model
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["DemoSizes", "demo_documents", "demo_model"]

SIZES = {"train": 800, "dev": 160, "test": 300}
DemoSizes = dict[str, int]


def demo_documents(sizes: DemoSizes | None = None) -> list[Document]:
    """Reviews that the model has never seen, with the truth for every word."""
    return sample_splits("reviews", sizes=sizes or SIZES)["test"]


def demo_model(
    folder: Path | None = None,
    *,
    sizes: DemoSizes | None = None,
    settings: Settings | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """The folder of the model; it is made where it is not there yet, in a minute or two.

    Parameters
    ----------
    folder
        Where to keep it; in the cache by default.
    sizes
        How many reviews to train, to fit and to look at.
    settings
        Of the model. By default a small one on the default encoder or, where that is not installed, on words alone.
    tell
        Is told what is done.
    """
    place = folder or default_folder() / "workbench" / f"reviews-{__version__}"
    if (place / "admission.json").is_file():
        return place
    splits = sample_splits("reviews", sizes=sizes or SIZES)
    tell(f"{len(splits['train']):,} reviews become a model, once; it is kept in {place}")
    make_folder(place.parent)
    with folder_beside(place) as draft:
        save_model(_trained(settings, splits, tell), draft / "model")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about few documents, which is what a demo has
            auditor = Auditor.open(draft / "model")
            tell("every word of them becomes an example of the support set")
            auditor.build(splits["train"], author="demo", reason="the reviews that the model was trained on")
            tell("the K-NN and the admission limits are fitted")
            auditor.fit_knn(splits["dev"])
            auditor.fit_admission(
                splits["dev"], quantile=0.9
            )  # so that the queue is one, and not all of the file
        put_folder(draft / "model", place, replace=True)
    return place


def _trained(
    settings: Settings | None, splits: dict[str, list[Document]], tell: Callable[[str], None]
) -> Model:
    wanted = settings or Settings(filters=300, epochs=12, tokens="whitespace")
    options = RunOptions(
        report=lambda record: tell(f"epoch {record['epoch']}") if "epoch" in record else None
    )
    train_documents = [document.without_token_labels() for document in splits["train"]]
    dev = [document.without_token_labels() for document in splits["dev"]]
    try:
        return train(wanted, train_documents, dev, options=options)
    except EncoderError:
        if settings is not None:
            raise
        tell("the default encoder is not installed, so the model knows words alone")
        plain = Settings(encoder="none", filters=300, epochs=20, tokens="whitespace")
        return train(plain, train_documents, dev, options=options)
