"""Where workers come from and how they are paid: links, Prolific against a stub of its API, MTurk against its own."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from winokit.collect import PLATFORMS
from winokit.collect.platforms import payout
from winokit.collect.platforms.base import Platform, PlatformError, Uncertain, Visitor, arrive, leave
from winokit.collect.platforms.mturk import MTurk
from winokit.collect.platforms.prolific import Prolific
from winokit.collect.study import ledger, workers
from winokit.collect.study.config import PlatformConfig as Settings
from winokit.collect.study.refusals import NotAllowed, NotFound
from winokit.errors import BadInput

PID, STUDY, SESSION = "5f8a1b2c3d4e5f6a7b8c9d0e", "60aa27810f15ab95381fe71d", "60c8d1ddf5b2aeb2c3b1f3aa"
ADDRESS = {"PROLIFIC_PID": PID, "STUDY_ID": STUDY, "SESSION_ID": SESSION}
VISITOR = Visitor(PID, STUDY, SESSION)


class Stub(BaseHTTPRequestHandler):
    """Prolific's API, as far as we use it; `troubles` maps a path to a status to answer with, or None to hang up."""

    calls: list
    troubles: dict

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append((self.path, self.headers["Authorization"], body))
        status = self.troubles.get(self.path, 200)
        if status is None:
            self.connection.close()
            return
        answer = json.dumps({"id": "bonus-123456"} if status == 200 else {"error": {"detail": "no funds"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def prolific(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    handler = type("Handler", (Stub,), {"calls": [], "troubles": {}})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_port}/api/v1"
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


def settings(**more):
    return Settings(name="prolific", completion_code="C-DONE", screened_out_code="C-OUT", **more)


def test_prolific_s_address_says_who_has_come():
    assert Prolific(settings()).arrival(ADDRESS) == VISITOR
    assert Prolific(settings()).arrival({"utm_source": "x"}) is None


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
        Prolific(settings(study_id=STUDY)).arrival(parameters)


def test_people_go_back_to_prolific_with_the_code_of_how_it_went():
    done = Prolific(settings()).departure(VISITOR, screened_out=False)
    assert done.url == "https://app.prolific.com/submissions/complete?cc=C-DONE"
    assert Prolific(settings()).departure(VISITOR, screened_out=True).code == "C-OUT"
    assert Prolific(Settings(name="prolific")).departure(VISITOR, screened_out=False).url is None


def test_approving_and_screening_out_are_transitions_of_the_session(prolific):
    platform = Prolific(settings(api=prolific.url))
    platform.approve(VISITOR)
    platform.screen_out(VISITOR)
    path = f"/api/v1/submissions/{SESSION}/transition/"
    assert prolific.calls == [
        (path, "Token tok-1", {"action": "APPROVE"}),
        (path, "Token tok-1", {"action": "COMPLETE", "completion_code": "C-OUT"}),
    ]


def test_a_bonus_is_set_up_and_then_paid(prolific):
    assert Prolific(settings(api=prolific.url)).bonus(VISITOR, 123, "Twins", "w-1") == "bonus-123456"
    assert [call[0] for call in prolific.calls] == [
        "/api/v1/submissions/bonus-payments/",
        "/api/v1/bulk-bonus-payments/bonus-123456/pay/",
    ]
    assert prolific.calls[0][2] == {"study_id": STUDY, "csv_bonuses": f"{PID},1.23"}


def test_a_refusal_is_told_in_one_line(prolific):
    prolific.troubles["/api/v1/submissions/bonus-payments/"] = 400
    with pytest.raises(PlatformError, match=r"400.*no funds") as caught:
        Prolific(settings(api=prolific.url)).bonus(VISITOR, 5, "", "w-1")
    assert not isinstance(caught.value, Uncertain)


@pytest.mark.parametrize("trouble", [None, 502])
def test_a_payment_without_an_answer_leaves_a_doubt(prolific, trouble):
    prolific.troubles["/api/v1/bulk-bonus-payments/bonus-123456/pay/"] = trouble
    with pytest.raises(Uncertain):
        Prolific(settings(api=prolific.url)).bonus(VISITOR, 5, "", "w-1")


def test_a_server_that_is_not_there_is_no_doubt(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "t")
    with pytest.raises(PlatformError, match="cannot be reached") as caught:
        Prolific(settings(api="http://127.0.0.1:1")).bonus(VISITOR, 5, "", "w-1")
    assert not isinstance(caught.value, Uncertain)


@pytest.fixture
def paid_study(make_study, prolific):
    platform = {"name": "prolific", "completion_code": "C", "api": prolific.url, "base_reward": 0.5}
    study = make_study(platform=platform)
    worker = arrive(study, ADDRESS)
    ledger.bonus(study, worker.code, 120, "for the tests", "requester:ada")
    return study, worker


def test_the_same_person_comes_back_as_the_same_worker(paid_study):
    study, worker = paid_study
    assert arrive(study, ADDRESS | {"SESSION_ID": "70c8d1ddf5b2aeb2c3b1f3aa"}).code == worker.code
    with pytest.raises(NotFound):
        arrive(study, {})
    assert leave(study, worker.id).code == "C"


def test_what_prolific_pays_for_the_visit_is_taken_off_the_bonus(paid_study, prolific):
    study, worker = paid_study
    settled = payout.settle(study, "requester:ada")
    assert [(one.code, one.cents, one.receipt) for one in settled] == [(worker.code, 70, "bonus-123456")]
    assert prolific.calls[0][2] == {"action": "APPROVE"}
    assert prolific.calls[1][2]["csv_bonuses"] == f"{PID},0.70"
    assert payout.settle(study, "requester:ada") == []
    assert len(prolific.calls) == 3
    assert ledger.balances(study)[0].open_cents == 0


def test_what_a_platform_refuses_stays_open(paid_study, prolific):
    study, _ = paid_study
    prolific.troubles["/api/v1/submissions/bonus-payments/"] = 400
    assert "no funds" in payout.settle(study, "requester:ada")[0].error
    assert ledger.balances(study)[0].open_cents == 70
    prolific.troubles.clear()
    assert payout.settle(study, "requester:ada")[0].cents == 70


def test_a_payment_in_doubt_is_not_sent_again(paid_study, prolific):
    study, _ = paid_study
    prolific.troubles["/api/v1/bulk-bonus-payments/bonus-123456/pay/"] = 502
    assert payout.settle(study, "requester:ada")[0].error
    prolific.troubles.clear()
    assert payout.settle(study, "requester:ada") == []
    assert {entry.settlement for entry in ledger.entries(study)} == {payout.UNCERTAIN}


def test_without_a_platform_settling_notes_what_was_paid_by_hand(study, crew):
    crew.write(study, crew.newcomer(study))
    assert [(one.cents, one.receipt) for one in payout.settle(study, "requester:ada")] == [(40, "by hand")]
    assert ledger.balances(study)[0].open_cents == 0


def test_a_correction_is_a_line_of_its_own(study, crew):
    worker = crew.newcomer(study)
    crew.write(study, worker)
    ledger.bonus(study, worker.code, -15, "paid twice", "requester:ada")
    assert [(entry.reason, entry.cents) for entry in ledger.entries(study) if entry.worker_id == worker.id] == [
        ("write", 40),
        ("correction", -15),
    ]
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
    assert leave(study, worker.id).url is None


def test_a_visitor_of_mechanical_turk_is_told_from_a_preview():
    platform = MTurk(Settings(name="mturk"))
    address = {"workerId": "A1", "hitId": "3X", "assignmentId": "3B2"}
    assert platform.arrival(address) == Visitor("A1", "3X", "3B2")
    with pytest.raises(NotAllowed, match="accept"):
        platform.arrival(address | {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    with pytest.raises(NotAllowed):
        platform.arrival(address | {"workerId": "A1&x=<script>"})
    form = platform.departure(Visitor("A1", "3X", "3B2"), screened_out=False)
    assert (form.form_action, form.fields["assignmentId"]) == ("https://www.mturk.com/mturk/externalSubmit", "3B2")


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
    told = {"WorkerId": "A1", "AssignmentId": "3B2", "BonusAmount": "0.70", "Reason": "Twins"}
    stub.add_response("send_bonus", {}, told | {"UniqueRequestToken": "w-1-9"})
    platform.approve(Visitor("A1", "3X", "3B2"))
    assert platform.bonus(Visitor("A1", "3X", "3B2"), 70, "Twins", "w-1-9") == "w-1-9"
    stub.assert_no_pending_responses()


def test_a_hit_asks_for_the_papers_qualifications(turk):
    platform, stub = turk
    from botocore.stub import ANY

    told = dict.fromkeys(("Title", "Description", "Question", "LifetimeInSeconds", "MaxAssignments"), ANY)
    told |= {"Reward": "0.40", "AssignmentDurationInSeconds": 3600, "QualificationRequirements": ANY}
    stub.add_response("create_hit", {"HIT": {"HITId": "3X"}}, told)
    made = platform.create_hit("https://x.org/start?a=1&b=2", title="T", description="D", assignments=9, minutes=60)
    assert made == "3X"
    percent, number, home = platform.qualifications()
    assert (percent["IntegerValues"], number["IntegerValues"]) == ([99], [5000])
    assert [place["Country"] for place in home["LocaleValues"]] == ["US", "CA", "GB", "AU", "NZ"]


def test_mechanical_turk_s_refusal_is_told_in_one_line(turk):
    platform, stub = turk
    stub.add_client_error("approve_assignment", "RequestError", "This assignment does not exist")
    with pytest.raises(PlatformError, match="Mechanical Turk: This assignment does not exist"):
        platform.approve(Visitor("A1", "3X", "3B2"))
