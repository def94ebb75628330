"""Opening the auditor of a model folder for a verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exaudit.cli.options import say

if TYPE_CHECKING:
    from exaudit.audit import Auditor, Rule
    from exaudit.audit.auditor import Admit
    from exaudit.audit.neighbourhood import MakeIndex

__all__ = ["admission_rule", "chosen_rule", "opened", "refuse_without_rule"]


@contextmanager
def opened(
    model: Path, support: str | None = None, *, ray: str | None = None, **options: Any
) -> Iterator[Auditor]:
    """The auditor of a model folder; its warnings become lines on standard error. With `ray`, a cluster searches.

    A verb ends well only if all that it read of the support set was what had been written.
    """
    import warnings

    from exaudit.audit import Auditor, OverlapWarning

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with ExitStack() as stack:
        if ray is not None:
            options["index"] = stack.enter_context(_sharded(ray, options.get("stream", False)))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always", OverlapWarning)
        warnings.showwarning = tell
        auditor = Auditor.open(model, support=support, **options)
        yield auditor
        auditor.wait_verified()


@contextmanager
def _sharded(ray: str, stream: bool) -> Iterator[MakeIndex]:
    """What makes an index on a cluster, which is connected to as long as the block lasts."""
    from exaudit.cluster.connect import connected
    from exaudit.errors import SettingError

    if stream:
        raise SettingError(
            "--stream is about the memory of this machine, and --ray about that of others; give one"
        )
    with connected(ray):
        from exaudit.cluster.search import ShardedIndex

        yield ShardedIndex


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
