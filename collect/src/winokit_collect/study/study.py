"""Open a study: its config, database, secret and clock. Also makes a study's folder.

Everything else takes an open study as first argument. The content of links and cookies is signed with the study's
secret. Each purpose has its own key, so that a token for one cannot be used for another.

>>> from tempfile import TemporaryDirectory
>>> from winokit_collect.study.config import StudyConfig
>>> with TemporaryDirectory() as folder:
...     study = Study.create(Path(folder) / "gates", StudyConfig(title="Gates"))
...     study.config.title, study.paused
('Gates', False)
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import select
from sqlalchemy.orm import Session

from winokit.extend import BadInput, language_of, missing_abilities, owner_only, read_text, twin_rules, write_whole
from winokit_collect.study import content
from winokit_collect.study.config import FILE, StudyConfig, read_config, render_config
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import LinkExpired, NotAllowed
from winokit_collect.study.schema import PAUSED, SERVED, STATE, WRITE, LogEntry, State
from winokit_collect.study.store import Store, without_password
from winokit_collect.study.texts import BUILT_IN, read_texts, say
from winokit_collect.study.texts import FILE as TEXTS

DATABASE = "study.db"
DATABASE_ENV = "WINOKIT_COLLECT_DB"
SECRET = "secret.key"
SECRET_ENV = "WINOKIT_COLLECT_SECRET"
FILL_IN = "FILL IN"
"""Mark of a gap in the bundled consent text, which the requester must fill in."""
utc_now = partial(datetime.now, UTC)
_PAUSED = Prepared(select(STATE.c.value).where(STATE.c.key == PAUSED))


def read_secret(folder: Path) -> bytes:
    """The study's secret key, from the environment or from `secret.key` in its folder.

    If there is none, the file is written with a random key, readable by its owner only.
    """
    secret = os.environ.get(SECRET_ENV)
    if secret:
        if len(secret) < 32:
            raise BadInput(f"{SECRET_ENV}: 32 characters or more expected, found {len(secret)}")
        return secret.encode()
    path = folder / SECRET
    if not path.exists():
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass  # another process was faster, and its secret is as good
        except OSError as error:
            raise BadInput(f"{path}: cannot be written ({error.strerror})") from None
        else:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    return path.read_bytes()


class Signer:
    """Signs tokens with a study's secret, and verifies them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        new = partial(URLSafeTimedSerializer, secret, signer_kwargs={"digest_method": hashlib.sha256})
        self._serializer = cache(lambda purpose: new(salt=f"winokit.{purpose}"))

    def sign(self, purpose: str, value: Any) -> str:
        """Return a signed token for a JSON value, safe in a URL.

        `purpose` separates tokens: one signed for a purpose is not valid for another.
        """
        return str(self._serializer(purpose).dumps(value))

    def read(self, purpose: str, token: str, most_seconds: int | None = None) -> Any:
        """Verify a token and return the value that was signed.

        Raises NotAllowed if it is forged, and LinkExpired if it is older than `most_seconds`. None means no limit.
        """
        try:
            value, signed_at = self._serializer(purpose).loads(token, return_timestamp=True)
        except BadSignature:
            raise NotAllowed(say("refusals.link_forged")) from None
        if most_seconds is None:
            return value
        # The serializer's own max_age would also refuse a token from the future, after the clock was set back.
        age = utc_now() - signed_at
        if age > timedelta(seconds=most_seconds):
            raise LinkExpired(say("refusals.link_old"))
        return value

    def digest(self, purpose: str, text: str) -> str:
        """Keyed hash of a text, as hexadecimal digits.

        Without the secret nobody can compute it.
        """
        key = self._secret + purpose.encode()
        return hmac.digest(key, text.encode(), "sha256").hex()


