"""Documents become features: Transformer windows and layers, word embeddings, the on-disk cache."""

from exaudit.encode.cache import CacheInfo, FeatureCache, encode_features
from exaudit.encode.features import Features
from exaudit.encode.packed import Packed
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary, read_vectors

__all__ = [
    "CacheInfo",
    "FeatureCache",
    "Features",
    "Packed",
    "Transformer",
    "Vocabulary",
    "encode_features",
    "read_vectors",
]
