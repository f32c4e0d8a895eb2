"""Requesters' accounts: the first one, logging in and out, passwords, and colleagues with their roles."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from winokit.collect.study import requesters
from winokit.collect.study.refusals import Incomplete, NotAllowed
from winokit.collect.study.requesters import ROLES, Role
from winokit.collect.study.schema import VIEWER, Requester
from winokit.collect.web.forms import REQUESTER, VISITOR, Line, Pages, SentForm, expected
from winokit.collect.web.visit import (
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

door, router = Pages(VISITOR), Pages(REQUESTER)
ACCOUNT = "/requester/account"


class AccountForm(SentForm):
    """Who somebody is, and the password that they choose."""

    name: Line = ""
    old: str = ""
    password: str = ""
    again: str = ""

    @property
    def chosen(self) -> str:
        """The password, if it was typed twice."""
        if self.password != self.again:
            raise Incomplete({"again": "the two passwords are not the same"})
        return self.password


class ColleagueForm(SentForm):
    """Whom something is done about, and what they may do."""

    name: Line = expected("a name expected")
    role: Role = expected(f"one of {', '.join(ROLES)} expected", VIEWER)


SentAccount = Annotated[AccountForm, Depends(AccountForm.read)]
SentColleague = Annotated[ColleagueForm, Depends(ColleagueForm.read)]


@door.get("/setup/{token}")
def setup_page(visit: Anybody, token: str) -> Response:
    """Where the first requester chooses a name and a password."""
    requesters.refuse_second(visit.study, token)
    return visit.page("requester_setup", name="")


@door.form("/setup/{token}")
def set_up(visit: Anybody, token: str, form: SentAccount) -> Response:
    """Make the first account and log it in."""
    try:
        requester = requesters.set_up(visit.study, token, form.name, form.chosen)
    except Incomplete as error:
        return visit.page("requester_setup", status=422, name=form.name, problems=error.problems)
    return _go_logged_in(visit, requester)


@door.get("/password/{token}")
def password_page(visit: Anybody, token: str) -> Response:
    """Where somebody who has an account chooses its password."""
    return visit.page("requester_setup", owner=requesters.of_password_link(visit.study, token).name)


@door.form("/password/{token}")
def choose_password(visit: Anybody, token: str, form: SentAccount) -> Response:
    """Set the password, which ends other sessions, and log in."""
    owner = requesters.of_password_link(visit.study, token).name
    try:
        requester = requesters.choose_password(visit.study, token, form.chosen)
    except Incomplete as error:
        return visit.page("requester_setup", status=422, owner=owner, problems=error.problems)
    return _go_logged_in(visit, requester)


@door.get("/login")
def login_page(visit: Anybody) -> Response:
    """Name and password."""
    return visit.go(DASHBOARD) if known_requester(visit.request) else visit.page("requester_login", name="", refused="")


@door.form("/login")
async def login(visit: Anybody, form: SentAccount) -> Response:
    """Log in; where to go then is ours to say, never the address's."""
    return await run_slow(_try_to_log_in, visit, form)


def _try_to_log_in(visit: Visit, form: AccountForm) -> Response:
    try:
        requester = requesters.login(visit.study, form.name, form.password, visit.caller)
    except NotAllowed as error:
        return visit.page("requester_login", status=403, name=form.name[:64], refused=str(error))
    return _go_logged_in(visit, requester)


@router.form("/logout")
def logout(visit: AViewer) -> Response:
    """Log out, in every browser: a session that was stolen ends too."""
    requesters.end_sessions(visit.study, visit.requester.id)
    response = visit.go(LOGIN, "You are logged out.")
    visit.cookies.take(response, REQUESTER)
    return response


@router.get(ACCOUNT)
def account_page(visit: AViewer) -> Response:
    """The password, and colleagues."""
    return _page(visit)


@router.form(f"{ACCOUNT}/password")
def change_password(visit: AViewer, form: SentAccount) -> Response:
    """Change the password; other browsers are logged out."""
    try:
        requester = requesters.change_password(visit.study, visit.requester.id, form.old, form.chosen)
    except Incomplete as error:
        return _page(visit, status=422, problems=error.problems)
    return _go_logged_in(visit, requester, ACCOUNT, "Your password is changed, and other browsers are logged out.")


@router.form(f"{ACCOUNT}/colleague")
def add_colleague(visit: AnOwner, form: SentColleague) -> Response:
    """Make an account for a colleague, and a link by which they choose its password."""
    try:
        requesters.add(visit.study, form.name, None, visit.actor, role=form.role)
    except Incomplete as error:
        return _page(visit, status=422, problems=error.problems)
    return link_for_colleague(visit, form)


@router.form(f"{ACCOUNT}/link")
def link_for_colleague(visit: AnOwner, form: SentColleague) -> Response:
    """A link by which a colleague who forgot their password chooses another."""
    path = requesters.password_path(visit.study, form.name, visit.actor)
    return _page(visit, link=visit.address + path, link_for=form.name)


@router.form(f"{ACCOUNT}/role")
def change_role(visit: AnOwner, form: SentColleague) -> Response:
    """Let a colleague do more or less."""
    requesters.change_role(visit.study, form.name, form.role, visit.actor)
    return visit.go(ACCOUNT, f"{form.name} is {form.role} now.")


@router.form(f"{ACCOUNT}/remove")
def remove_colleague(visit: AnOwner, form: SentColleague) -> Response:
    """Take a colleague's account away, with their sessions."""
    requesters.remove(visit.study, form.name, visit.actor)
    return visit.go(ACCOUNT, f"{form.name} cannot log in any more.")


def _page(visit: RequesterVisit, *, status: int = 200, link: str = "", **context: object) -> Response:
    people = requesters.everybody(visit.study)
    return visit.page("requester_account", status=status, people=people, roles=ROLES, link=link, **context)


def _go_logged_in(visit: Visit, requester: Requester, path: str = DASHBOARD, notice: str = "") -> Response:
    response = visit.go(path, notice)
    visit.cookies.give(response, REQUESTER, [requester.id, requester.session_version])
    return response
