"""Links, tokens, passwords and logins that are forged, used up or guessed are refused and logged."""

import stat

import pytest
from collect_support.forging import forge_signature
from collect_support.passwords import SHIPPED_HASHER
from sqlalchemy import select

from winokit_collect.study import invites, requesters, workers
from winokit_collect.study.refusals import Incomplete, LinkExpired, NotAllowed, NotFound, TooMany
from winokit_collect.study.schema import LoginFailure, Requester
from winokit_collect.study.study import Signer, Study

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
    assert workers.step_of(study, invites.claim(study, token)) == "consent"


def test_a_link_expires(study, clock):
    token = token_of(invites.create(study, days=2).path)
    clock.pass_minutes(2 * 24 * 60 + 1)
    with pytest.raises(LinkExpired):
        invites.claim(study, token)


def test_a_revoked_link_is_of_no_use(study):
    link_and_invite = invites.create(study, uses=5)
    invites.revoke(study, link_and_invite.invite.id, "requester:ada")
    with pytest.raises(LinkExpired):
        invites.claim(study, token_of(link_and_invite.path))
    (listed,) = invites.listing(study)
    assert listed.invite.revoked_at is not None


@pytest.mark.parametrize("spoil", [forge_signature, lambda t: "x" + t, lambda t: ""])
def test_a_forged_link_is_refused(study, spoil):
    token = token_of(invites.create(study).path)
    with pytest.raises(NotAllowed):
        invites.claim(study, spoil(token))


def test_a_link_of_another_study_is_refused(make_study, study, tmp_path):
    other_signer = Signer(b"another secret of thirty-two bytes!!")
    with pytest.raises(NotAllowed):
        invites.claim(study, other_signer.sign("invite", invites.create(study).invite.id))


def test_a_token_for_one_purpose_is_none_for_another(study):
    cookie = study.signer.sign("worker-session", invites.create(study).invite.id)
    with pytest.raises(NotAllowed):
        invites.claim(study, cookie)
    assert study.signer.read("worker-session", cookie)


def test_a_return_link_lets_the_same_worker_in_once(study):
    worker = workers.join(study, "links")
    token = token_of(invites.create(study, worker=worker.code).path)
    assert invites.claim(study, token).code == worker.code
    with pytest.raises(LinkExpired):
        invites.claim(study, token)
    with pytest.raises(NotFound):
        invites.create(study, worker="w-nobody")


def test_the_secret_is_its_owner_s_alone_and_stays(study):
    path = study.folder / "secret.key"
    assert study.signer
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Study(study.folder, study.config, study.store)
    assert again.signer.read("x", study.signer.sign("x", [1])) == [1]


def test_the_first_requester_comes_by_the_set_up_link_and_nobody_else_does(study):
    token = token_of(requesters.setup_path(study))
    with pytest.raises(Incomplete, match="10 to 200"):
        requesters.set_up(study, token, "ada", "short")
    with pytest.raises(Incomplete, match="name"):
        requesters.set_up(study, token, "a<b>", PASSWORD)
    requesters.set_up(study, token, "ada", PASSWORD)
    assert requesters.setup_path(study) is None
    with pytest.raises(LinkExpired):
        requesters.set_up(study, token, "eve", PASSWORD)


def test_a_login_makes_a_session_that_can_be_ended(study):
    requesters.add(study, "ada", PASSWORD, "system")
    requester = requesters.login(study, "ada", PASSWORD, "10.0.0.1")
    assert requesters.get(study, requester.id, requester.session_version).name == "ada"
    requesters.end_sessions(study, requester.id)
    with pytest.raises(NotAllowed):
        requesters.get(study, requester.id, requester.session_version)


def test_a_changed_password_ends_other_sessions(study):
    requester = requesters.add(study, "ada", PASSWORD, "system")
    with pytest.raises(NotAllowed, match="old password"):
        requesters.change_password(study, requester.id, "wrong", "another long one")
    changed = requesters.change_password(study, requester.id, PASSWORD, "another long one")
    assert requesters.get(study, requester.id, changed.session_version)
    with pytest.raises(NotAllowed):
        requesters.get(study, requester.id, requester.session_version)


