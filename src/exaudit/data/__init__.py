from exaudit.data.document import Document

__all__ = ["Document"]
