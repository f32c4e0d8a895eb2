"""A requester and six workers play a small study in a real browser, by mouse and by keyboard."""

import itertools
import re
import threading
import zipfile

import pytest
from collect_support.real_browser import PAIRS, join, overflow, set_up, tab_to
from support.waiting import HANGS
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app as command_line
from winokit_collect.study import invites, listings
from winokit_collect.study.adversary import AdversaryVerdict
from winokit_collect.study.config import AdversaryConfig

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

KINDS = ["write", "validate", "switchable", "associative"]
RIGHT_CANDIDATES = {"never": "the spaniel", "always": "the terrier", "tall": "the blue jar", "short": "the green jar"}
ROLES_WITH_NAMES = (
    "textbox",
    "radio",
    "checkbox",
    "button",
    "link",
    "combobox",
    "spinbutton",
    "searchbox",
    "image",
)


@pytest.fixture
def study(make_study):
    return make_study(tasks={"kinds": KINDS, "twins": 2, "social_share": 0, "votes": 3}, contact="the requester")


def write_by_keyboard(page, twins):
    """Write twins with the keyboard alone, and hand them in."""
    tab_to(page, "form[action='/begin/write'] button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#twins")
    for name in ("anchor", "candidate_1", "candidate_2", "first"):
        tab_to(page, f"#{name}")
        page.keyboard.type(twins[name])
    tab_to(page, "[name=answer_1]")
    page.keyboard.press("Space" if twins["answer_1"] == "1" else "ArrowDown")
    tab_to(page, "#second")
    page.keyboard.type(twins["second"])
    page.wait_for_selector("text=Ready to submit")
    page.wait_for_selector("text=Draft saved")
    assert "All rules are met" in page.inner_text("#summary")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/begin")


def write_after_closing_the_tab(page, twins):
    """Write half of the twins, close the tab, and finish in a new one, which is returned."""
    page.click("form[action='/begin/write'] button")
    page.wait_for_selector("[data-copy-first]")  # shown by the script that also saves
    page.fill("#first", twins["first"])
    address = page.url
    page.close()
    page = page.context.new_page()
    page.goto(address)
    while not page.input_value("#first"):  # what a closing tab sends may arrive after the new one has asked
        page.wait_for_timeout(100)
        page.reload()
    assert page.input_value("#first") == twins["first"]
    for name in ("anchor", "candidate_1", "candidate_2"):
        page.fill(f"#{name}", twins[name])
    page.click("[data-copy-first]")
    assert page.input_value("#second") == twins["first"]
    page.fill("#second", twins["second"])
    first_answer = int(twins["answer_1"])
    second_answer = 3 - first_answer
    page.check(f"[name=answer_1][value='{first_answer}']")
    assert page.is_checked(f"[name=answer_2][value='{second_answer}']")
    page.wait_for_selector("text=Ready to submit")
    assert page.locator("mark").all_inner_texts() == ["tall", "short"]
    page.wait_for_selector("text=Draft saved")
    page.click(".send button")
    page.wait_for_url("**/begin")
    return page


def judge_everything(page, kind):
    """Vote on every task of a kind, and return the number of votes."""
    start = page.locator(f"form[action='/begin/{kind}'] button")
    if not start.count():
        return 0
    start.click()
    count = 0
    while page.url.endswith("/vote"):
        if kind == "validate":
            word = re.search("never|always|tall|short", page.inner_text(".ballot .card .sentence >> nth=0"))[0]
            page.check(f"#choice label:has-text('{RIGHT_CANDIDATES[word]}') input")
            page.check("[name=equally_plausible][value=no]")
            page.check("[name=local_decides][value=no]")
        else:
            choice = "yes" if kind == "switchable" else "no"
            page.check(f"[name=choice][value={choice}]")
        page.click(".send button")
        count += 1
    return count


