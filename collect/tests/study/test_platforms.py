"""Workers come from links, Prolific and Mechanical Turk, and are paid there."""

import sys

import httpx
import pytest
from collect_support.stand_in import AFTER, HANG_UP, prolific_stand_in

from winokit.extend import BadInput, MissingExtra
from winokit_collect import PLATFORMS
from winokit_collect.platforms import payout
from winokit_collect.platforms.base import (
    BaseReward,
    Busy,
    Platform,
    PlatformError,
    Uncertain,
    Visitor,
    VisitReport,
    arrive,
    leave,
)
from winokit_collect.platforms.mturk import MTurk
from winokit_collect.platforms.prolific import Prolific
from winokit_collect.study import ledger, moderation, workers
from winokit_collect.study.config import PlatformConfig as Settings
from winokit_collect.study.refusals import NotAllowed, NotFound, NotNow

PID = "5f8a1b2c3d4e5f6a7b8c9d0e"
STUDY = "60aa27810f15ab95381fe71d"
SESSION = "60c8d1ddf5b2aeb2c3b1f3aa"
ADDRESS = {"PROLIFIC_PID": PID, "STUDY_ID": STUDY, "SESSION_ID": SESSION}
VISITOR = Visitor(PID, STUDY, SESSION)


@pytest.fixture
def prolific(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    with prolific_stand_in() as books:
        books.submissions[SESSION] = {"study_id": STUDY, "status": "ACTIVE", "bonus_payments": None, "paid": 0}
        yield books


def prolific_settings(**changes):
    fields = {"name": "prolific", "study_id": STUDY, "completion_code": "C-DONE", "screened_out_code": "C-OUT"}
    return Settings(**fields | changes)


def test_prolific_s_address_says_who_has_come():
    assert Prolific(prolific_settings()).arrival(ADDRESS) == VISITOR
    assert Prolific(prolific_settings()).arrival({"utm_source": "x"}) is None


@pytest.mark.parametrize(
    "parameters",
    [
        ADDRESS | {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"},
        ADDRESS | {"SESSION_ID": "../../studies"},
        {"PROLIFIC_PID": PID},
        ADDRESS | {"STUDY_ID": "70aa27810f15ab95381fe71d"},
    ],
)
def test_an_address_that_prolific_did_not_make_is_refused(parameters):
    with pytest.raises(NotAllowed):
        Prolific(prolific_settings()).arrival(parameters)


def test_a_submission_of_another_study_is_refused_where_none_is_named_too():
    """Without a study named, paying would approve a submission of another study."""
    prolific = Prolific(prolific_settings(study_id=""))
    with pytest.raises(NotAllowed, match="another study"):
        prolific.arrival(ADDRESS)
    assert "[platform] study_id" in prolific.warning()


def test_people_go_back_to_prolific_with_the_code_of_how_it_went():
    completed = Prolific(prolific_settings()).departure(VISITOR, screened_out=False)
    assert completed.url == "https://app.prolific.com/submissions/complete?cc=C-DONE"
    assert Prolific(prolific_settings()).departure(VISITOR, screened_out=True).code == "C-OUT"
    assert Prolific(Settings(name="prolific")).departure(VISITOR, screened_out=False).url is None


def test_approving_and_screening_out_are_transitions_of_the_session(prolific):
    platform = Prolific(prolific_settings(api=prolific.url))
    platform.approve(VISITOR)
    prolific.submissions[SESSION]["status"] = "ACTIVE"
    platform.screen_out(VISITOR)
    path = f"/submissions/{SESSION}/transition/"
    assert prolific.token == "Token tok-1"
    assert prolific.calls == [
        ("POST", path, {"action": "APPROVE"}),
        ("POST", path, {"action": "COMPLETE", "completion_code": "C-OUT"}),
    ]


def test_a_bonus_is_set_up_then_paid_and_then_shown(prolific):
    platform = Prolific(prolific_settings(api=prolific.url))
    assert platform.tally(VISITOR, 1205) == 0
    key = platform.reserve(VISITOR, 1205, "Twins", "w-1")
    assert prolific.calls[-1][2] == {"study_id": STUDY, "csv_bonuses": f"{SESSION},12.05"}
    assert prolific.paid == 0
    assert platform.bonus(VISITOR, 1205, "Twins", key) == key
    assert prolific.calls[-1][1] == f"/bulk-bonus-payments/{key}/pay/"
    assert platform.tally(VISITOR, 1205) == 1
    assert platform.tally(VISITOR, 1200) == 0


def test_a_refusal_is_told_in_one_line(prolific):
    with pytest.raises(PlatformError, match=r"404.*not found") as caught:
        Prolific(prolific_settings(api=prolific.url)).bonus(VISITOR, 5, "", "bulk-that-is-not")
    assert not isinstance(caught.value, Uncertain)


def test_a_refusal_names_no_ids_of_people(prolific):
    prolific.submissions[SESSION]["study_id"] = "another"
    with pytest.raises(PlatformError, match="… has not taken part"):
        Prolific(prolific_settings(api=prolific.url)).reserve(VISITOR, 5, "", "w-1")
    del prolific.submissions[SESSION]
    with pytest.raises(PlatformError) as caught:
        Prolific(prolific_settings(api=prolific.url)).approve(VISITOR)
    assert SESSION not in str(caught.value)


@pytest.mark.parametrize("answer", ["<html>", "[]", "{}", '{"id": "../x"}'])
def test_a_bonus_that_was_set_up_without_an_id_is_not_paid(prolific, monkeypatch, answer):
    response = httpx.Response(200, text=answer, request=httpx.Request("POST", prolific.url))
    monkeypatch.setattr(httpx, "request", lambda *args, **options: response)
    with pytest.raises(PlatformError, match=r"returned no id|expected a JSON object"):
        Prolific(prolific_settings(api=prolific.url)).reserve(VISITOR, 5, "", "w-1")


@pytest.mark.parametrize("status", [HANG_UP, 302, 408, 502])
def test_a_payment_without_a_clear_answer_leaves_a_doubt(prolific, status):
    platform = Prolific(prolific_settings(api=prolific.url))
    key = platform.reserve(VISITOR, 5, "", "w-1")
    prolific.trouble = lambda path: (AFTER, status)
    with pytest.raises(Uncertain):
        platform.bonus(VISITOR, 5, "", key)


def test_a_server_that_is_not_there_is_no_doubt(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "t")
    with pytest.raises(PlatformError, match="cannot be reached") as caught:
        Prolific(prolific_settings(api="http://127.0.0.1:1")).bonus(VISITOR, 5, "", "w-1")
    assert not isinstance(caught.value, Uncertain)


@pytest.fixture
def visited(make_study, prolific):
    platform = prolific.platform(study_id=STUDY, tasks_per_visit=2)
    prolific.submissions[SESSION] |= {"participant": PID}
    return make_study(platform=platform, tasks={"twins": 3})


def another_visit(prolific):
    session = "70c8d1ddf5b2aeb2c3b1f3aa"
    prolific.submissions[session] = prolific.submissions[SESSION] | {"id": session}
    return ADDRESS | {"SESSION_ID": session}


def test_the_same_person_comes_back_as_the_same_worker(visited, prolific):
    worker = arrive(visited, ADDRESS, browser="b-1")
    assert arrive(visited, another_visit(prolific), browser="b-2").code == worker.code
    with pytest.raises(NotFound):
        arrive(visited, {})


def test_whom_a_platform_cannot_vouch_for_comes_back_in_their_own_browser_only(make_study):
    """Otherwise anybody could come in with a worker id and a made-up assignment in the address."""
    study = make_study(platform={"name": "mturk"})
    address = {"workerId": "A1B2C3", "hitId": "HIT1", "assignmentId": "ASSIGN1"}
    worker = arrive(study, address, browser="b-1")
    again = address | {"assignmentId": "ASSIGN2"}
    with pytest.raises(NotAllowed, match="another browser"):
        arrive(study, again, browser="b-2")
    assert arrive(study, again, browser="b-1").code == worker.code
    assert arrive(study, again, browser="b-2", me=worker.id).code == worker.code


def test_a_visit_stays_in_the_browser_that_it_began_in(visited):
    worker = arrive(visited, ADDRESS, browser="b-1")
    assert arrive(visited, ADDRESS, browser="b-1").code == worker.code  # the answer was lost
    with pytest.raises(NotAllowed, match="another browser"):
        arrive(visited, ADDRESS, browser="b-2")
    with pytest.raises(NotAllowed, match="another browser"):
        arrive(visited, ADDRESS, browser="b-2", me=worker.id + 1)
    assert arrive(visited, ADDRESS, browser="b-2", me=worker.id).code == worker.code  # let in there by a link


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"participant": "5f8a1b2c3d4e5f6a7b8c0000"}, "Prolific does not make addresses like this"),
        ({"study_id": "60aa27810f15ab9538100000"}, "Prolific does not make addresses like this"),
        ({"status": "TIMED-OUT"}, "has ended on Prolific"),
        ({"status": "APPROVED"}, "has ended on Prolific"),
    ],
)
def test_prolific_is_asked_whom_it_has_sent(prolific, record, complaint):
    prolific.submissions[SESSION] |= {"participant": PID} | record
    with pytest.raises(NotAllowed, match=complaint):
        Prolific(prolific_settings(api=prolific.url)).verify(VISITOR)


