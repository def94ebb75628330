"""Which words carry a label, when only whole documents were labelled."""

__version__ = "0.1.0"
