"""The settings that a study had when: kept with who changed them, and refused where a change would break it.

Each row of `settings_versions` is what study.toml said from one moment on. A problem names the row it was made under,
and that row's rule decides about it, whatever study.toml says today. What was promised or stored under one setting and
would be read under another is refused: a currency, a language, a price while somebody works for it.
"""

import getpass
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from winokit.extend import BadInput
from winokit_collect.study import schema
from winokit_collect.study.config import FILE, StudyConfig
from winokit_collect.study.schema import SettingsVersion
from winokit_collect.study.study import Study

NOT_KEPT = {"database"}
"""It may hold a password, and says where a study is, not what it is."""
Changes = Mapping[str, list[Any]]
Check = Callable[[Session, Study, Changes], str]


def settings_of(config: StudyConfig) -> dict[str, Any]:
    """The settings of a study as they are kept, by the dotted names that study.toml has for them."""
    sections = config.model_dump(by_alias=True, exclude=NOT_KEPT)
    settings: dict[str, Any] = {}
    for name, value in sections.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        settings |= {f"{name}.{key}": _plain_value(each) for key, each in inner}
        if not isinstance(value, Mapping):
            settings[name] = _plain_value(value)
    return settings


def _plain_value(value: Any) -> Any:
    """A setting as JSON has it; 0.4 and 0.40 are the same amount."""
    return f"{value:.2f}" if isinstance(value, Decimal) else value


def compare_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What changed, by name: what was there and what is there now.

    A setting that did not exist before was what its default is.
    """
    defaults = settings_of(StudyConfig())
    changes = {}
    for name, value in now.items():
        earlier = before.get(name, defaults.get(name))
        if earlier != value:
            changes[name] = [earlier, value]
    return changes


def keep_settings(study: Study) -> None:
    """Write down the study's settings if they are new. Raises BadInput if a change is unsafe."""
    settings = settings_of(study.config)
    with study.store.read() as session:
        newest = _newest_version(session)
    if newest is None or compare_settings(newest.settings, settings):
        with study.store.write(alone=True) as session:
            newest = _newest_version(session)  # another process may have been faster
            changes = {} if newest is None else compare_settings(newest.settings, settings)
            if newest is None or changes:
                _refuse_unsafe(session, study, changes)
                newest = _add_version(session, study, settings, changes)
    study.settings_id = newest.id


def note_settings(study: Study) -> None:
    """For a study that is only read: which settings were kept last, and a note if study.toml says something else."""
    with study.store.read() as session:
        newest = _newest_version(session)
    if newest is None:
        return
    study.settings_id = newest.id
    changes = compare_settings(newest.settings, settings_of(study.config))
    study.setting_notes = [
        f"{study.folder / FILE}: {name} is {now}, and the study runs with {before}"
        for name, (before, now) in changes.items()
    ]


def versions_of(study: Study) -> list[SettingsVersion]:
    """All settings that the study has had, oldest first."""
    with study.store.read() as session:
        return list(session.scalars(select(SettingsVersion).order_by(SettingsVersion.id)))


def rule_of(session: Session, study: Study, settings_id: int | None) -> str:
    """The rule that decides about a problem made under some settings.

    A problem from before settings were kept has the first that are known.
    """
    if settings_id not in study.rules_kept:
        query = select(SettingsVersion.settings).order_by(SettingsVersion.id).limit(1)
        if settings_id is not None:
            query = query.where(SettingsVersion.id == settings_id)
        settings = session.scalar(query) or {}
        study.rules_kept[settings_id] = str(settings.get("validity.rule", study.config.validity.rule))
    return study.rules_kept[settings_id]


def who_is_here() -> str:
    """How the log names whoever runs this command."""
    try:
        return f"terminal:{getpass.getuser()}"[:80]
    except (KeyError, OSError, ImportError):  # an account without a name, as in a container
        return "terminal"


