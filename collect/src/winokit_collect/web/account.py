"""Requesters' accounts: setting up, logging in and out, passwords, and colleagues' roles."""

from typing import Annotated, Any

from fastapi import Response

from winokit_collect.study import requesters
from winokit_collect.study.refusals import Incomplete, NotAllowed
from winokit_collect.study.requesters import ROLES
from winokit_collect.study.schema import Requester
from winokit_collect.web.forms import REQUESTER, VISITOR, Line, Pages, Text, expected
from winokit_collect.web.visit import (
    DASHBOARD,
    LOGIN,
    AnOwner,
    Anybody,
    AViewer,
    RequesterVisit,
    Visit,
    known_requester,
    run_slow,
)

door = Pages(VISITOR)
router = Pages(REQUESTER)
ACCOUNT = "/requester/account"
Role = Annotated[requesters.Role, expected(f"one of {', '.join(ROLES)} expected")]
Name = Annotated[Line, expected("a name expected")]


@door.get("/setup/{token}")
def setup_page(visit: Anybody, token: str) -> Response:
    """Page where a requester chooses a password, and first a name."""
    return _show_setup(visit, token)


@door.form("/setup/{token}")
def set_up(visit: Anybody, token: str, name: Line = "", password: Text = "", again: Text = "") -> Response:
    """Make the first account, or set a password, and log the requester in."""
    try:
        requester = requesters.set_up(visit.study, token, name, _check_same(password, again))
    except Incomplete as error:
        return _show_setup(visit, token, status=422, name=name, problems=error.problems)
    return _redirect_logged_in(visit, requester)


@door.get("/login")
def login_page(visit: Anybody) -> Response:
    """Page that asks a requester for name and password."""
    if known_requester(visit.request):
        return visit.go(DASHBOARD)
    return visit.page("requester_login", name="", refused="")


@door.form("/login")
async def login(visit: Anybody, name: Line = "", password: Text = "") -> Response:
    """Log a requester in.

    The dashboard always comes next, whatever the address says.
    """
    return await run_slow(_try_to_log_in, visit, name, password)


def _try_to_log_in(visit: Visit, name: str, password: str) -> Response:
    """Check name and password, and log in or show the page again."""
    try:
        requester = requesters.login(visit.study, name, password, visit.caller)
    except NotAllowed as error:
        return visit.page("requester_login", status=403, name=name[:64], refused=str(error))
    return _redirect_logged_in(visit, requester)


@router.form("/logout")
def logout(visit: AViewer) -> Response:
    """Log the requester out of all browsers."""
    requesters.end_sessions(visit.study, visit.requester.id)
    response = visit.go(LOGIN, "You are logged out.")
    visit.cookies.take(response, REQUESTER)
    return response


@router.get(ACCOUNT)
def account_page(visit: AViewer) -> Response:
    """Page with the requester's password and the accounts of colleagues."""
    return _show_account(visit)


@router.form(f"{ACCOUNT}/password")
def change_password(visit: AViewer, old: Text = "", password: Text = "", again: Text = "") -> Response:
    """Change the requester's password, and log out other browsers."""
    try:
        requester = requesters.change_password(visit.study, visit.requester.id, old, _check_same(password, again))
    except Incomplete as error:
        return _show_account(visit, status=422, problems=error.problems)
    return _redirect_logged_in(
        visit, requester, ACCOUNT, "Your password has been changed; other browsers are logged out."
    )


@router.form(f"{ACCOUNT}/colleague")
def add_colleague(visit: AnOwner, name: Name, role: Role) -> Response:
    """Make a colleague's account, and show the link for its password."""
    try:
        requesters.add(visit.study, name, None, visit.actor, role=role)
    except Incomplete as error:
        return _show_account(visit, status=422, problems=error.problems)
    return link_for_colleague(visit, name)


@router.form(f"{ACCOUNT}/link")
def link_for_colleague(visit: AnOwner, name: Name) -> Response:
    """Show a link by which a colleague chooses a new password."""
    path = requesters.password_path(visit.study, name, visit.actor)
    return _show_account(visit, link=visit.address + path, link_for=name)


@router.form(f"{ACCOUNT}/role")
def change_role(visit: AnOwner, name: Name, role: Role) -> Response:
    """Change a colleague's role."""
    requesters.change_role(visit.study, name, role, visit.actor)
    return visit.go(ACCOUNT, f"{name} is now {role}.")


@router.form(f"{ACCOUNT}/remove")
def remove_colleague(visit: AnOwner, name: Name) -> Response:
    """Remove a colleague's account, and end their sessions."""
    requesters.remove(visit.study, name, visit.actor)
    return visit.go(ACCOUNT, f"{name} can no longer log in.")


def _check_same(password: str, again: str) -> str:
    """Return the password. Raises Incomplete if it was repeated differently."""
    if password != again:
        raise Incomplete({"again": "the two passwords are not the same"})
    return password


def _show_setup(visit: Visit, token: str, *, status: int = 200, name: str = "", **context: Any) -> Response:
    owner = requesters.of_link(visit.study, token)
    owner_name = owner and owner.name
    return visit.page("requester_setup", status=status, name=name, owner=owner_name, **context)


def _show_account(visit: RequesterVisit, *, status: int = 200, link: str = "", **context: Any) -> Response:
    people = requesters.everybody(visit.study)
    return visit.page("requester_account", status=status, people=people, roles=ROLES, link=link, **context)


def _redirect_logged_in(visit: Visit, requester: Requester, path: str = DASHBOARD, notice: str = "") -> Response:
    """Redirect to a page, with the cookie of the requester's session."""
    response = visit.go(path, notice)
    visit.cookies.give(response, REQUESTER, [requester.id, requester.session_version])
    return response
