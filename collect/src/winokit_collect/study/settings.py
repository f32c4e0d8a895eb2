"""History of a study's settings: who changed them when, and which changes are refused.

Each row of `settings_versions` has the content of study.toml from some time on. A problem refers to the row under
which it was made, and that row's rule decides about it, whatever study.toml says now. A change is refused if
something was promised or stored under the old setting: a currency, a language, or a price while somebody has a task
at it.
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
"""Settings that are not stored: the database's URL may have a password."""
Changes = Mapping[str, list[Any]]
Check = Callable[[Session, Study, Changes], str]


def settings_of(config: StudyConfig) -> dict[str, Any]:
    """The settings of a study, by dotted names such as pay.write.

    The database's URL is left out, since it may have a password.
    """
    sections = config.model_dump(by_alias=True, exclude=NOT_KEPT)
    settings: dict[str, Any] = {}
    for name, value in sections.items():
        if not isinstance(value, Mapping):
            settings[name] = _convert_to_json(value)
            continue
        for key, section_value in value.items():
            settings[f"{name}.{key}"] = _convert_to_json(section_value)
    return settings


def _convert_to_json(value: Any) -> Any:
    """Convert a setting to a value that JSON can hold.

    Amounts get two decimals, so that 0.4 and 0.40 are the same.
    """
    return f"{value:.2f}" if isinstance(value, Decimal) else value


def compare_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Find the settings that differ: (before, now) by name.

    A setting that is missing in `before` had its default value.
    """
    defaults = settings_of(StudyConfig())
    changes = {}
    for name, value in now.items():
        earlier = before.get(name, defaults.get(name))
        if earlier != value:
            changes[name] = [earlier, value]
    return changes


def keep_settings(study: Study) -> None:
    """Store the study's settings as a new version if they have changed.

    `study.settings_id` is set to the number of the version in force. Raises BadInput if data in the database does not
    allow a change.
    """
    settings = settings_of(study.config)
    with study.store.read() as session:
        newest = _find_newest_version(session)
    if newest is None or compare_settings(newest.settings, settings):
        with study.store.write(alone=True) as session:
            newest = _find_newest_version(session)  # another process may have been faster
            changes = {} if newest is None else compare_settings(newest.settings, settings)
            if newest is None or changes:
                _refuse_unsafe(session, study, changes)
                newest = _add_version(session, study, settings, changes)
    study.settings_id = newest.id


def note_settings(study: Study) -> None:
    """Compare study.toml with the stored settings, and note the differences.

    For a study that is only read. `study.setting_notes` is replaced by a note for each difference. Nothing is stored.
    """
    with study.store.read() as session:
        newest = _find_newest_version(session)
    if newest is None:
        return
    study.settings_id = newest.id
    changes = compare_settings(newest.settings, settings_of(study.config))
    config_path = study.folder / FILE
    study.setting_notes = []
    for name, (before, now) in changes.items():
        study.setting_notes.append(f"{config_path}: {name} is {now}, and the study runs with {before}")


def versions_of(study: Study) -> list[SettingsVersion]:
    """All versions of the study's settings, oldest first."""
    with study.store.read() as session:
        return list(session.scalars(select(SettingsVersion).order_by(SettingsVersion.id)))


def rule_of(session: Session, study: Study, settings_id: int | None) -> str:
    """The validity rule of problems made under a version of the settings.

    None as the version means before versions were stored: the first stored version applies.
    """
    if settings_id not in study.rules_kept:
        query = select(SettingsVersion.settings).order_by(SettingsVersion.id).limit(1)
        if settings_id is not None:
            query = query.where(SettingsVersion.id == settings_id)
        settings = session.scalar(query) or {}
        rule = settings.get("validity.rule", study.config.validity.rule)
        study.rules_kept[settings_id] = str(rule)
    return study.rules_kept[settings_id]


def name_terminal_user() -> str:
    """Name of whoever runs this command, for the audit log.

    It is `terminal:` and the user's name, or `terminal` if that is unknown.
    """
    try:
        return f"terminal:{getpass.getuser()}"[:80]
    except (KeyError, OSError, ImportError):  # an account without a name, as in a container
        return "terminal"


