"""The ways to a trained model. Each takes a job and gives what it trained.

frozen   the encoder stays as it is (or there is none); a head is trained on it
tuned    encoder and head are tuned together, then the encoder is frozen and the head trained
taught   document labels alone: a teacher points at words, a student learns them (`exaudit.model.teaching`)
"""

from __future__ import annotations

from exaudit.encode.transformer import Transformer
from exaudit.head.network import Head
from exaudit.model.job import Job, Trained
from exaudit.model.pretraining import pretrained, words_changed
from exaudit.model.teaching import taught
from exaudit.model.tuning import course_of, tune_or_resume, tuning_config

__all__ = ["frozen", "taught", "tuned"]


def frozen(job: Job, encoder: Transformer | None, head: Head | None = None) -> Trained:
    """Train a new head, or the one to go on from."""
    head = job.new_head(encoder) if head is None else head
    data, dev = job.encoded(encoder)
    history = job.train_head(head, data, dev, job.options.checkpoint("checkpoint"))
    return Trained(encoder, head, dev, history)


def tuned(job: Job, encoder: Transformer, head: Head | None = None) -> Trained:
    """Tune the encoder by the loss of the settings (by document and min-max loss, where that is document)."""
    settings = job.settings
    loss, epochs, rate = ("token", 5, 2e-4) if settings.loss == "token" else ("document+min-max", 2, 1e-4)
    config = tuning_config(encoder, job.data, loss, seed=settings.seed, epochs=epochs, rate=rate)
    words = config.work(job.data.labels.word_counts) + (words_changed(job) if settings.pretrain else 0)
    course = course_of(job, encoder, words, sweeps=(1, 1) if settings.loss == "document" else ())
    pretraining = None
    if settings.pretrain:
        encoder, pretraining = pretrained(job, encoder, course)
    head = job.new_head(encoder) if head is None else head
    best = tune_or_resume(encoder, head, job.data, config, job.options, "encoder", course)
    head = best.head
    if settings.loss == "document":  # a new head learns more from the tuned features than the old one
        head = job.new_head(best.encoder)
    data, dev = job.encoded(best.encoder)
    history = job.train_head(head, data, dev, job.options.checkpoint("head", best.encoder))
    return Trained(best.encoder, head, dev, history, {**best.record, "pretraining": pretraining})