@pytest.fixture
def quick_check(monkeypatch):
    """Compare passwords without argon2, which is slow on purpose."""
    monkeypatch.setattr(requesters, "verify_password", lambda hashed, password: password == PASSWORD)


def guess_password(study, name, address, times=1):
    """Try to log in with a wrong password, and assert that it is refused, not made to wait."""
    for _ in range(times):
        with pytest.raises(NotAllowed, match="name or password"):
            requesters.login(study, name, "wrong", address)


def test_each_wrong_password_after_the_fifth_has_to_wait_twice_as_long(study, clock, quick_check):
    requesters.add(study, "ada", PASSWORD, "system")
    guess_password(study, "ada", "10.0.0.1", 5)
    waits = []
    for _ in range(4):
        with pytest.raises(TooMany) as caught:
            requesters.login(study, "ada", PASSWORD, "10.0.0.1")
        waits.append(caught.value.wait)
        clock.pass_minutes(caught.value.wait / 60)
        guess_password(study, "ada", "10.0.0.1")
    assert waits == [15, 30, 60, 120]
    clock.pass_minutes(16)
    assert requesters.login(study, "ada", PASSWORD, "10.0.0.1").name == "ada"


def test_guessing_elsewhere_does_not_lock_a_requester_out(study, quick_check):
    requesters.add(study, "ada", PASSWORD, "system")
    guess_password(study, "ada", "10.0.0.1", 5)
    with pytest.raises(TooMany):
        requesters.login(study, "ada", "wrong", "10.0.0.1")
    assert requesters.login(study, "ada", PASSWORD, "10.0.0.2").name == "ada"


def test_a_name_that_nobody_has_waits_like_one_that_somebody_has(study, quick_check):
    requesters.add(study, "ada", PASSWORD, "system")
    refusals = {}
    for name, address in (("ada", "10.0.0.1"), ("nobody", "10.0.0.2")):
        guess_password(study, name, address, 5)
        with pytest.raises(TooMany) as caught:
            requesters.login(study, name, "wrong", address)
        refusals[name] = (str(caught.value), caught.value.wait)
    assert refusals["ada"] == refusals["nobody"]


def test_an_address_that_guesses_names_has_to_wait_too(study, quick_check):
    requesters.add(study, "ada", PASSWORD, "system")
    for number in range(20):
        guess_password(study, f"name{number}", "10.0.0.1")
    with pytest.raises(TooMany):
        requesters.login(study, "ada", PASSWORD, "10.0.0.1")


def test_a_network_of_new_addresses_is_one_place(study, quick_check):
    for number in range(5):
        guess_password(study, "ada", f"2001:db8:1:2::{number}")
    with pytest.raises(TooMany):
        requesters.login(study, "ada", "wrong", "2001:db8:1:2:ffff::9")


def test_a_login_makes_earlier_failures_of_its_name_forgotten(study, quick_check):
    requesters.add(study, "ada", PASSWORD, "system")
    guess_password(study, "ada", "10.0.0.1", 4)
    requesters.login(study, "ada", PASSWORD, "10.0.0.1")
    guess_password(study, "ada", "10.0.0.1", 5)


def test_neither_passwords_nor_addresses_are_stored(study):
    # A name with letters that no hash has.
    requesters.add(study, "grace", PASSWORD, "system")
    with pytest.raises(NotAllowed):
        requesters.login(study, "grace", "wrong", "10.0.0.77")
    with study.store.read() as session:
        hashed = session.scalar(select(Requester.password_hash))
        keys = session.scalars(select(LoginFailure.key)).all()
    assert hashed.startswith("$argon2id$")
    for key in keys:
        assert "10.0.0.77" not in key
        assert "grace" not in key


def test_a_hash_takes_the_memory_and_the_passes_that_argon2_is_advised_to_take():
    assert SHIPPED_HASHER.memory_cost >= 19 * 1024  # KiB
    assert SHIPPED_HASHER.time_cost >= 2


def test_a_password_longer_than_any_is_wrong_without_being_hashed():
    assert requesters.verify_password(requesters.NOBODY, "x" * 10_000_000) is False
