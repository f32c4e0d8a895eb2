"""A whole small study in a real browser: the requester sets it up, six workers write, validate and judge."""

import itertools
import os
import re
import shutil
import threading
import time
import zipfile

import pytest
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app as command_line
from winokit.collect.study import invites, listings, requesters
from winokit.collect.study.adversary import AdversaryVerdict
from winokit.collect.study.config import AdversaryConfig
from winokit.collect.web.app import create_app

uvicorn = pytest.importorskip("uvicorn", reason="needs the collect extra")
playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
CHROMIUM = os.environ.get("WINOKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

KINDS = ["write", "validate", "switchable", "associative"]
GATE = "The terrier can squeeze under the garden gate but the spaniel cannot, so we {} have to fetch _ back."
SHELF = "The blue jar stands on the top shelf and the green jar on the lowest, so {} people usually take _ first."


def pair(text, words, **fields):
    return {"first": text.format(words[0]), "second": text.format(words[1]), **fields}


DOGS, JARS = ("the terrier", "the spaniel"), ("the blue jar", "the green jar")
PAIRS = [
    pair(GATE, ("never", "always"), anchor="gate", candidate_1=DOGS[0], candidate_2=DOGS[1], answer_1="2"),
    pair(SHELF, ("tall", "short"), anchor="shelf", candidate_1=JARS[0], candidate_2=JARS[1], answer_1="1"),
]
RIGHT = {"never": "the spaniel", "always": "the terrier", "tall": "the blue jar", "short": "the green jar"}
PASSWORD = "correct horse battery"
EXPECTED = re.compile("status of (422|409)|Status Error Code 409")
"""What a browser notes when a form comes back with what is missing, or is not taken any more, as it should."""


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def study(make_study):
    return make_study(tasks={"kinds": KINDS, "twins": 2, "social_share": 0, "votes": 3}, contact="the requester")


@pytest.fixture
def address(study):
    """Where the study is served, on a port that the system chose."""
    server = uvicorn.Server(uvicorn.Config(create_app(study), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def person(chromium, address):
    """Makes people with a browser of their own, which must stay silent and must not ask anybody but the study."""
    trouble, contexts = [], []

    def make(**options):
        context = chromium.new_context(base_url=address, **options)
        context.set_default_timeout(15_000)
        context.on("console", lambda message: EXPECTED.search(message.text) or trouble.append(message.text))
        context.on("weberror", lambda error: trouble.append(str(error.error)))
        context.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        context.on("request", lambda asked: asked.url.startswith(address) or trouble.append(asked.url))
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    assert trouble == []


def join(page, link):
    """Come in by a link, agree and answer the screening."""
    page.goto(link)
    page.click("main button")
    page.check("#agree")
    page.click("main button")
    page.check("[name=native_speaker][value=yes]")
    page.check("[name=has_seen_wsc][value=no]")
    page.click("main button")
    page.wait_for_url("**/begin")
    return page


def set_up(page, study):
    """Make the requester's account."""
    page.goto(requesters.setup_path(study))
    page.fill("#name", "ann")
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("main button")
    page.wait_for_url("**/requester")
    return page


def tab_to(page, selector):
    """Press Tab until something has the focus; it must be reachable so."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def write_by_keyboard(page, told):
    """Write twins without touching anything but the keyboard."""
    tab_to(page, "form[action='/begin/write'] button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#twins")
    for name in ("anchor", "candidate_1", "candidate_2", "first"):
        tab_to(page, f"#{name}")
        page.keyboard.type(told[name])
    tab_to(page, "[name=answer_1]")
    page.keyboard.press("Space" if told["answer_1"] == "1" else "ArrowDown")
    tab_to(page, "#second")
    page.keyboard.type(told["second"])
    page.wait_for_selector("text=Ready to hand in")
    page.wait_for_selector("text=Draft saved")
    assert "All rules are kept" in page.inner_text("#summary")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/begin")


def write_after_closing_the_tab(page, told):
    """Write half, close the tab, come back in another, and finish with the buttons that save typing."""
    page.click("form[action='/begin/write'] button")
    page.wait_for_selector("[data-copy-first]")  # shown by the script that also saves
    page.fill("#first", told["first"])
    address = page.url
    page.close()
    page = page.context.new_page()
    page.goto(address)
    for _ in range(50):  # what a closing tab sends may arrive after the new one has asked
        if page.input_value("#first"):
            break
        page.wait_for_timeout(100)
        page.reload()
    assert page.input_value("#first") == told["first"]
    for name in ("anchor", "candidate_1", "candidate_2"):
        page.fill(f"#{name}", told[name])
    page.click("[data-copy-first]")
    assert page.input_value("#second") == told["first"]
    page.fill("#second", told["second"])
    page.check(f"[name=answer_1][value='{told['answer_1']}']")
    assert page.is_checked(f"[name=answer_2][value='{3 - int(told['answer_1'])}']")
    page.wait_for_selector("text=Ready to hand in")
    assert page.locator("mark").all_inner_texts() == ["tall", "short"]
    page.wait_for_selector("text=Draft saved")
    page.click(".send button")
    page.wait_for_url("**/begin")
    return page


def judge_everything(page, kind):
    """Vote on every task of a kind that there is; how many."""
    start = page.locator(f"form[action='/begin/{kind}'] button")
    if not start.count():
        return 0
    start.click()
    count = 0
    while page.url.endswith("/vote"):
        if kind == "validate":
            word = re.search("never|always|tall|short", page.inner_text(".ballot .card .sentence >> nth=0"))[0]
            page.check(f"#choice label:has-text('{RIGHT[word]}') input")
            page.check("[name=equally_plausible][value=no]")
            page.check("[name=local_decides][value=no]")
        else:
            page.check(f"[name=choice][value={'yes' if kind == 'switchable' else 'no'}]")
        page.click(".send button")
        count += 1
    return count


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_six_workers_and_a_requester_play_a_whole_study(study, person, tmp_path):
    requester = set_up(person(), study)
    requester.click("nav >> text=Invites")
    requester.fill("[name=count]", "6")
    requester.click("main button >> text=Make")
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
    playwright.expect(requester.locator(".tiles div:has-text('Valid so far') dd")).to_have_text("4", timeout=15_000)
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
    checked = CliRunner().invoke(command_line, ["check", str(problems)])
    assert checked.exit_code == 0, checked.output
    data = winokit.load(problems)
    assert (len(data), len(data.groups)) == (4, 2)
    assert winokit.audit(data, model="random").find("accuracy", "all", "accuracy").n == 4


def test_what_is_typed_before_the_scripts_have_come_is_saved_too(study, person):
    page = join(person(), invites.create(study).path)
    on_its_way = []
    page.route("**/htmx.min.js*", lambda route: on_its_way.append(route))
    page.click("form[action='/begin/write'] button", no_wait_after=True)
    page.fill("#first", PAIRS[0]["first"])
    while not on_its_way:
        page.wait_for_timeout(20)
    on_its_way[0].continue_()
    page.wait_for_selector("text=Draft saved")
    assert "words of 15 to 30" in page.inner_text("#note-first")


def test_a_slow_model_is_waited_for_while_the_draft_saves_itself(study, person, monkeypatch):
    def slowly(told):
        time.sleep(2.5)
        return AdversaryVerdict("slow", "", "", (True, False), True, True, "The model does not solve both.")

    monkeypatch.setattr(study.adversary, "spec", "slow")
    monkeypatch.setattr(study.adversary, "judge", slowly)
    monkeypatch.setattr(study, "config", study.config.model_copy(update={"adversary": AdversaryConfig(model="slow")}))
    page = join(person(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    for name in ("anchor", "candidate_1", "candidate_2", "first", "second"):
        page.fill(f"#{name}", PAIRS[0][name])
    page.check("[name=answer_1][value='2']")
    page.click("text=Ask the model")
    page.wait_for_selector("text=Asking the model")
    page.wait_for_selector("text=Draft saved")
    page.wait_for_selector("text=The model does not solve both.")
    assert "Given away by the words around the blank" in page.inner_text(".adversary .why")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(study, person, width):
    requester = set_up(person(viewport={"width": width, "height": 800}), study)
    requester.goto("/requester/invites")
    requester.click("main button >> text=Make")
    worker = join(person(viewport={"width": width, "height": 800}), requester.input_value("#link-1"))
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
    assert "your work is in" in page.inner_text(".notice")
    context.close()


def controls(page):
    """Role and name of everything that can be used, as a screen reader gets them."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    shown = [node for node in nodes if not node.get("ignored")]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in shown if "role" in node]


def look_over(page):
    """What a page must have whatever it shows: one h1, headings in order, a language, a name for every control."""
    for role, name in controls(page):
        if role in ("textbox", "radio", "checkbox", "button", "link", "combobox", "spinbutton", "searchbox", "image"):
            assert name.strip(), (page.url, role)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter(h => h.checkVisibility()).map(h => +h.tagName[1])"
    )
    assert levels.count(1) == 1, (page.url, levels)
    assert levels[0] == 1, (page.url, levels)
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), (page.url, levels)
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
    said = page.locator("[role=status][aria-live=polite]")
    assert said.count() == 1
    page.fill("#first", "Too short")
    playwright.expect(said).to_contain_text("First sentence: 15 to 30 words expected, found 2")
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
    page.wait_for_selector("text=Ready to hand in")
    playwright.expect(page.locator(".summary")).to_have_count(0)


def test_back_after_handing_in_shows_what_was_handed_in_and_corrects_it(study, person):
    page = join(person(), invites.create(study).path)
    write_by_keyboard(page, PAIRS[0])
    page.go_back()
    page.wait_for_selector("text=you can correct it")
    assert page.input_value("#first") == PAIRS[0]["first"]
    better = {side: PAIRS[0][side].replace("the garden gate", "our garden gate") for side in ("first", "second")}
    for side, text in better.items():
        page.fill(f"#{side}", text)
    page.wait_for_selector("text=Ready to hand in")
    page.wait_for_timeout(1700)  # longer than a draft would wait
    assert page.locator("text=Draft saved").count() == 0
    page.click(".send button")
    page.wait_for_url("**/begin")
    assert "your correction is in" in page.inner_text(".notice")
    assert [submission.fields["first"] for submission in listings.submissions(study).rows] == [better["first"]]


def test_a_page_left_open_in_another_tab_does_not_claim_to_save(study, person):
    page = join(person(), invites.create(study).path)
    page.click("form[action='/begin/write'] button")
    page.wait_for_selector("[data-copy-first]")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("[data-copy-first]")
    page.goto("/begin")
    write_by_keyboard(page, PAIRS[0])
    with other.expect_response("**/draft") as answer:
        other.fill("#first", "Something else")
    assert answer.value.status == 409
    other.wait_for_selector("text=Not saved")
    assert "Draft saved" not in other.inner_text("main")
