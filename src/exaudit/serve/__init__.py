"""Decisions become a workbench: a local web app to audit, correct and understand a model."""

from exaudit.serve.app import create_app
from exaudit.serve.workbench import Workbench

__all__ = ["Workbench", "create_app"]
