"""Markup in any field that people can fill is shown as text on every page."""

import json

import pytest

from winokit_collect.study import invites, quality
from winokit_collect.study.config import parse_config
from winokit_collect.study.study import Study, write_folder
from winokit_collect.web.app import create_app

EVIL = """'"></textarea></title><evil onevil=1>{{7*7}}"""
SHORT = "'\"><evil>"
"""Markup for the field that takes 20 characters."""
OWN_SCRIPTS = "/static/"
URLS = ("href", "src", "action", "formaction", "hx-get", "hx-post")
MARKDOWN = (
    f"# {EVIL}\n\n<evil>{EVIL}</evil>\n\n[go](javascript:evil) ![see](javascript:evil)\n\n<script>evil()</script>\n"
)
SETTINGS = {
    "title": f"Twins {EVIL}",
    "contact": EVIL,
    "topics": "topics.jsonl",
    "quiz": "quiz.toml",
    "tasks": {"twins": 20, "social_share": 0, "kinds": ["write", "validate", "switchable", "associative"]},
    "rules": {"fewest_words": 1, "most_words": 60, "least_overlap": 0},
    "quality": {"quiz_pass_mark": 0.1, "quiz_attempts": 9, "gold_share": 0},
}


@pytest.fixture
def study(tmp_path):
    """A study in which even the requester's own texts are evil."""
    folder = tmp_path / "evil"
    write_folder(folder, parse_config(SETTINGS))
    for name in ("guidelines.md", "guidelines-validate.md", "guidelines-switchable.md", "consent.md"):
        (folder / name).write_text(MARKDOWN)
    topic = {"topic": EVIL, "domain": "physical", "words": [EVIL, "gate"]}
    (folder / "topics.jsonl").write_text(json.dumps(topic) + "\n")
    quiz = {"text": EVIL, "options": [EVIL, "no"], "answer": 0, "explanation": EVIL}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in quiz.items())
    (folder / "quiz.toml").write_text(f"[[question]]\n{lines}\n")
    evil_study = Study.open(folder)
    yield evil_study
    evil_study.close()


@pytest.fixture
def app(study):
    return create_app(study)


@pytest.fixture
def evil_twins():
    text = f"The {EVIL} barked at the {EVIL} gate and the spaniel{EVIL} ran until _ was tired."
    return {
        "first": text,
        "second": text.replace("tired", "awake"),
        "candidate_1": EVIL,
        "candidate_2": f"the spaniel{EVIL}",
        "answer_1": "1",
        "answer_2": "2",
        "anchor": EVIL,
        "pronoun": SHORT,
    }


@pytest.fixture
def look(page_of):
    """A function that asserts that no element of a page comes from what people typed, and returns the page."""

    def assert_harmless(html, where):
        for tag, attributes in page_of(html).elements:
            assert tag != "evil", f"{where}: <{tag} {attributes}>"
            if tag == "script":
                assert (attributes.get("src") or "").startswith(OWN_SCRIPTS), where
            assert not any(name.startswith("on") for name in attributes), f"{where}: {attributes}"
            for name in URLS:
                url = (attributes.get(name) or "/").lower()
                assert url.startswith(("/", "#", "?", "https://")), f"{where}: {url}"
                assert not url.startswith("//"), f"{where}: {url}"
        assert "{{7*7}}" in html or "evil" not in html, where
        assert "}}49" not in html, where
        return html

    return assert_harmless


@pytest.fixture
def insiders(app, study, person, look):
    """A writer and a judge, who look at every page on their way in, and a requester."""

    def come_in_as_worker():
        newcomer = person(app)
        path = invites.create(study).path
        look(newcomer.get(path).text, "/join")
        look(newcomer.send(path).text, "/consent")
        look(newcomer.send("/consent", agree=EVIL).text, "/consent")
        look(newcomer.send("/consent", agree="yes").text, "/screening")
        look(newcomer.send("/screening", native_speaker=EVIL, has_seen_wsc=EVIL).text, "/screening")
        look(newcomer.send("/screening", native_speaker="yes", has_seen_wsc="no").text, "/quiz")
        look(newcomer.send("/quiz", q1=EVIL).text, "/quiz")
        look(newcomer.send("/quiz", q1="1").text, "/quiz, wrong")
        assert "evil" in look(newcomer.send("/quiz", q1="0").text, "/quiz, right")
        assert newcomer.get("/begin").url.path == "/begin"
        return newcomer

    return come_in_as_worker(), come_in_as_worker(), person(app).set_up(study)


