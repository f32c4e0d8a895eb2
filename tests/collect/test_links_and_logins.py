"""Links, tokens, passwords and logins: what is forged, used up or guessed is refused and written down."""

import stat

import pytest
from sqlalchemy import select

from winokit.collect import invites, log, passwords, requesters, workers
from winokit.collect.refusals import Incomplete, LinkExpired, NotAllowed, NotFound, TooMany
from winokit.collect.schema import LoginFailure, Requester
from winokit.collect.study import Study
from winokit.collect.tokens import Signer

PASSWORD = "correct horse battery"


def token_of(path):
    return path.rpartition("/")[2]


def test_a_link_lets_in_as_many_as_it_says(study):
    token = token_of(invites.create(study, uses=2).path)
    assert invites.claim(study, token).code != invites.claim(study, token).code
    with pytest.raises(LinkExpired):
        invites.claim(study, token)
    with pytest.raises(LinkExpired):
        invites.look(study, token)


def test_looking_at_a_link_does_not_use_it_up(study):
    token = token_of(invites.create(study).path)
    assert invites.look(study, token).uses == 0
    assert invites.claim(study, token).step == "consent"


def test_a_link_expires(study, clock):
    token = token_of(invites.create(study, days=2).path)
    clock.pass_minutes(2 * 24 * 60 + 1)
    with pytest.raises(LinkExpired):
        invites.claim(study, token)


def test_a_revoked_link_is_of_no_use(study):
    made = invites.create(study, uses=5)
    invites.revoke(study, made.id, "requester:ada")
    with pytest.raises(LinkExpired):
        invites.claim(study, token_of(made.path))
    assert [one.revoked for one in invites.listing(study)] == [True]


@pytest.mark.parametrize("spoil", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), lambda t: "x" + t, lambda t: ""])
def test_a_forged_link_is_refused(study, spoil):
    with pytest.raises(NotAllowed):
        invites.claim(study, spoil(token_of(invites.create(study).path)))


def test_a_link_of_another_study_is_refused(make_study, study, tmp_path):
    stranger = Signer(b"another secret of thirty-two bytes!!")
    with pytest.raises(NotAllowed):
        invites.claim(study, stranger.sign("invite", invites.create(study).id))


def test_a_token_for_one_purpose_is_none_for_another(study):
    cookie = study.signer.sign("worker-session", invites.create(study).id)
    with pytest.raises(NotAllowed):
        invites.claim(study, cookie)
    assert study.signer.read("worker-session", cookie)


def test_a_return_link_lets_the_same_worker_in_once(study):
    worker = workers.join(study, "links")
    token = token_of(invites.return_link(study, worker.code).path)
    assert invites.claim(study, token).code == worker.code
    with pytest.raises(LinkExpired):
        invites.claim(study, token)
    with pytest.raises(NotFound):
        invites.return_link(study, "w-nobody")


def test_the_secret_is_its_owner_s_alone_and_stays(study):
    path = study.folder / "secret.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Study(study.folder, study.config, study.store)
    assert again.signer.read("x", study.signer.sign("x", [1])) == [1]


def test_the_first_requester_comes_by_the_set_up_link_and_nobody_else_does(study):
    token = token_of(invites.setup_path(study))
    with pytest.raises(Incomplete, match="10 to 200"):
        requesters.set_up(study, token, "ada", "short")
    with pytest.raises(Incomplete, match="name"):
        requesters.set_up(study, token, "a<b>", PASSWORD)
    requesters.set_up(study, token, "ada", PASSWORD)
    assert invites.setup_path(study) is None
    with pytest.raises(LinkExpired):
        requesters.set_up(study, token, "eve", PASSWORD)


def test_a_login_makes_a_session_that_can_be_ended(study):
    requesters.add(study, "ada", PASSWORD, "system")
    told = requesters.login(study, "ada", PASSWORD, "10.0.0.1")
    assert requesters.get(study, told.id, told.session_version) == told
    requesters.end_sessions(study, told.id)
    with pytest.raises(NotAllowed):
        requesters.get(study, told.id, told.session_version)


def test_a_changed_password_ends_other_sessions(study):
    told = requesters.add(study, "ada", PASSWORD, "system")
    with pytest.raises(NotAllowed, match="old password"):
        requesters.change_password(study, told.id, "wrong", "another long one")
    new = requesters.change_password(study, told.id, PASSWORD, "another long one")
    assert requesters.get(study, told.id, new.session_version)
    with pytest.raises(NotAllowed):
        requesters.get(study, told.id, told.session_version)


def test_a_name_is_locked_for_a_while_after_five_wrong_passwords(study, clock):
    requesters.add(study, "ada", PASSWORD, "system")
    for address in range(5):
        with pytest.raises(NotAllowed, match="name or password"):
            requesters.login(study, "ada", "wrong", f"10.0.0.{address}")
    with pytest.raises(TooMany) as caught:
        requesters.login(study, "ada", PASSWORD, "10.0.0.9")
    assert 0 < caught.value.wait <= 15 * 60
    clock.pass_minutes(16)
    assert requesters.login(study, "ada", PASSWORD, "10.0.0.9").name == "ada"
    assert len(log.entries(study, action="login refused")) == 5


def test_an_address_that_guesses_names_is_locked_too(study, monkeypatch):
    monkeypatch.setattr(passwords, "verify", lambda hashed, password: False)  # argon2 is slow on purpose
    for number in range(20):
        with pytest.raises(NotAllowed):
            requesters.login(study, f"name{number}", "wrong", "10.0.0.1")
    with pytest.raises(TooMany):
        requesters.login(study, "yet another", "wrong", "10.0.0.1")


def test_neither_passwords_nor_addresses_are_stored(study):
    requesters.add(study, "ada", PASSWORD, "system")
    with pytest.raises(NotAllowed):
        requesters.login(study, "ada", "wrong", "10.0.0.77")
    with study.store.read() as session:
        hashed = session.scalar(select(Requester.password_hash))
        keys = session.scalars(select(LoginFailure.key)).all()
    assert hashed.startswith("$argon2id$")
    assert not any("10.0.0.77" in key or "ada" in key for key in keys)


def test_a_password_longer_than_any_is_wrong_without_being_hashed():
    assert passwords.verify(passwords.NOBODY, "x" * 10_000_000) is False
