"""Accounts of requesters: roles, passwords, logins and sessions.

An owner may do everything, an editor all but send money, see to accounts and remove a pilot, a viewer only look.
Passwords are kept as argon2id hashes. Whoever has the account chooses its password, by a link that works once.
Logins get slower with each wrong try, and sessions can be ended at once.
"""

import math
import re
import secrets
import threading
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Literal, get_args

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from winokit_collect.study.refusals import Incomplete, LinkExpired, NotAllowed, NotNow, TooMany, found
from winokit_collect.study.schema import OWNER, LoginFailure, Requester
from winokit_collect.study.study import Study

WINDOW = timedelta(minutes=15)
FIRST_WAIT = timedelta(seconds=15)
"""Time for which a failure counts, and longest wait (`WINDOW`), and shortest wait (`FIRST_WAIT`)."""
FREE_BY_NAME = 5
FREE_BY_ADDRESS = 20
"""Failures from one address without a wait: with the same name, and with any name."""
LINK = "account"
LINK_SECONDS = 86_400
"""Lifetime of a link for choosing a password or making the first account."""
Role = Literal["owner", "editor", "viewer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Roles, from the one that may do most to the one that may do least."""
NAME = re.compile(r"[\w.@+-]{2,64}")
SHORTEST = 10
LONGEST = 200
AT_ONCE = 4
"""Passwords that are hashed at the same time. Each hash takes 64 MiB while it is made."""
_turn = threading.BoundedSemaphore(AT_ONCE)
_hasher = PasswordHasher()
NOBODY = _hasher.hash("nobody has this password")
"""Hash that is verified for unknown names, so that they take as long as known ones."""


def everybody(study: Study) -> Sequence[Requester]:
    """All requesters, sorted by name."""
    with study.store.read() as session:
        return session.scalars(select(Requester).order_by(Requester.name)).all()


def setup_path(study: Study) -> str | None:
    """Path of the page where the first requester makes an account.

    None once there is an account.
    """
    if everybody(study):
        return None
    token = study.signer.sign(LINK, [])
    return f"/setup/{token}"


def password_path(study: Study, name: str, actor: str) -> str:
    """Path of a page where a requester chooses a new password.

    It works once, for a day, and no longer once the requester has logged out.
    """
    with study.store.write() as session:
        requester = _find_by_name(session, name)
        study.log(session, actor, "password link", name)
        token = study.signer.sign(LINK, [requester.id, requester.session_version])
        return f"/setup/{token}"


def of_link(study: Study, token: str) -> Requester | None:
    """The requester whose password a setup link changes.

    None for the link that makes the first account. Raises LinkExpired if the link was used or replaced.
    """
    whose = study.signer.read(LINK, token, LINK_SECONDS)
    if not whose and everybody(study):
        raise LinkExpired("there is a requester already; please log in")
    try:
        return get(study, *whose) if whose else None
    except NotAllowed:
        raise LinkExpired("this link has been used or replaced by a newer one; please ask for a new one") from None


def set_up(study: Study, token: str, name: str, password: str) -> Requester:
    """Use a setup link: make the first account, or set a password.

    The first account is an owner's. The link cannot be used again.
    """
    requester = of_link(study, token)
    if requester is None:
        return add(study, name, password, "system", first=True)
    return _set_password(study, requester, password)


def add(
    study: Study, name: str, password: str | None, actor: str, *, role: Role = "owner", first: bool = False
) -> Requester:
    """Add an account.

    Without a password, a random one is set, and the requester chooses theirs by `password_path`. With `first`, raises
    LinkExpired if there is an account already. Raises Incomplete for a name that is taken or not allowed.
    """
    if not NAME.fullmatch(name):
        raise Incomplete({"name": "2 to 64 letters, digits, dots, dashes, @ or + expected"})
    if password is None:
        password = secrets.token_urlsafe(32)
    hashed = hash_password(password)
    # A number may be somebody's again who was removed, and their old sessions must not be.
    version = 1 + secrets.randbelow(2**30)
    requester = Requester(name=name, role=role, password_hash=hashed, session_version=version)
    requester.created_at = study.now()
    with study.store.write(alone=True) as session:
        if first and session.scalar(select(Requester.id).limit(1)) is not None:
            raise LinkExpired("there is a requester already; please log in")
        if session.scalar(select(Requester.id).where(Requester.name == name)) is not None:
            raise Incomplete({"name": "this name is taken"})
        session.add(requester)
        study.log(session, actor, "requester", name, role=role)
    return requester


def change_role(study: Study, name: str, role: Role, actor: str) -> None:
    """Change a requester's role. Raises NotNow for the last owner."""
    with study.store.write(alone=True) as session:
        requester = _find_by_name(session, name)
        if role != OWNER:
            _refuse_last_owner(session, requester)
        role_before = requester.role
        study.log(session, actor, "role", name, role=role, before=role_before)
        requester.role = role


def remove(study: Study, name: str, actor: str) -> None:
    """Remove a requester's account and end their sessions.

    Raises NotNow for the last owner.
    """
    with study.store.write(alone=True) as session:
        requester = _find_by_name(session, name)
        _refuse_last_owner(session, requester)
        session.delete(requester)
        study.log(session, actor, "remove requester", name)


def login(study: Study, name: str, password: str, address: str) -> Requester:
    """Check a name and a password, and return the requester.

    Raises NotAllowed if they are wrong, and TooMany after several failures, with a wait that doubles each time.
    Failures are counted for this name at this network, and for this network: from elsewhere the right password works,
    so that nobody can lock a requester out by guessing. Unknown names are treated the same.
    """
    network = network_of(address)
    name_key = study.signer.digest("login-name", f"{name}\n{network}")
    address_key = study.signer.digest("login-address", network)
    keys = [(name_key, FREE_BY_NAME), (address_key, FREE_BY_ADDRESS)]
    # A try counts as failed until the password is found right: a hundred sent at once would all be in time otherwise.
    with study.store.write(alone=True) as session:
        for key, free in keys:
            _refuse_too_soon(study, session, key, free)
        tries = [LoginFailure(key=key, at=study.now()) for key, _ in keys]
        session.add_all(tries)
        requester = session.scalar(select(Requester).where(Requester.name == name))
    stored_hash = requester.password_hash if requester else NOBODY
    is_right = verify_password(stored_hash, password)
    if requester is None or not is_right:
        study.note("stranger", "login refused", name[:64])
        raise NotAllowed("wrong name or password")
    with study.store.write() as session:
        this_try = LoginFailure.id.in_([row.id for row in tries])
        over = (LoginFailure.key == tries[0].key, LoginFailure.at < study.now() - WINDOW, this_try)
        session.execute(delete(LoginFailure).where(or_(*over)))
        study.log(session, f"requester:{name}", "login")
    return requester


def network_of(address: str) -> str:
    """The network whose failed logins are counted together.

    An IPv4 address itself, or the /64 network of an IPv6 address, of which one household has very many. Any other text
    stays as it is.

    >>> network_of("10.0.0.7"), network_of("2001:db8:1:2:3:4:5:6"), network_of("unknown")
    ('10.0.0.7', '2001:db8:1:2::/64', 'unknown')
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    network = ip_network((parsed, 64), strict=False)
    return str(network)


def seconds_to_wait(failures: int, free: int) -> float:
    """Seconds between the last failed login and the next try.

    0 for fewer than `free` failures, then twice as long with each failure, up to a quarter of an hour.

    >>> [seconds_to_wait(failures, free=5) for failures in (4, 5, 6, 7, 20)]
    [0.0, 15.0, 30.0, 60.0, 900.0]
    """
    if failures < free:
        return 0.0
    doublings = min(failures - free, 20)
    wait = FIRST_WAIT.total_seconds() * 2.0**doublings
    return min(wait, WINDOW.total_seconds())


def get(study: Study, requester_id: int, session_version: int) -> Requester:
    """The requester of a login session.

    Raises NotAllowed if the session has ended, so that `session_version` is not the current one.
    """
    with study.store.read() as session:
        requester = session.get(Requester, requester_id)
        if requester is None or requester.session_version != session_version:
            raise NotAllowed("please log in")
        return requester


def end_sessions(study: Study, requester_id: int) -> None:
    """Log a requester out of all browsers."""
    with study.store.write() as session:
        requester = session.get_one(Requester, requester_id)
        requester.session_version += 1
        study.log(session, f"requester:{requester.name}", "logout")


def change_password(study: Study, requester_id: int, old: str, new: str) -> Requester:
    """Change a requester's password, and end their other sessions.

    Raises NotAllowed if the old password is wrong. The new session has the returned requester's version.
    """
    with study.store.read() as session:
        requester = session.get_one(Requester, requester_id)
    if not verify_password(requester.password_hash, old):
        raise NotAllowed("wrong old password")
    return _set_password(study, requester, new)


def _set_password(study: Study, requester_before: Requester, password: str) -> Requester:
    """Set a password and end all sessions.

    Raises LinkExpired if the password has been changed since `requester_before` was read.
    """
    hashed = hash_password(password)
    with study.store.write() as session:
        requester = session.get(Requester, requester_before.id, with_for_update=True)
        if requester is None or requester.session_version != requester_before.session_version:
            raise LinkExpired("the password was changed in the meantime; please log in")
        requester.password_hash = hashed
        requester.session_version += 1
        study.log(session, f"requester:{requester.name}", "password")
        return requester


def _find_by_name(session: Session, name: str) -> Requester:
    """Find a requester by name and lock the row. Raises NotFound."""
    query = select(Requester).where(Requester.name == name).with_for_update()
    return found(session.scalar(query), f"no account {name}")


def _refuse_last_owner(session: Session, requester: Requester) -> None:
    """Raise NotNow if the requester is the last owner."""
    others = select(Requester.id).where(Requester.role == OWNER, Requester.id != requester.id)
    if requester.role == OWNER and session.scalar(others.limit(1)) is None:
        raise NotNow(f"{requester.name} is the last owner; make somebody else an owner first")


def _refuse_too_soon(study: Study, session: Session, key: str, free: int) -> None:
    """Raise TooMany if there were too many recent failures under a key.

    `free` is the number of failures without a wait.
    """
    now = study.now()
    recent = (LoginFailure.key == key, LoginFailure.at > now - WINDOW)
    query = select(func.count(), func.max(LoginFailure.at)).where(*recent)
    failures, last = session.execute(query).one()
    if not failures:
        return
    passed_seconds = (now - last).total_seconds()
    wait = math.ceil(seconds_to_wait(failures, free) - passed_seconds)
    if wait > 0:
        time = f"{wait} seconds" if wait < 120 else f"{math.ceil(wait / 60)} minutes"
        raise TooMany(f"too many attempts; please wait {time}", wait)


def hash_password(password: str) -> str:
    """Hash a password with a random salt.

    Raises Incomplete if it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise Incomplete({"password": f"{SHORTEST} to {LONGEST} characters expected"})
    with _turn:
        return _hasher.hash(password)


def verify_password(hashed: str, password: str) -> bool:
    """Whether a password matches a hash."""
    if len(password) > LONGEST:
        return False
    try:
        with _turn:
            return _hasher.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False
