"""A whole study in a real browser, on a desk and on a phone, from the first visit to the audit.

Every page of the tour is looked over by axe-core, which must find nothing. With WINOKIT_TOUR=DIR, pictures of all pages
are kept there.
"""

import importlib.util
import os
import re
import zipfile
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pytest
from collect_support.crew import Crew
from collect_support.real_browser import PAIRS, overflow, set_up
from collect_support.stand_in import STUDY, prolific_stand_in
from support.waiting import HANGS
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app as command_line
from winokit_collect.platforms import base as platform
from winokit_collect.study import ledger, listings, submissions, tasks, workers

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

SCREENS = {
    "desk": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True, "is_mobile": True},
}
RIGHT_CANDIDATES = {"never": "the spaniel", "always": "the terrier"}
REWARD = 12
QUIZ = 10
FINDINGS = """async () => (await axe.run(document)).violations.map(
    rule => [rule.id, rule.help, ...rule.nodes.map(node => node.target.join(" ") + ": " + node.failureSummary)])"""


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    package = importlib.util.find_spec("axe_playwright_python")
    bundled = Path(package.origin).parent / "axe.min.js" if package else None
    path = os.environ.get("WINOKIT_AXE") or bundled
    if path is None:
        pytest.skip("needs axe-core: pip install axe-playwright-python, or set WINOKIT_AXE to its axe.min.js")
    return Path(path).read_text("utf-8")


@pytest.fixture(params=SCREENS)
def screen(request):
    return request.param