class Study:
    """An open study, which threads may share.

    `clock` returns the present time. In a `pilot`, workers who join are marked, and the consent page may have gaps.
    """

    def __init__(
        self,
        folder: Path,
        config: StudyConfig,
        store: Store,
        *,
        clock: Callable[[], datetime] = utc_now,
        pilot: bool = False,
    ) -> None:
        from winokit_collect.study.adversary import Adversary  # here, since these modules take a study themselves
        from winokit_collect.study.writing import EarlierText

        self.folder = folder
        self.config = config
        self.store = store
        self.now = clock
        self.pilot = pilot
        self.texts, self._text_notes = read_texts(folder / config.texts, config.language)
        self.earlier = EarlierText()
        self.last_expired: datetime | None = None
        self.usual_seconds: tuple[datetime | None, dict[str, float]] = (None, {})
        self.kept_workers: dict[tuple[str, ...], tuple[datetime, list[Any]]] = {}
        model = config.adversary
        self.adversary = Adversary(model.model, model.scoring, model.seconds)
        self.settings_id: int | None = None
        self.setting_notes: list[str] = []
        self.rules_kept: dict[int | None, str] = {}
        self._guidelines: dict[str, str] = {}

    @classmethod
    def create(
        cls, folder: str | Path, config: StudyConfig, db: str | None = None, *, clock: Callable[[], datetime] = utc_now
    ) -> "Study":
        """Make a new study in a folder, and open it.

        Writes its config and texts, and a database with the tasks that the config asks for.
        """
        write_folder(Path(folder), config, db)
        return cls.open(folder, db, clock=clock)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        db: str | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        pilot: bool = False,
        to_read: bool = False,
    ) -> "Study":
        """Open the study in a folder.

        Its database is migrated, its settings are stored, and missing tasks are added. The database is `db`, else
        $WINOKIT_COLLECT_DB, else the config's, else study.db in the folder. In a `pilot` the consent page may have
        gaps, and workers who join are marked. With `to_read`, the database may be one that cannot be written, and
        settings that have changed are only noted.
        """
        from winokit_collect.study.new_tasks import prepare
        from winokit_collect.study.settings import keep_settings, note_settings

        folder = Path(folder)
        config = read_config(folder / FILE)
        url = database_url(folder, db)
        study = cls(folder, config, Store(url, to_read=to_read), clock=clock, pilot=pilot)
        try:
            if to_read:
                note_settings(study)
            else:
                keep_settings(study)
            prepare(study)
        except BaseException:
            study.close()
            raise
        return study

    def close(self) -> None:
        """Close the connections to the database."""
        self.store.close()

    def guidelines(self, kind: str = WRITE) -> str:
        """The guidelines for a kind of task, in Markdown.

        From the study's folder, or the bundled ones if it has none.
        """
        if kind not in self._guidelines:
            name = self.config.guidelines if kind == WRITE else f"guidelines-{kind}.md"
            path = self.folder / name
            if not path.exists():
                path = content.bundled(name, self.config.language)
            self._guidelines[kind] = read_text(path)
        return self._guidelines[kind]

    @cached_property
    def signer(self) -> Signer:
        """The signer of the study's tokens.

        Making it reads the study's secret, or creates one.
        """
        return Signer(read_secret(self.folder))

    @property
    def why_closed(self) -> str:
        """Reason why no worker can join, or an empty text.

        A study is closed while its consent page has gaps to fill in, unless it is a pilot.
        """
        gaps = 0 if self.pilot else self.consent.count(FILL_IN)
        if not gaps:
            return ""
        path = self.folder / self.config.consent
        return f"{path}: {gaps} places still say {FILL_IN}; fill them in, or try it with --pilot"

    @cached_property
    def consent(self) -> str:
        """The consent text in Markdown."""
        return read_text(self.folder / self.config.consent)

    @cached_property
    def consent_sha256(self) -> str:
        """SHA-256 of the consent text."""
        return hashlib.sha256(self.consent.encode()).hexdigest()

    @cached_property
    def quiz(self) -> list[content.Question]:
        """Questions of the quiz that fit the study's kinds of task.

        Empty if the study has no quiz.
        """
        if not self.config.quality.quiz_pass_mark:
            return []
        path = content.text_path(self, self.config.quiz, "quiz.toml")
        kinds = ("", *self.config.tasks.kinds)
        return [question for question in content.read_quiz(path) if question.kind in kinds]

    @cached_property
    def notes(self) -> list[str]:
        """Warnings for the requester about settings and texts.

        For example texts that are missing, or not translated into the study's language.
        """
        language = self.config.language
        notes = [*self.setting_notes, *self._text_notes]
        needed = dict.fromkeys(twin_rules.NEEDED.values())
        if WRITE in self.config.tasks.kinds:
            notes += missing_abilities([language], needed)
        if content.is_english(language):
            return notes
        for file_name, bundled_name in content_files(self.config).items():
            path = self.folder / file_name
            english_path = content.bundled(bundled_name)
            if path.is_file() and read_text(path) == read_text(english_path):
                notes.append(f"{path}: still the bundled English text")
        return notes

    @property
    def paused(self) -> bool:
        """Whether the study is paused, so that no new tasks are given out."""
        with self.store.read() as session:
            return is_paused(session)

    def pause(self, paused: bool, actor: str) -> None:
        """Pause the study, or resume it if `paused` is false.

        Tasks that workers have already can still be handed in.
        """
        with self.store.write() as session:
            session.merge(State(key=PAUSED, value={PAUSED: paused}))
            self.log(session, actor, "pause" if paused else "resume")

    @property
    def served(self) -> dict[str, Any]:
        """Address at which the study was served last, and whether as a pilot.

        Empty if it never was.
        """
        with self.store.read() as session:
            state = session.get(State, SERVED)
            return state.value if state else {}

    def remember_served(self, url: str) -> None:
        """Store the address of the study, and whether it serves a pilot."""
        with self.store.write() as session:
            session.merge(State(key=SERVED, value={"url": url, "pilot": self.pilot}))

    def log(self, session: Session, actor: str, action: str, target: str = "", **detail: Any) -> None:
        """Add a line to the audit log, in the event's own transaction."""
        session.add(LogEntry(at=self.now(), actor=actor, action=action, target=target, detail=detail))

    def note(self, actor: str, action: str, target: str = "", **detail: Any) -> None:
        """Add a line to the audit log, in a transaction of its own.

        For events that change nothing else in the database, such as a refused login.
        """
        with self.store.write() as session:
            self.log(session, actor, action, target, **detail)