def test_six_workers_and_a_requester_play_a_whole_study(study, person, tmp_path):
    requester = set_up(person(), study)
    requester.click("nav >> text=Invites")
    requester.fill("[name=count]", "6")
    requester.click("main button >> text=Create")
    links = [box.input_value() for box in requester.locator(".links input[type=text]").all()]
    assert len(links) == 6
    workers = [join(person(), link) for link in links]

    write_by_keyboard(workers[0], PAIRS[0])
    workers[1] = write_after_closing_the_tab(workers[1], PAIRS[1])
    requester.goto("/requester")
    assert "Problems written\n4" in requester.inner_text("#live")

    votes = dict.fromkeys(KINDS[1:], 0)
    for page in workers:
        for kind in ("associative", "switchable", "validate"):
            page.goto("/begin")
            votes[kind] += judge_everything(page, kind)
    assert votes == {"validate": 12, "switchable": 12, "associative": 12}

    # The page is not opened anew: it refreshes itself.
    valid = requester.locator(".tiles div:has-text('Valid so far') dd")
    playwright.expect(valid).to_have_text("4", timeout=1000 * HANGS)
    assert "Done\n100 %" in requester.inner_text("#live")
    workers[0].goto("/finish")
    assert re.search(r"w-\w{10}", workers[0].inner_text("#own-code"))

    requester.click("nav >> text=Export")
    with requester.expect_download() as download:
        requester.click("main >> text=Download")
    download.value.save_as(tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "export.zip") as packed:
        packed.extractall(tmp_path / "export")
    problems = tmp_path / "export" / "problems.jsonl"
    result = CliRunner().invoke(command_line, ["check", str(problems)])
    assert result.exit_code == 0, result.output
    data = winokit.load(problems)
    assert len(data) == 4
    assert len(data.groups) == 2
    run = winokit.audit(data, model="random")
    assert run.find("accuracy", "all", "accuracy").n == 4


def test_what_is_typed_before_the_scripts_have_come_is_saved_too(study, person):
    page = join(person(), invites.create(study).path)
    waiting_routes = []
    page.route("**/htmx.min.js*", lambda route: waiting_routes.append(route))
    page.click("form[action='/begin/write'] button", no_wait_after=True)
    page.fill("#first", PAIRS[0]["first"])
    while not waiting_routes:
        page.wait_for_timeout(20)
    waiting_routes[0].continue_()
    page.wait_for_selector("text=Draft saved")
    assert "words (allowed: 15 to 30)" in page.inner_text("#note-first")