def test_nobody_is_believed_while_prolific_is_silent_or_knows_nothing_of_them(prolific):
    platform = Prolific(prolific_settings(api=prolific.url))
    with pytest.raises(NotAllowed, match="Prolific does not make addresses like this"):
        platform.verify(Visitor(PID, STUDY, "80c8d1ddf5b2aeb2c3b1f3aa"))
    prolific.trouble = lambda path: (AFTER, 502)
    with pytest.raises(NotNow, match="is not responding"):
        platform.verify(VISITOR)
    prolific.trouble = lambda path: None
    prolific.submissions[SESSION] |= {"participant": PID, "study_id": "a quota's own", "parent_study_id": STUDY}
    platform.verify(VISITOR)


def test_whoever_starts_a_server_without_a_token_is_warned(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "t")
    assert Prolific(prolific_settings()).warning() == ""
    monkeypatch.delenv("PROLIFIC_API_TOKEN")
    warning = Prolific(prolific_settings()).warning()
    assert "not set: PROLIFIC_API_TOKEN; Prolific's people can be neither let in nor paid" in warning


def test_the_completion_code_is_shown_when_the_visit_is_done(visited, prolific, crew, clock):
    worker = arrive(visited, ADDRESS)
    assert leave(visited, worker.id) is None
    workers.consent(visited, worker.id)
    workers.screen(visited, worker.id, native_speaker=True, has_seen_wsc=False)
    crew.write(visited, worker)
    assert leave(visited, worker.id) is None
    crew.write(visited, worker, 7)
    assert leave(visited, worker.id).code == "C"
    clock.pass_minutes(60)
    arrive(visited, another_visit(prolific))
    assert leave(visited, worker.id) is None
    crew.write(visited, worker, 77)  # the last there is
    assert leave(visited, worker.id).code == "C"