@pytest.fixture
def books(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    with prolific_stand_in(REWARD) as books:
        yield books


@pytest.fixture
def study(make_study, books):
    prolific = {"name": "prolific", "study_id": STUDY, "completion_code": "C-DONE", "api": books.url}
    return make_study(
        title="Everyday twins",
        contact="study@example.org",
        tasks={"kinds": ["write", "validate"], "twins": 1, "social_share": 0},
        quality={"quiz_pass_mark": 0.8},
        pay={"quiz": QUIZ / 100, "least_per_hour": 900},
        adversary={"model": "builtin"},
        platform={**prolific, "tasks_per_visit": 2, "base_reward": REWARD / 100},
    )


@pytest.fixture
def look(axe, screen):
    """A function that asserts that axe finds nothing on a page and that it is not too wide.

    It takes a picture of the page if WINOKIT_TOUR is set.
    """
    numbers = count(1)
    shots = os.environ.get("WINOKIT_TOUR")

    def look_over(page, name):
        page.wait_for_load_state()
        page.evaluate(axe)
        assert page.evaluate(FINDINGS) == [], name
        assert overflow(page) == 0, name
        if shots:
            page.screenshot(path=Path(shots) / f"{screen}-{next(numbers):02}-{name}.png", full_page=True)

    return look_over


def arrive(page, books, number, study, look):
    """Come in from the platform, agree, pass the screening and the quiz, and return the kind the quiz is about."""
    page.goto("/start?" + urlencode(books.arrives(number)))
    look(page, "welcome")
    page.click("main button")
    look(page, "consent")
    page.check("#agree")
    page.click("main button")
    look(page, "screening")
    page.check("[name=native_speaker][value=yes]")
    page.check("[name=has_seen_wsc][value=no]")
    page.click("main button")
    kind = page.get_attribute("[name=kinds]", "value")
    assert "$0.10" in page.inner_text("main")
    answers = [question.answer for question in study.quiz if question.kind == kind]
    assert page.locator("form fieldset").count() == len(answers) == 8
    look(page, "quiz")
    for question_number, answer in enumerate(answers, 1):
        page.check(f"[name=q{question_number}][value='{answer}']")
    page.click("main form button")
    look(page, "quiz-result")
    page.click("main .button >> nth=0")
    look(page, "home")
    return kind


def fill_in_twins(page, twins):
    for name in ("anchor", "candidate_1", "candidate_2", "first", "second"):
        page.fill(f"#{name}", twins[name])
    page.check(f"[name=answer_1][value='{twins['answer_1']}']")
    page.wait_for_selector("text=Ready to submit")
    page.click("#verdict button")
    page.wait_for_selector(".adversary li")


def write_and_correct(page, look):
    page.click("form[action='/begin/write'] button")
    look(page, "write-empty")
    task = page.url
    page.click(".send button")
    look(page, "write-missing")
    fill_in_twins(page, PAIRS[0])
    look(page, "write-ready")
    model = page.locator("#feedback .adversary").bounding_box()
    rules = page.locator("#feedback .checks").bounding_box()
    button = page.locator(".send button").bounding_box()
    if page.viewport_size["width"] < 600:  # on a phone, what is said of the twins stands above the button
        assert model["y"] < rules["y"] + rules["height"] <= button["y"]
    page.click(".send button")
    page.wait_for_url("**/begin")
    page.goto(task)
    page.wait_for_selector("text=you can correct it")
    look(page, "write-correct")
    for side in ("first", "second"):
        page.fill(f"#{side}", PAIRS[0][side].replace("the garden gate", "our garden gate"))
    page.wait_for_selector("text=Ready to submit")
    page.click(".send button")
    page.wait_for_url("**/begin")
    assert "your correction has been saved" in page.inner_text(".notice")
    look(page, "home-after-writing")


def answer_ballot(page, study):
    """Answer the ballot that is shown, by keys where there are any."""
    word = re.search("never|always", page.inner_text(".ballot .card .sentence >> nth=0"))[0]
    options = page.locator("#choice .option span").all_inner_texts()
    keys = [str(1 + options.index(RIGHT_CANDIDATES[word])), "2", "2"]
    if page.locator("kbd:visible").count():
        for key in keys:
            page.keyboard.press(key)
    else:
        for name, key in zip(("choice", "equally_plausible", "local_decides"), keys, strict=True):
            page.locator(f"[name={name}]").nth(int(key) - 1).check()


def judge_and_correct(page, study, look):
    page.click("form[action='/begin/validate'] button")
    look(page, "vote")
    page.click(".remark summary")
    page.fill("#comment", "12 gates? 1 or 2 would do.")  # digits typed in a field answer nothing
    assert page.locator("[data-keys] input:checked").count() == 0
    page.click(".remark button")
    page.wait_for_selector("text=the requester will see this")
    look(page, "vote-remarked")
    answer_ballot(page, study)
    look(page, "vote-chosen")
    page.click(".send button[type=submit]")
    page.wait_for_selector("text=1 of 2 tasks in this visit done")
    page.click("text=Change my last answer")
    page.wait_for_selector("text=you can correct it")
    look(page, "vote-correct")
    page.check("[name=equally_plausible][value=yes]")
    page.click(".send button[type=submit]")
    page.wait_for_selector("text=your correction has been saved")
    page.click("text=Change my last answer")
    page.check("[name=equally_plausible][value=no]")
    page.click(".send button[type=submit]")
    page.wait_for_selector("text=your correction has been saved")
    answer_ballot(page, study)
    page.click(".send button[type=submit]")
    page.wait_for_url("**/begin")
    look(page, "home-nothing-left")


def pay_all(page, study, books, look):
    earned_cents = sum(line.cents for line in ledger.entries(study))
    page.click("nav >> text=Pay")
    look(page, "pay-open")
    page.click("main button >> text=Pay all")
    page.wait_for_selector("text=Latest payouts", timeout=1000 * HANGS)
    playwright.expect(page.locator("#going-out")).to_have_count(0, timeout=1000 * HANGS)
    page.click("text=Latest payouts")
    look(page, "pay-done")
    assert books.paid == earned_cents == 40 + 3 * 2 * 3 + 4 * QUIZ


def test_a_whole_study_on_a_desk_and_on_a_phone(study, clock, books, person, look, screen, tmp_path):
    options = SCREENS[screen]
    requester = set_up(person(is_sure=True, **options), study)
    look(requester, "dashboard-empty")

    writer = person(**options)
    assert arrive(writer, books, 1, study, look) == "write"
    write_and_correct(writer, look)
    reader = person(**options)
    assert arrive(reader, books, 2, study, lambda page, name: None) == "validate"  # pages that were looked over
    judge_and_correct(reader, study, look)
    for number in (3, 4):  # and two who need no browser
        worker = platform.arrive(study, books.arrives(number))
        crew = Crew()
        workers.consent(study, worker.id)
        workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
        workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])
        for _ in range(2):
            task = tasks.lease(study, worker.id, "validate")
            clock.pass_minutes(0.5)
            submissions.submit(study, worker.id, task.token, crew.ballot(task))

    writer.goto("/your-work")
    assert writer.locator(".pill:has-text('accepted')").count() == 2
    look(writer, "your-work")
    reader.goto("/finish")
    assert "C-DONE" in reader.inner_text("main")
    look(reader, "finish")

    requester.goto("/requester")
    assert "pays" in requester.inner_text(".banner >> nth=0")
    look(requester, "dashboard")
    requester.click("dt:has-text('Remarks on items') + dd a")
    look(requester, "problems-flagged")
    requester.click("text=details")
    assert "1 or 2 would do" in requester.inner_text("main")
    look(requester, "problem")
    requester.click("[id^=vote-] td a >> nth=0")
    look(requester, "submission")
    requester.click(".what a >> nth=0")
    assert re.search(r"/requester/problems/\d+#vote-\d+$", requester.url)
    for path in ("submissions", "workers", "invites", "export", "log", "account"):
        requester.goto(f"/requester/{path}")
        look(requester, path)
    requester.goto("/requester/workers")
    requester.click("tbody a >> nth=0")
    look(requester, "worker")
    walk_through_preview(requester, study, look)
    pay_all(requester, study, books, look)
    writer.goto("/your-work")
    assert "$0.50, " in writer.inner_text("main")
    look(writer, "your-work-paid")

    requester.goto("/requester/export")
    with requester.expect_download() as download:
        requester.click("main >> text=Download")
    download.value.save_as(tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "export.zip") as packed:
        packed.extractall(tmp_path / "export")
    problems = tmp_path / "export" / "problems.jsonl"
    check = ["check", str(problems)]
    audit = ["audit", str(problems), "--model", "random", "--out", str(tmp_path / "run")]
    for arguments in (check, audit):
        result = CliRunner().invoke(command_line, arguments)
        assert result.exit_code == 0, result.output
    data = winokit.load(problems)
    assert len(data) == 2
    assert len(data.groups) == 1
    assert "our garden gate" in data[0].text
    (remark,) = (problem.provenance["remarks"][0] for problem in data if "remarks" in problem.provenance)
    assert (remark["reason"], remark["text"]) == ("other", "12 gates? 1 or 2 would do.")


def walk_through_preview(requester, study, look):
    """Do a task of each kind in the preview, and assert that nothing is stored."""
    log_before = [line.id for line in listings.log_entries(study)]
    submissions_before = listings.submissions(study).total
    requester.goto("/requester")
    requester.click("text=Preview as worker")
    fill_in_twins(requester, PAIRS[1])
    look(requester, "preview-write")
    requester.click(".send button")
    requester.click(".preview a >> text=validate")
    requester.click(".send button[type=submit]")
    look(requester, "preview-vote-missing")
    requester.click("text=leave the preview")
    assert [line.id for line in listings.log_entries(study)] == log_before
    assert listings.submissions(study).total == submissions_before