def look_at_every_page(somebody, start, look, page_of):
    """Look at a page and all pages that its links lead to, and return their addresses."""
    addresses = set()
    next_addresses = [start]
    while next_addresses:
        path = next_addresses.pop()
        if path in addresses or len(addresses) > 120:
            continue
        addresses.add(path)
        answer = somebody.client.get(path)
        assert answer.status_code < 500, path
        if "html" in answer.headers["content-type"]:
            look(answer.text, path)
            links = [attributes.get("href") or "" for attributes in page_of(answer.text).all("a")]
            pages = [link for link in links if link.startswith("/") and not link.startswith("/static")]
            next_addresses += pages
    return addresses


def test_what_is_typed_is_shown_as_it_was_typed_on_every_page(app, study, insiders, evil_twins, look, person, page_of):
    writer, judge, requester = insiders
    task = writer.take("write")
    look(writer.seen, "/write")
    for last in ("feedback", "draft", "adversary"):
        answer = writer.send(f"{task}/{last}", **evil_twins)
        assert answer.status_code == 200
        look(answer.text, last)
    assert "&lt;evil" in look(writer.get(f"{task}/write").text, "/write, drafted")
    refusal = writer.send(f"{task}/write", **evil_twins | {"answer_1": EVIL})
    look(refusal.text, "/write, refused")
    events = json.dumps([{"kind": EVIL, "amount": EVIL}])
    assert writer.send(f"{task}/signals", events=events).status_code == 204
    assert writer.send(f"{task}/write", **evil_twins).url.path == "/begin", writer.seen

    for kind in ("associative", "validate", "switchable"):
        path = judge.take(kind)
        assert "&lt;evil" in look(judge.seen, kind)
        refusal = judge.send(f"{path}/vote", choice=EVIL, equally_plausible=EVIL, local_decides=EVIL)
        look(refusal.text, f"{kind}, wrong")
        fields = {"choice": "yes"}
        if kind == "validate":
            fields = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
        judge.send(f"{path}/vote", **fields)

    codes = [worker.code for worker in quality.workers(study)]
    person(app, EVIL).send("/login", name=EVIL, password=EVIL)
    look(person(app).send("/login", name=EVIL, password=EVIL).text, "/login")
    person(app).post(f"/task/{EVIL}/none", {})
    requester.send("/requester/invites", label=EVIL, count="1", uses="1", days="1")
    requester.send(f"/requester/workers/{codes[0]}/bonus", amount="1", note=EVIL)
    requester.send("/requester/problems/1/decide", valid="valid", note=EVIL)
    requester.send("/requester/submissions/2/discard", why=EVIL, back=EVIL)
    requester.send(f"/requester/workers/{codes[1]}/block", why=EVIL, discard_work=EVIL)
    requester.send(f"/requester/workers/{codes[0]}/return")
    look(requester.seen, "/return")
    for field in ("name", "colleague_password", "old", "password", "again"):
        look(requester.send("/requester/account/colleague", **{field: EVIL}).text, field)
        look(requester.send("/requester/account/password", **{field: EVIL}).text, field)
    look(requester.send("/requester/pay/settle", worker=EVIL).text, "/settle")

    addresses = look_at_every_page(requester, "/requester", look, page_of)
    assert {"/requester/problems/1", f"/requester/workers/{codes[0]}", "/requester/log", "/requester/pay"} <= addresses
    assert len(look_at_every_page(writer, "/begin", look, page_of)) >= 3
    look_at_every_page(person(app), "/", look, page_of)
    look(judge.get("/finish").text, "/finish of the blocked")
    for path in ("/requester/problems/1", f"/requester/workers/{codes[1]}", "/requester/invites", "/requester/log"):
        assert "&lt;evil" in requester.get(path).text, path


def test_markup_in_addresses_is_no_markup(insiders, look):
    writer, _, requester = insiders
    filters = ("status", "domain", "author", "text", "origin", "worker", "kind", "counted", "action")
    query = dict.fromkeys(filters, EVIL)
    quoted = EVIL.replace("/", "%2f")
    for path in ("/requester/problems", "/requester/submissions", "/requester/log"):
        look(requester.client.get(path, params=query).text, path)
    for path in ("/", "/join/", "/setup/", "/task/", "/guidelines/", "/requester/workers/", "/requester/agreement/"):
        for somebody in (writer, requester):
            look(somebody.client.get(f"{path}{quoted}").text, path)
    look(writer.send(f"/begin/{SHORT}").text, "/begin")


def test_the_name_of_a_download_is_a_plain_word(insiders):
    _, _, requester = insiders
    answer = requester.client.get("/requester/export.zip")
    assert answer.headers["content-disposition"] == 'attachment; filename="twins-textarea-title-evil-onevil-1-7-7.zip"'


@pytest.mark.parametrize(
    "html", [f"<p>{EVIL}</p>", "<a href='javascript:x'>", "<p onclick=x>", "<script>1</script>", "<a href='//e'>"]
)
def test_what_the_look_is_for(look, html):
    with pytest.raises(AssertionError):
        look(html, "here")
