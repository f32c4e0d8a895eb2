"""Requesters: the first account, logins that get slower with each wrong try, sessions that can be ended at once.

Passwords are kept as argon2id hashes.
"""

from __future__ import annotations

import math
import re
import threading
from datetime import timedelta
from ipaddress import ip_address, ip_network

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from winokit.collect.study.refusals import Incomplete, LinkExpired, NotAllowed, TooMany
from winokit.collect.study.schema import LoginFailure, Requester
from winokit.collect.study.study import Study

WINDOW, FIRST_WAIT = timedelta(minutes=15), timedelta(seconds=15)
"""How long a failure counts, which is also the longest wait; and the shortest."""
FREE_BY_NAME, FREE_BY_ADDRESS = 5, 20
"""Failures from an address before the first wait: with one name, and with any."""
SETUP, SETUP_SECONDS = "setup", 3600
NAME = re.compile(r"[\w.@+-]{2,64}")
SHORTEST, LONGEST = 10, 200
AT_ONCE = 4
"""Each hash takes 64 MiB while it is made, which a crowd at the login must not multiply."""
_turn = threading.BoundedSemaphore(AT_ONCE)
_hasher = PasswordHasher()
NOBODY = _hasher.hash("nobody has this password")
"""Verified where a name is unknown, so that an answer takes as long as for a known one."""


def exist(study: Study) -> bool:
    """Whether there is a requester yet."""
    with study.store.read() as session:
        return session.scalar(select(Requester.id).limit(1)) is not None


def setup_path(study: Study) -> str | None:
    """The address at which the first requester chooses a name and a password; None once there is one."""
    return None if exist(study) else f"/setup/{study.signer.sign(SETUP, 'first requester')}"


def set_up(study: Study, token: str, name: str, password: str) -> Requester:
    """Make the first account by the link that `serve` shows; there is no second one to be had that way."""
    study.signer.read(SETUP, token, SETUP_SECONDS)
    return add(study, name, password, "system", first=True)


def add(study: Study, name: str, password: str, actor: str, *, first: bool = False) -> Requester:
    """Make another account, or the first one and no second."""
    if not NAME.fullmatch(name):
        raise Incomplete({"name": "2 to 64 letters, digits, dots, dashes, @ or + expected"})
    requester = Requester(name=name, password_hash=hash_password(password), session_version=1, created_at=study.now())
    with study.store.write() as session:
        if first and session.scalar(select(Requester.id).limit(1)) is not None:
            raise LinkExpired("there is a requester already; log in")
        if session.scalar(select(Requester.id).where(Requester.name == name)) is not None:
            raise Incomplete({"name": "this name is taken"})
        session.add(requester)
        study.log(session, actor, "requester", name)
    return requester


def login(study: Study, name: str, password: str, address: str) -> Requester:
    """Log in. After some wrong passwords from an address the next try has to wait, longer each time.

    The wait is for this name at this address, and for this address: from elsewhere, whoever has the password gets in,
    so that nobody can lock a requester out by guessing. A name that nobody has waits like any other.
    """
    place = place_of(address)
    at_place = (study.signer.digest("login-address", place), FREE_BY_ADDRESS)
    keys = [(study.signer.digest("login-name", f"{name}\n{place}"), FREE_BY_NAME), at_place]
    # A try counts as failed until the password is found right: a hundred sent at once would all be in time otherwise.
    with study.store.write(alone=True) as session:
        for key, free in keys:
            _refuse_too_soon(study, session, key, free)
        tries = [LoginFailure(key=key, at=study.now()) for key, _ in keys]
        session.add_all(tries)
        requester = session.scalar(select(Requester).where(Requester.name == name))
    right = verify_password(requester.password_hash if requester else NOBODY, password)
    if requester is None or not right:
        study.note("stranger", "login refused", name[:64])
        raise NotAllowed("name or password is wrong")
    with study.store.write() as session:
        this_try = LoginFailure.id.in_([row.id for row in tries])
        over = (LoginFailure.key == tries[0].key, LoginFailure.at < study.now() - WINDOW, this_try)
        session.execute(delete(LoginFailure).where(or_(*over)))
        study.log(session, f"requester:{name}", "login")
    return requester


def place_of(address: str) -> str:
    """An address, or the network of one household or host, which has more of the new kind than anybody could count.

    >>> place_of("10.0.0.7"), place_of("2001:db8:1:2:3:4:5:6"), place_of("unknown")
    ('10.0.0.7', '2001:db8:1:2::/64', 'unknown')
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(parsed) if parsed.version == 4 else str(ip_network((parsed, 64), strict=False))


def seconds_to_wait(failures: int, free: int) -> float:
    """How long after the last of some failures the next try has to wait: not at all, then twice as long each time.

    >>> [seconds_to_wait(failures, free=5) for failures in (4, 5, 6, 7, 20)]
    [0.0, 15.0, 30.0, 60.0, 900.0]
    """
    if failures < free:
        return 0.0
    return min(FIRST_WAIT.total_seconds() * 2.0 ** min(failures - free, 20), WINDOW.total_seconds())


def get(study: Study, requester_id: int, session_version: int) -> Requester:
    """The requester of a session; one whose sessions were ended is refused."""
    with study.store.read() as session:
        requester = session.get(Requester, requester_id)
        if requester is None or requester.session_version != session_version:
            raise NotAllowed("please log in")
        return requester


def end_sessions(study: Study, requester_id: int) -> None:
    """Log a requester out everywhere."""
    with study.store.write() as session:
        requester = session.get_one(Requester, requester_id)
        requester.session_version += 1
        study.log(session, f"requester:{requester.name}", "logout")


def change_password(study: Study, requester_id: int, old: str, new: str) -> Requester:
    """Change a password, which ends every session but the one that gets the new version."""
    hashed = hash_password(new)
    with study.store.write() as session:
        requester = session.get_one(Requester, requester_id)
        if not verify_password(requester.password_hash, old):
            raise NotAllowed("the old password is wrong")
        requester.password_hash, requester.session_version = hashed, requester.session_version + 1
        study.log(session, f"requester:{requester.name}", "password")
        return requester


def _refuse_too_soon(study: Study, session: Session, key: str, free: int) -> None:
    now = study.now()
    recent = (LoginFailure.key == key, LoginFailure.at > now - WINDOW)
    failures, last = session.execute(select(func.count(), func.max(LoginFailure.at)).where(*recent)).one()
    if not failures:
        return
    wait = math.ceil(seconds_to_wait(failures, free) - (now - last).total_seconds())
    if wait > 0:
        time = f"{wait} seconds" if wait < 120 else f"{math.ceil(wait / 60)} minutes"
        raise TooMany(f"too many tries; please wait {time}", wait)


def hash_password(password: str) -> str:
    """A salted hash; a password that is too short or too long is refused."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Incomplete({"password": f"{SHORTEST} to {LONGEST} characters expected"})
    with _turn:
        return _hasher.hash(password)


def verify_password(hashed: str, password: str) -> bool:
    """Whether a password is the one that was hashed."""
    if len(password) > LONGEST:
        return False
    try:
        with _turn:
            return _hasher.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False