def _newest_version(session: Session) -> SettingsVersion | None:
    return session.scalar(select(SettingsVersion).order_by(SettingsVersion.id.desc()).limit(1))


def _add_version(session: Session, study: Study, settings: dict[str, Any], changes: dict[str, Any]) -> SettingsVersion:
    actor = who_is_here()
    version = SettingsVersion(at=study.now(), actor=actor, settings=settings, changes=changes)
    session.add(version)
    session.flush()
    for name, (before, now) in changes.items():
        study.log(session, actor, "change settings", name, before=before, now=now)
    return version


def _refuse_unsafe(session: Session, study: Study, changes: Changes) -> None:
    """Raise BadInput for the first change that what is stored does not allow."""
    for check in (_check_currency, _check_language, _check_kinds, _check_data, _check_platform, _check_pay):
        reason = check(session, study, changes)
        if reason:
            raise BadInput(f"{study.folder / FILE}: {reason}")


def _count(session: Session, *which: Any) -> int:
    return session.scalar(select(func.count()).where(*which)) or 0


def _check_currency(session: Session, study: Study, changes: Changes) -> str:
    lines = _count(session, schema.Payment.id.is_not(None)) if "pay.currency" in changes else 0
    if not lines:
        return ""
    before, now = changes["pay.currency"]
    return f"pay.currency: expected {before}, in which {lines:,} lines of the ledger are, found {now}; put it back"


def _check_language(session: Session, study: Study, changes: Changes) -> str:
    texts = _count(session, schema.ProblemRow.origin == schema.WRITTEN) if "language" in changes else 0
    if not texts:
        return ""
    before, now = changes["language"]
    return f"language: expected {before}, in which {texts:,} problems are written, found {now}; put it back"


def _check_kinds(session: Session, study: Study, changes: Changes) -> str:
    before, now = changes.get("tasks.kinds", ((), ()))
    for kind in before:
        count = 0 if kind in now else _count(session, schema.Submission.kind == kind)
        if count:
            return (
                f"tasks.kinds: expected {kind} among them, of which {count:,} were submitted, found {', '.join(now)}; "
                "put it back, and pause the study if nobody should do more"
            )
    return ""


def _check_data(session: Session, study: Study, changes: Changes) -> str:
    named = [name for name in ("judge.data", "evaluate.data", "evaluate.variants") if name in changes]
    asked = _count(session, schema.ProblemRow.origin == schema.IMPORTED) if named else 0
    if not asked:
        return ""
    before, now = changes[named[0]]
    return f"{named[0]}: expected {before}, of which {asked:,} problems are asked, found {now}; make a new study for it"


def _check_platform(session: Session, study: Study, changes: Changes) -> str:
    if "platform.name" not in changes:
        return ""
    before, now = changes["platform.name"]
    is_open = (schema.Payment.settled_at.is_(None), schema.Worker.platform == before)
    query = select(func.sum(schema.Payment.cents)).join(schema.Worker, schema.Worker.id == schema.Payment.worker_id)
    owed = int(session.scalar(query.where(*is_open)) or 0)
    if not owed:
        return ""
    amount = f"{owed / 100:,.2f} {study.config.pay.currency}"
    return f"platform.name: expected {before}, through which {amount} are still to be paid, found {now}; pay first"


def _check_pay(session: Session, study: Study, changes: Changes) -> str:
    for kind, (before, now) in _lowered_prices(changes):
        held = _count(session, schema.Lease.kind == kind, schema.IS_LIVE, schema.Lease.expires_at > study.now())
        if held:
            return (
                f"pay.{kind}: expected {before} or more while {held:,} workers have a task at that price, found {now}; "
                "pause the study, and lower it when they are done"
            )
    return ""


def _lowered_prices(changes: Changes) -> Iterator[tuple[str, list[Any]]]:
    for kind in (schema.WRITE, *schema.VOTES):
        before, now = changes.get(f"pay.{kind}", (0, 0))
        if float(now) < float(before):
            yield kind, [before, now]
