"""Documents become features: Transformer windows and layers, word embeddings, the on-disk cache."""
