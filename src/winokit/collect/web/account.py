"""The requester's account: the first one, logging in and out, the password, and accounts for colleagues."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from winokit.collect.study import requesters
from winokit.collect.study.refusals import Incomplete, LinkExpired, NotAllowed
from winokit.collect.study.requesters import SETUP, SETUP_SECONDS
from winokit.collect.study.schema import Requester
from winokit.collect.web.forms import REQUESTER, VISITOR, Fields, Pages
from winokit.collect.web.visit import DASHBOARD, LOGIN, Anybody, ARequester, Visit, known_requester, run_slow

door, router = Pages(VISITOR), Pages(REQUESTER)
ACCOUNT = "/requester/account"


@door.get("/setup/{token}")
def setup_page(visit: Anybody, token: str) -> Response:
    """Where the first requester chooses a name and a password."""
    visit.study.signer.read(SETUP, token, SETUP_SECONDS)
    if requesters.exist(visit.study):
        raise LinkExpired("there is a requester already; please log in")
    return visit.page("requester_setup", token=token, name="")


@door.form("/setup/{token}", "name", "password", "again")
def set_up(visit: Anybody, token: str, fields: Fields) -> Response:
    """Make the first account and log it in."""
    name = fields.get("name", "").strip()
    try:
        _refuse_unlike(fields)
        requester = requesters.set_up(visit.study, token, name, fields.get("password", ""))
    except Incomplete as error:
        return visit.page("requester_setup", status=422, token=token, name=name, problems=error.problems)
    return _go_logged_in(visit, requester)


@door.get("/login")
def login_page(visit: Anybody) -> Response:
    """Name and password."""
    return visit.go(DASHBOARD) if known_requester(visit.request) else visit.page("requester_login", name="", refused="")


@door.form("/login", "name", "password")
async def login(visit: Anybody, fields: Fields) -> Response:
    """Log in; where to go then is ours to say, never the address's."""
    return await run_slow(_try_to_log_in, visit, fields)


def _try_to_log_in(visit: Visit, fields: Mapping[str, str]) -> Response:
    name = fields.get("name", "").strip()
    address = visit.request.client.host if visit.request.client else "unknown"
    try:
        requester = requesters.login(visit.study, name, fields.get("password", ""), address)
    except NotAllowed as error:
        return visit.page("requester_login", status=403, name=name[:64], refused=str(error))
    return _go_logged_in(visit, requester)


@router.form("/logout")
def logout(visit: ARequester) -> Response:
    """Log out, in every browser: a session that was stolen ends too."""
    requesters.end_sessions(visit.study, visit.requester.id)
    response = visit.go(LOGIN, "You are logged out.")
    visit.cookies.take(response, REQUESTER)
    return response


@router.get("/requester/account")
def account_page(visit: ARequester) -> Response:
    """The password, and colleagues."""
    return visit.page("requester_account")


@router.form("/requester/account/password", "old", "password", "again")
def change_password(visit: ARequester, fields: Fields) -> Response:
    """Change the password; other browsers are logged out."""
    try:
        _refuse_unlike(fields)
        old, new = fields.get("old", ""), fields.get("password", "")
        requester = requesters.change_password(visit.study, visit.requester.id, old, new)
    except Incomplete as error:
        return visit.page("requester_account", status=422, problems=error.problems)
    return _go_logged_in(visit, requester, ACCOUNT, "Your password is changed, and other browsers are logged out.")


@router.form("/requester/account/colleague", "name", "colleague_password")
def add_colleague(visit: ARequester, fields: Fields) -> Response:
    """Make an account for a colleague."""
    name = fields.get("name", "").strip()
    try:
        requesters.add(visit.study, name, fields.get("colleague_password", ""), visit.actor)
    except Incomplete as error:
        problems = {{"password": "colleague_password"}.get(field, field): why for field, why in error.problems.items()}
        return visit.page("requester_account", status=422, problems=problems)
    return visit.go(ACCOUNT, f"{name} can log in now.")


def _refuse_unlike(fields: dict[str, str]) -> None:
    if fields.get("password", "") != fields.get("again", ""):
        raise Incomplete({"again": "the two passwords are not the same"})


def _go_logged_in(visit: Visit, requester: Requester, path: str = DASHBOARD, notice: str = "") -> Response:
    response = visit.go(path, notice)
    visit.cookies.give(response, REQUESTER, [requester.id, requester.session_version])
    return response