def database_url(folder: Path, db: str | None = None, settings: Path | None = None) -> str:
    """URL of a study's database.

    The first of `db`, $WINOKIT_COLLECT_DB, the database in study.toml, and study.db in the folder. `settings` is the
    folder of study.toml, if that is not the study's folder.
    """
    config = read_config((settings or folder) / FILE)
    sqlite_path = (folder / DATABASE).absolute()
    return db or os.environ.get(DATABASE_ENV) or config.database or f"sqlite:///{sqlite_path}"


@owner_only()
def write_folder(folder: Path, config: StudyConfig, db: str | None = None) -> None:
    """Write a new study's config and texts into a folder.

    The database is made when the study is first opened. Texts that exist already are kept. `db` is written into the
    config, without its password. Raises BadInput if there is a study already.
    """
    refuse_existing(folder)
    if db:
        config = config.model_copy(update={"database": without_password(db)})
    language = config.language
    is_translated = content.is_bundled(language)
    if not is_translated:  # The English files are put there, to be translated.
        config = config.model_copy(update={"quiz": "quiz.toml", "topics": "topics.jsonl", "gold": "gold.jsonl"})
    for file_name, bundled_name in content_files(config).items():
        path = folder / file_name
        if path.exists():
            continue
        text = read_text(content.bundled(bundled_name, language))
        if file_name == config.texts and not is_translated:
            language_name = language_of(language).name or language
            english_name = BUILT_IN.lines["language.name"]
            text = text.replace(f'"{english_name}"', f'"{language_name}"', 1)
        write_whole(path, text.encode())
    write_whole(folder / FILE, render_config(config).encode())


def content_files(config: StudyConfig) -> dict[str, str]:
    """Bundled file for each text file of a study's folder, by name.

    Keys are names in the study's folder, values those of the bundled files.
    """
    bundled_names = {config.texts: TEXTS, config.guidelines: "guidelines.md", config.consent: "consent.md"}
    bundled_names |= {config.quiz: "quiz.toml", config.topics: "topics.jsonl", config.gold: "gold.jsonl"}
    for kind in config.tasks.kinds:
        if kind != WRITE:
            name = f"guidelines-{kind}.md"
            bundled_names[name] = name
    return {name: bundled for name, bundled in bundled_names.items() if name}


def refuse_existing(folder: Path) -> None:
    """Raise BadInput if the folder has a study already or is a file."""
    if (folder / FILE).exists():
        raise BadInput(f"{folder / FILE}: already a study; open it with: winokit collect serve {folder}")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file; name a folder")


def is_paused(session: Session) -> bool:
    """Whether the study is paused, read in an open session."""
    state = _PAUSED.scalar(session) or {}
    return bool(state.get(PAUSED))
