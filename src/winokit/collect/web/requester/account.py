"""The requester's account: the first one, logging in and out, the password, and accounts for colleagues."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import requesters
from winokit.collect.study.invites import SETUP, SETUP_SECONDS
from winokit.collect.study.refusals import Incomplete, LinkExpired, NotAllowed
from winokit.collect.study.requesters import RequesterInfo
from winokit.collect.web.apart import apart
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import REQUESTER, VISITOR
from winokit.collect.web.visit import DASHBOARD, LOGIN, Anybody, ARequester, Visit, known_requester

router = APIRouter(tags=["requester: account"])
at_the_door = [Depends(guard(VISITOR))]
inside = [Depends(guard(REQUESTER))]


@router.get("/setup/{token}", dependencies=at_the_door)
def setup_page(visit: Anybody, token: str) -> Response:
    """Where the first requester chooses a name and a password."""
    visit.study.signer.read(SETUP, token, SETUP_SECONDS)
    if requesters.exist(visit.study):
        raise LinkExpired("there is a requester already; please log in")
    return visit.page("requester_setup", token=token, name="")


@router.post("/setup/{token}", dependencies=at_the_door, openapi_extra=takes("name", "password", "again"))
def set_up(visit: Anybody, token: str, fields: Fields) -> Response:
    """Make the first account and log it in."""
    name = fields.get("name", "").strip()
    try:
        _refuse_unlike(fields)
        made = requesters.set_up(visit.study, token, name, fields.get("password", ""))
    except Incomplete as error:
        return visit.page("requester_setup", status=422, token=token, name=name, problems=error.problems)
    return _log_in(visit, made)


@router.get("/login", dependencies=at_the_door)
def login_page(visit: Anybody) -> Response:
    """Name and password."""
    return visit.go(DASHBOARD) if known_requester(visit.request) else visit.page("requester_login", name="", refused="")


@router.post("/login", dependencies=at_the_door, openapi_extra=takes("name", "password"))
async def login(visit: Anybody, fields: Fields) -> Response:
    """Log in; where to go then is ours to say, never the address's."""
    return await apart(_try_to_log_in, visit, fields)


def _try_to_log_in(visit: Visit, fields: Mapping[str, str]) -> Response:
    name = fields.get("name", "").strip()
    address = visit.request.client.host if visit.request.client else "unknown"
    try:
        found = requesters.login(visit.study, name, fields.get("password", ""), address)
    except NotAllowed as error:
        return visit.page("requester_login", status=403, name=name[:64], refused=str(error))
    return _log_in(visit, found)


@router.post("/logout", dependencies=inside, openapi_extra=takes())
def logout(visit: ARequester) -> Response:
    """Log out, in every browser: a session that was stolen ends too."""
    requesters.end_sessions(visit.study, visit.requester.id)
    response = visit.go(LOGIN, "You are logged out.")
    visit.cookies.take(response, REQUESTER)
    return response


@router.get("/requester/account", dependencies=inside)
def account_page(visit: ARequester) -> Response:
    """The password, and colleagues."""
    return visit.page("requester_account")


@router.post("/requester/account/password", dependencies=inside, openapi_extra=takes("old", "password", "again"))
def change_password(visit: ARequester, fields: Fields) -> Response:
    """Change the password; other browsers are logged out."""
    try:
        _refuse_unlike(fields)
        changed = requesters.change_password(
            visit.study, visit.requester.id, fields.get("old", ""), fields.get("password", "")
        )
    except Incomplete as error:
        return visit.page("requester_account", status=422, problems=error.problems)
    response = visit.go("/requester/account", "Your password is changed, and other browsers are logged out.")
    visit.cookies.give(response, REQUESTER, [changed.id, changed.session_version])
    return response


@router.post("/requester/account/colleague", dependencies=inside, openapi_extra=takes("name", "colleague_password"))
def add_colleague(visit: ARequester, fields: Fields) -> Response:
    """Make an account for a colleague."""
    name = fields.get("name", "").strip()
    try:
        requesters.add(visit.study, name, fields.get("colleague_password", ""), visit.actor)
    except Incomplete as error:
        told = {{"password": "colleague_password"}.get(field, field): why for field, why in error.problems.items()}
        return visit.page("requester_account", status=422, problems=told)
    return visit.go("/requester/account", f"{name} can log in now.")


def _refuse_unlike(fields: dict[str, str]) -> None:
    if fields.get("password", "") != fields.get("again", ""):
        raise Incomplete({"again": "the two passwords are not the same"})


def _log_in(visit: Visit, requester: RequesterInfo) -> Response:
    response = visit.go(DASHBOARD)
    visit.cookies.give(response, REQUESTER, [requester.id, requester.session_version])
    return response