def test_a_visit_that_the_study_ends_is_done_with_what_was_handed_in(visited, crew):
    worker = arrive(visited, ADDRESS)
    workers.consent(visited, worker.id)
    workers.screen(visited, worker.id, native_speaker=True, has_seen_wsc=False)
    visited.pause(True, "requester:ada")
    assert leave(visited, worker.id) is None
    visited.pause(False, "requester:ada")
    crew.write(visited, worker)
    assert leave(visited, worker.id) is None
    visited.pause(True, "requester:ada")
    assert leave(visited, worker.id).code == "C"
    visited.pause(False, "requester:ada")
    moderation.block(visited, worker.code, "x", "requester:ada")
    assert leave(visited, worker.id).code == "C"


def test_without_a_platform_paying_notes_what_was_paid_by_hand(study, crew):
    worker = crew.newcomer(study)
    crew.write(study, worker)
    assert payout.plan(study, "requester:ada") == 1
    assert [(line.settlement, line.job_id) for line in ledger.entries(study)] == [("by hand", 1)]
    assert ledger.balances(study)[0].open_cents == 0
    (job,) = ledger.payouts(study, 9).ended
    assert (job.state, job.cents, job.settled_by) == ("confirmed", 40, "requester:ada")
    assert payout.step(study) is False


def test_a_correction_is_a_line_of_its_own(study, crew):
    worker = crew.newcomer(study)
    crew.write(study, worker)
    ledger.bonus(study, worker.code, -15, "paid twice", "requester:ada")
    entries = [(entry.reason, entry.cents) for entry in ledger.entries(study) if entry.worker_id == worker.id]
    assert entries == [("write", 40), ("correction", -15)]
    assert workers.own_work(study, worker.id)[0] == 25