def test_a_slow_model_is_waited_for_while_the_draft_saves_itself(study, person, monkeypatch):
    has_been_seen = threading.Event()

    def judge_slowly(twins):
        has_been_seen.wait(HANGS)
        return AdversaryVerdict("slow", "", "", (True, False), True, True, "The model does not solve both.")

    monkeypatch.setattr(study.adversary, "spec", "slow")
    monkeypatch.setattr(study.adversary, "judge", judge_slowly)
    config = study.config.model_copy(update={"adversary": AdversaryConfig(model="slow")})
    monkeypatch.setattr(study, "config", config)
    page = join(person(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    for name in ("anchor", "candidate_1", "candidate_2", "first", "second"):
        page.fill(f"#{name}", PAIRS[0][name])
    page.check("[name=answer_1][value='2']")
    page.click("text=Ask the model")
    page.wait_for_selector("text=Asking the model")
    page.wait_for_selector("text=Draft saved")
    has_been_seen.set()
    page.wait_for_selector("text=The model does not solve both.")
    assert "Given away by the words around the blank" in page.inner_text(".adversary .why")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(study, person, width):
    viewport = {"width": width, "height": 800}
    requester = set_up(person(viewport=viewport), study)
    requester.goto("/requester/invites")
    requester.click("main button >> text=Create")
    worker = join(person(viewport=viewport), requester.input_value("#link-1"))
    assert overflow(worker) == 0
    worker.click("form[action='/begin/write'] button")
    worker.fill("#first", PAIRS[0]["first"] + "x" * 200)
    worker.wait_for_selector("text=Draft saved")
    assert overflow(worker) == 0
    for path in ("", "/problems", "/submissions", "/workers", "/invites", "/pay", "/export", "/log", "/account"):
        requester.goto(f"/requester{path}")
        assert overflow(requester) == 0, path


def test_without_scripts_the_form_is_sent_and_says_what_is_missing(study, chromium, address):
    context = chromium.new_context(base_url=address, java_script_enabled=False)
    context.set_default_timeout(1000 * HANGS)
    page = join(context.new_page(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    for name in ("anchor", "candidate_1", "candidate_2", "first"):
        page.fill(f"#{name}", PAIRS[0][name])
    page.click(".send button")
    assert "Its twin: please fill this in" in page.inner_text(".summary")
    assert page.evaluate("document.activeElement.className") == "summary"
    page.fill("#second", PAIRS[0]["second"])
    page.check("[name=answer_1][value='2']")
    page.check("[name=answer_2][value='1']")
    page.click(".send button")
    assert "your work has been saved" in page.inner_text(".notice")
    context.close()


def accessible_elements(page):
    """Role and name of every element of a page, as a screen reader gets them."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    elements = [node for node in nodes if "role" in node and not node.get("ignored")]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in elements]


def look_over(page):
    """Assert that a page has one h1, headings in order, a language and a name for every control."""
    page.wait_for_load_state()
    for role, name in accessible_elements(page):
        if role in ROLES_WITH_NAMES:
            assert name.strip(), (page.url, role)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter(h => h.checkVisibility()).map(h => +h.tagName[1])"
    )
    assert levels.count(1) == 1, (page.url, levels)
    assert levels[0] == 1, (page.url, levels)
    steps = [after - before for before, after in itertools.pairwise(levels)]
    assert max(steps, default=0) <= 1, (page.url, levels)
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("main").count() == 1


def test_every_page_can_be_listened_to(study, person):
    page = person()
    for path in ("/", "/login", invites.create(study).path):
        page.goto(path)
        look_over(page)
    page.click("main button")
    look_over(page)
    worker = join(person(), invites.create(study).path)
    look_over(worker)
    write_by_keyboard(worker, PAIRS[0])
    worker.click("form[action='/begin/write'] button")
    look_over(worker)
    worker.click(".send button")
    look_over(worker)
    worker.goto("/finish")
    look_over(worker)
    judge = join(person(), invites.create(study).path)
    for kind in ("associative", "switchable", "validate"):
        judge.goto("/begin")
        judge.click(f"form[action='/begin/{kind}'] button")
        look_over(judge)
        judge.click(".send button")
        look_over(judge)
        assert judge.evaluate("document.activeElement.className") == "summary"
    requester = set_up(person(), study)
    for path in ("", "/problems", "/problems/1", "/submissions", "/workers", "/invites", "/pay", "/export", "/log"):
        requester.goto(f"/requester{path}")
        look_over(requester)
    requester.goto("/requester/workers")
    requester.click("tbody a >> nth=0")
    look_over(requester)


def test_what_changes_while_one_writes_is_said_aloud_and_stays_still_for_those_who_ask(study, person):
    page = join(person(reduced_motion="reduce"), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    live_region = page.locator("[role=status][aria-live=polite]")
    assert live_region.count() == 1
    page.fill("#first", "Too short")
    playwright.expect(live_region).to_contain_text(
        "First sentence: 15 to 30 words expected, found 2", timeout=1000 * HANGS
    )
    moving = "[...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    assert page.evaluate(f"{moving}.length") == 0


def test_what_was_missing_is_forgotten_when_nothing_is(study, person):
    page = join(person(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    page.click(".send button")
    assert "please fill this in" in page.inner_text(".summary")
    page.wait_for_selector("[data-copy-first]")
    for name in ("anchor", "candidate_1", "candidate_2", "first", "second"):
        page.fill(f"#{name}", PAIRS[0][name])
    page.check("[name=answer_1][value='2']")
    page.wait_for_selector("text=Ready to submit")
    playwright.expect(page.locator(".summary")).to_have_count(0, timeout=1000 * HANGS)


def test_back_after_handing_in_shows_what_was_handed_in_and_corrects_it(study, person):
    page = join(person(), invites.create(study).path)
    page.clock.install()
    write_by_keyboard(page, PAIRS[0])
    page.go_back()
    page.wait_for_selector("text=you can correct it")
    assert page.input_value("#first") == PAIRS[0]["first"]
    for side in ("first", "second"):
        page.fill(f"#{side}", PAIRS[0][side].replace("the garden gate", "our garden gate"))
    corrected_text = page.input_value("#first")
    page.wait_for_selector("text=Ready to submit")
    drafts = []
    page.on("request", lambda request: request.url.endswith("/draft") and drafts.append(request))
    page.clock.run_for(60_000)  # longer than a draft would wait
    assert page.locator("text=Draft saved").count() == 0
    assert drafts == []
    page.click(".send button")
    page.wait_for_url("**/begin")
    assert "your correction has been saved" in page.inner_text(".notice")
    (submission,) = listings.submissions(study).rows
    assert "our garden gate" in corrected_text
    assert submission.fields["first"] == corrected_text


def test_a_page_left_open_in_another_tab_does_not_claim_to_save(study, person):
    page = join(person(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    page.wait_for_selector("[data-copy-first]")
    other_tab = page.context.new_page()
    other_tab.goto(page.url)
    other_tab.wait_for_selector("[data-copy-first]")
    page.goto("/begin")
    write_by_keyboard(page, PAIRS[0])
    with other_tab.expect_response("**/draft") as answer:
        other_tab.fill("#first", "Something else")
    assert answer.value.status == 409
    other_tab.wait_for_selector("text=Not saved")
    assert "Draft saved" not in other_tab.inner_text("main")


@pytest.fixture
def judge(study, crew, person):
    """A page of a worker that shows a ballot of three questions."""
    crew.write(study, crew.newcomer(study))
    page = join(person(), invites.create(study).path)
    judge_everything(page, "associative")  # which comes before the whole
    page.goto("/begin")
    page.click("form[action='/begin/validate'] button")
    page.wait_for_selector("kbd:visible")
    return page


def test_votes_go_by_keys_and_are_said_aloud(judge):
    task = judge.url
    live_region = judge.locator("[data-chosen]")
    for key, name in (("1", "choice"), ("2", "equally_plausible"), ("2", "local_decides")):
        assert judge.locator(f"#{name}[data-at-hand] kbd:visible").count() == 2
        judge.keyboard.press(key)
        index = int(key) - 1
        assert judge.locator(f"[name={name}]").nth(index).is_checked()
        option_text = judge.locator(f"#{name} .option span").nth(index).inner_text()
        assert option_text in live_region.text_content()
    assert judge.evaluate("document.activeElement.textContent").startswith("Send")
    judge.keyboard.press("Space")
    judge.wait_for_url(lambda url: url != task)
    assert "your work has been saved" in judge.inner_text(".notice")


def test_keys_answer_nothing_while_one_types_or_once_they_are_off(judge):
    judge.click(".remark summary")
    judge.click("#comment")
    judge.keyboard.type("1 2 ")
    assert judge.input_value("#comment") == "1 2 "
    judge.click(".keys button")
    judge.click("h1")
    judge.keyboard.press("1")
    assert judge.locator("[data-keys] input:checked").count() == 0
    judge.reload()
    assert judge.locator("kbd:visible").count() == 0
    judge.click("text=Turn on keys")
    judge.click("h1")
    judge.keyboard.press("1")
    assert judge.locator("[data-keys] input:checked").count() == 1


def test_enter_in_a_field_does_not_give_the_task_back(study, judge):
    task = judge.url
    judge.focus("[name=choice] >> nth=0")
    judge.keyboard.press("Enter")
    judge.wait_for_selector(".summary")
    assert judge.url == task
    judge.goto("/begin")
    judge.click("form[action='/begin/write'] button")
    task = judge.url
    judge.focus("#anchor")
    judge.keyboard.press("Enter")
    judge.wait_for_selector(".summary")
    assert judge.url == task
