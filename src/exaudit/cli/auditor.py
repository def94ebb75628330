"""Opening the auditor of a model folder for a verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exaudit.cli.options import say

if TYPE_CHECKING:
    from exaudit.audit import Auditor, Rule
    from exaudit.audit.auditor import Admit

__all__ = ["admission_rule", "chosen_rule", "opened", "refuse_without_rule"]


@contextmanager
def opened(model: Path, support: str | None = None, **options: Any) -> Iterator[Auditor]:
    """The auditor of a model folder; its warnings become lines on standard error.

    A verb ends well only if all that it read of the support set was what had been written.
    """
    import warnings

    from exaudit.audit import Auditor, OverlapWarning

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", OverlapWarning)
        warnings.showwarning = tell
        auditor = Auditor.open(model, support=support, **options)
        yield auditor
        auditor.wait_verified()


def chosen_rule(rule: str | None, knn: bool) -> Rule | None:
    """The one rule that --rule and --knn ask for."""
    from typing import cast

    from exaudit.audit.audited import check_rule
    from exaudit.errors import SettingError

    check_rule(rule)
    if knn and rule not in (None, "knn"):
        raise SettingError(f"--rule {rule} and --knn exclude each other; give one of them")
    return cast("Rule | None", "knn" if knn else rule)


def admission_rule(admit: bool, rule: str | None) -> bool | Admit:
    """What --admit and --admit-rule ask for."""
    from typing import cast

    from exaudit.errors import SettingError

    if rule not in (None, "promise", "mean"):
        raise SettingError(f"`admit_rule` is {rule!r}; choose promise or mean")
    if rule is not None and not admit:
        raise SettingError("--admit-rule is about --admit; add that, or leave it out")
    return admit if rule is None else cast("Admit", rule)


def refuse_without_rule(support: str | None, stream: bool) -> None:
    """Options of the support set have no effect where nothing is looked up in it."""
    from exaudit.errors import SettingError

    for option, given in (("--support", support is not None), ("--stream", stream)):
        if given:
            raise SettingError(
                f"{option} is about the support set, which only --rule, --knn and --admit look into"
            )