def _find_newest_version(session: Session) -> SettingsVersion | None:
    """The newest stored version of the settings, or None."""
    query = select(SettingsVersion).order_by(SettingsVersion.id.desc()).limit(1)
    return session.scalar(query)


def _add_version(session: Session, study: Study, settings: dict[str, Any], changes: dict[str, Any]) -> SettingsVersion:
    """Store a version of the settings, and log each change."""
    actor = name_terminal_user()
    version = SettingsVersion(at=study.now(), actor=actor, settings=settings, changes=changes)
    session.add(version)
    session.flush()
    for name, (before, now) in changes.items():
        study.log(session, actor, "change settings", name, before=before, now=now)
    return version


def _refuse_unsafe(session: Session, study: Study, changes: Changes) -> None:
    """Raise BadInput for the first change that stored data does not allow.

    Each check returns a message, empty if the change is allowed.
    """
    for check in (_check_currency, _check_language, _check_kinds, _check_data, _check_platform, _check_pay):
        reason = check(session, study, changes)
        if reason:
            raise BadInput(f"{study.folder / FILE}: {reason}")


def _count_rows(session: Session, *conditions: Any) -> int:
    """Number of rows that fulfil some conditions."""
    return session.scalar(select(func.count()).where(*conditions)) or 0


def _check_currency(session: Session, study: Study, changes: Changes) -> str:
    """Reason against another currency: the ledger has lines.

    An empty text if there is none.
    """
    if "pay.currency" not in changes:
        return ""
    lines = _count_rows(session, schema.Payment.id.is_not(None))
    if not lines:
        return ""
    before, now = changes["pay.currency"]
    return f"pay.currency: expected {before}, in which {lines:,} lines of the ledger are, found {now}; put it back"


def _check_language(session: Session, study: Study, changes: Changes) -> str:
    """Reason against another language: problems are written.

    An empty text if there is none.
    """
    if "language" not in changes:
        return ""
    texts = _count_rows(session, schema.ProblemRow.origin == schema.WRITTEN)
    if not texts:
        return ""
    before, now = changes["language"]
    return f"language: expected {before}, in which {texts:,} problems are written, found {now}; put it back"


def _check_kinds(session: Session, study: Study, changes: Changes) -> str:
    """Reason against dropping a kind of task: some were submitted.

    An empty text if there is none.
    """
    before, now = changes.get("tasks.kinds", ((), ()))
    for kind in before:
        if kind in now:
            continue
        count = _count_rows(session, schema.Submission.kind == kind)
        if count:
            present_kinds = ", ".join(now)
            return (
                f"tasks.kinds: expected {kind} among them, of which {count:,} were submitted, found {present_kinds}; "
                "put it back, and pause the study if nobody should do more"
            )
    return ""


def _check_data(session: Session, study: Study, changes: Changes) -> str:
    """Reason against another dataset or other variants: problems are imported.

    An empty text if there is none.
    """
    names = [name for name in ("judge.data", "evaluate.data", "evaluate.variants") if name in changes]
    if not names:
        return ""
    count = _count_rows(session, schema.ProblemRow.origin == schema.IMPORTED)
    if not count:
        return ""
    before, now = changes[names[0]]
    return f"{names[0]}: expected {before}, of which {count:,} problems are asked, found {now}; make a new study for it"


def _check_platform(session: Session, study: Study, changes: Changes) -> str:
    """Reason against another platform: money is owed through the old one.

    An empty text if there is none.
    """
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
    """Reason against a lower price: workers have tasks at the old one.

    An empty text if there is none.
    """
    for kind, (before, now) in _find_lowered_prices(changes):
        is_unexpired = schema.Lease.expires_at > study.now()
        count = _count_rows(session, schema.Lease.kind == kind, schema.IS_LIVE, is_unexpired)
        if count:
            return (
                f"pay.{kind}: expected {before} or more while {count:,} workers have a task at that price, "
                f"found {now}; pause the study, and lower it when they are done"
            )
    return ""


def _find_lowered_prices(changes: Changes) -> Iterator[tuple[str, list[Any]]]:
    """Yield the kinds of task whose price was lowered.

    Each comes with the prices before and now.
    """
    for kind in (schema.WRITE, *schema.VOTES):
        before, now = changes.get(f"pay.{kind}", (0, 0))
        if float(now) < float(before):
            yield kind, [before, now]