def test_another_package_can_add_a_platform(make_study, monkeypatch):
    class Guild(Platform):
        title = "The Guild"
        parameters = ("member",)

        def arrival(self, parameters):
            return Visitor(parameters["member"]) if "member" in parameters else None

    with pytest.raises(BadInput, match=r"'platform\.name': one of links, prolific, mturk expected, found 'guild'"):
        make_study(platform={"name": "guild"})
    monkeypatch.setitem(PLATFORMS._things, "guild", Guild)
    study = make_study(platform={"name": "guild"})
    worker = arrive(study, {"member": "ada"})
    assert worker.platform == "guild"
    assert arrive(study, {"member": "ada"}).code == worker.code
    assert leave(study, worker.id) is None


def test_a_visitor_of_mechanical_turk_is_told_from_a_preview():
    platform = MTurk(Settings(name="mturk"))
    address = {"workerId": "A1", "hitId": "3X", "assignmentId": "3B2"}
    assert platform.arrival(address) == Visitor("A1", "3X", "3B2")
    with pytest.raises(NotAllowed, match="accept"):
        platform.arrival(address | {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    with pytest.raises(NotAllowed):
        platform.arrival(address | {"workerId": "A1&x=<script>"})
    form = platform.departure(Visitor("A1", "3X", "3B2"), screened_out=False)
    assert form.form_action == "https://www.mturk.com/mturk/externalSubmit"
    assert form.fields["assignmentId"] == "3B2"


def test_without_boto3_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtra, match=r"needs the 'mturk' extra: pip install '\./collect\[mturk\]'"):
        _ = MTurk(Settings(name="mturk", base_reward="0.40")).client


@pytest.fixture
def turk():
    boto3 = pytest.importorskip("boto3", reason="needs boto3")
    from botocore.stub import Stubber

    client = boto3.client("mturk", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stub:
        platform = MTurk(Settings(name="mturk", base_reward="0.40"))
        platform.client = client
        yield platform, stub


def test_mechanical_turk_approves_and_sends_bonuses_with_a_token_against_doubles(turk):
    platform, stub = turk
    stub.add_response("approve_assignment", {}, {"AssignmentId": "3B2", "OverrideRejection": False})
    parameters = {"WorkerId": "A1", "AssignmentId": "3B2", "BonusAmount": "0.70", "Reason": "Twins"}
    stub.add_response("send_bonus", {}, parameters | {"UniqueRequestToken": "w-1-9"})
    platform.approve(Visitor("A1", "3X", "3B2"))
    assert platform.bonus(Visitor("A1", "3X", "3B2"), 70, "Twins", "w-1-9") == "w-1-9"
    stub.assert_no_pending_responses()


def test_mechanical_turk_tells_what_it_has_paid_page_by_page(turk):
    platform, stub = turk
    first_page = {"BonusPayments": [{"BonusAmount": "0.7"}, {"BonusAmount": "1.70"}], "NextToken": "n"}
    stub.add_response("list_bonus_payments", first_page, {"AssignmentId": "3B2"})
    second_page = {"BonusPayments": [{"BonusAmount": "0.70"}]}
    stub.add_response("list_bonus_payments", second_page, {"AssignmentId": "3B2", "NextToken": "n"})
    assert platform.tally(Visitor("A1", "3X", "3B2"), 70) == 2


def test_mechanical_turk_tells_what_became_of_a_visit_and_what_it_pays(turk):
    platform, stub = turk
    assignment = {"AssignmentId": "3B2", "WorkerId": "A1", "HITId": "3X", "AssignmentStatus": "Approved"}
    stub.add_response("get_assignment", {"Assignment": assignment}, {"AssignmentId": "3B2"})
    bonus = {"AssignmentId": "3B2", "BonusAmount": "0.70"}
    stub.add_response("list_bonus_payments", {"BonusPayments": [bonus]}, {"AssignmentId": "3B2"})
    stub.add_response("get_hit", {"HIT": {"Reward": "0.40"}}, {"HITId": "3X"})
    assert platform.look(Visitor("A1", "3X", "3B2")) == VisitReport("3B2", "A1", "approved", (70,), "3X")
    assert platform.reward("3X") == BaseReward(40, "USD")


def test_mechanical_turk_lists_assignments_with_their_own_bonuses(turk):
    platform, stub = turk
    bonuses = [{"AssignmentId": name, "BonusAmount": "0.10"} for name in ("3B2", "3B2", "9Z")]
    stub.add_response("list_bonus_payments", {"BonusPayments": bonuses}, {"HITId": "3X"})
    assignment = {"AssignmentId": "3B2", "WorkerId": "A1", "HITId": "3X", "AssignmentStatus": "Rejected"}
    stub.add_response("list_assignments_for_hit", {"Assignments": [assignment]}, {"HITId": "3X"})
    assert list(platform.visits(["3X"])) == [VisitReport("3B2", "A1", "returned", (10, 10), "3X")]


def test_mechanical_turk_that_is_busy_is_waited_for(turk):
    platform, stub = turk
    stub.add_client_error("approve_assignment", "ThrottlingException", "Rate exceeded", http_status_code=400)
    with pytest.raises(Busy) as caught:
        platform.approve(Visitor("A1", "3X", "3B2"))
    assert caught.value.seconds == 30


def test_a_token_that_mechanical_turk_has_seen_says_that_it_was_paid(turk):
    platform, stub = turk
    stub.add_client_error("send_bonus", "RequestError", 'The idempotency token "w-1-9" has already been processed.')
    assert platform.bonus(Visitor("A1", "3X", "3B2"), 70, "Twins", "w-1-9") == "w-1-9"
    stub.add_client_error("send_bonus", "ServiceFault", "temporarily unable", http_status_code=500)
    with pytest.raises(Uncertain, match="temporarily unable"):
        platform.bonus(Visitor("A1", "3X", "3B2"), 70, "Twins", "w-1-9")


def test_a_hit_asks_for_the_papers_qualifications(turk):
    platform, stub = turk
    from botocore.stub import ANY

    parameters = dict.fromkeys(("Title", "Description", "Question", "LifetimeInSeconds", "MaxAssignments"), ANY)
    parameters |= {"Reward": "0.40", "AssignmentDurationInSeconds": 3600, "QualificationRequirements": ANY}
    parameters |= {"UniqueRequestToken": ANY}
    stub.add_response("create_hit", {"HIT": {"HITId": "3X"}}, parameters)
    assert platform.publish("https://x.org", "T", visits=9, minutes=60) == "3X"
    percent, number, locale = platform.qualifications()
    assert percent["IntegerValues"] == [99]
    assert number["IntegerValues"] == [5000]
    countries = [value["Country"] for value in locale["LocaleValues"]]
    assert countries == ["US", "CA", "GB", "AU", "NZ"]


def test_a_hit_without_an_answer_is_offered_once_however_often_it_is_tried(turk, monkeypatch):
    platform, _ = turk
    tokens = []

    def lose_the_answer(self, operation, **parameters):
        tokens.append(parameters["UniqueRequestToken"])
        raise Uncertain("no answer")

    monkeypatch.setattr(MTurk, "_call_api", lose_the_answer)
    for earlier in ((), (), ("3X",)):
        with pytest.raises(Uncertain, match=r"no answer; it may be offered already; .* nothing twice"):
            platform.publish("https://x.org", "T", 9, 60, earlier)
    assert tokens[0] == tokens[1] != tokens[2]
    assert all(len(token) <= 64 for token in tokens)  # what Mechanical Turk takes


def test_a_hit_needs_a_reward_and_a_page_that_mechanical_turk_shows(turk):
    platform, _ = turk
    with pytest.raises(BadInput, match="https:// pages only"):
        platform.publish("http://x.org", "T", visits=9, minutes=60)
    unpaid = MTurk(Settings(name="mturk"))
    with pytest.raises(BadInput, match="base_reward"):
        unpaid.publish("https://x.org", "T", visits=9, minutes=60)


@pytest.mark.parametrize(("name", "way"), [("links", "collect invite"), ("prolific", "the page Invites")])
def test_where_there_is_nothing_to_publish_the_way_is_told(name, way):
    with pytest.raises(BadInput, match=way):
        PLATFORMS[name](Settings(name=name)).publish("https://x.org", "T", visits=9, minutes=60)


def test_mechanical_turk_s_refusal_is_told_in_one_line(turk):
    platform, stub = turk
    stub.add_client_error("approve_assignment", "RequestError", "This assignment does not exist")
    with pytest.raises(PlatformError, match="Mechanical Turk: This assignment does not exist"):
        platform.approve(Visitor("A1", "3X", "3B2"))
