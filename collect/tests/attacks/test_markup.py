"""Markup in every field that anybody can fill, and then every page that there is, looked at element by element."""

import json

import pytest

from winokit_collect.study import invites, quality
from winokit_collect.study.config import parse_config
from winokit_collect.study.study import Study, write_folder
from winokit_collect.web.app import create_app

EVIL = """'"></textarea></title><evil onevil=1>{{7*7}}"""
SHORT = "'\"><evil>"
"""For the field that takes 20 characters."""
OWN_SCRIPTS = "/static/"
URLS = ("href", "src", "action", "formaction", "hx-get", "hx-post")
MARKDOWN = (
    f"# {EVIL}\n\n<evil>{EVIL}</evil>\n\n[go](javascript:evil) ![see](javascript:evil)\n\n<script>evil()</script>\n"
)


@pytest.fixture
def study(tmp_path):
    """A study in which even the requester's own texts are evil."""
    folder = tmp_path / "evil"
    config = parse_config(
        {
            "title": f"Twins {EVIL}",
            "contact": EVIL,
            "topics": "topics.jsonl",
            "quiz": "quiz.toml",
            "tasks": {"twins": 20, "social_share": 0, "kinds": ["write", "validate", "switchable", "associative"]},
            "rules": {"fewest_words": 1, "most_words": 60, "least_overlap": 0},
            "quality": {"quiz_pass_mark": 0.1, "quiz_attempts": 9, "gold_share": 0},
        }
    )
    write_folder(folder, config)
    for name in ("guidelines.md", "guidelines-validate.md", "guidelines-switchable.md", "consent.md"):
        (folder / name).write_text(MARKDOWN)
    topic = {"topic": EVIL, "domain": "physical", "words": [EVIL, "gate"]}
    (folder / "topics.jsonl").write_text(json.dumps(topic) + "\n")
    quiz = {"text": EVIL, "options": [EVIL, "no"], "answer": 0, "explanation": EVIL}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in quiz.items())
    (folder / "quiz.toml").write_text(f"[[question]]\n{lines}\n")
    opened = Study.open(folder)
    yield opened
    opened.close()


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
    """Looks at a page: nothing in it is made of what people typed."""

    def look_at(html, where):
        for tag, attributes in page_of(html).elements:
            assert tag != "evil", f"{where}: <{tag} {attributes}>"
            assert tag != "script" or (attributes.get("src") or "").startswith(OWN_SCRIPTS), where
            assert not any(name.startswith("on") for name in attributes), f"{where}: {attributes}"
            for name in URLS:
                url = (attributes.get(name) or "/").lower()
                assert url.startswith(("/", "#", "?", "https://")), f"{where}: {url}"
                assert not url.startswith("//"), f"{where}: {url}"
        assert "{{7*7}}" in html or "evil" not in html, where
        assert "}}49" not in html, where
        return html

    return look_at


@pytest.fixture
def insiders(app, study, person, look):
    """A writer and a judge, who look at every page on their way in, and a requester."""

    def come_in():
        one = person(app)
        path = invites.create(study).path
        look(one.get(path).text, "/join")
        look(one.send(path).text, "/consent")
        look(one.send("/consent", agree=EVIL).text, "/consent")
        look(one.send("/consent", agree="yes").text, "/screening")
        look(one.send("/screening", native_speaker=EVIL, has_seen_wsc=EVIL).text, "/screening")
        look(one.send("/screening", native_speaker="yes", has_seen_wsc="no").text, "/quiz")
        look(one.send("/quiz", q1=EVIL).text, "/quiz")
        look(one.send("/quiz", q1="1").text, "/quiz, wrong")
        assert "evil" in look(one.send("/quiz", q1="0").text, "/quiz, right")
        assert one.get("/begin").url.path == "/begin"
        return one

    return come_in(), come_in(), person(app).set_up(study)


def every_page(somebody, start, look, page_of):
    """Follow every link from a page; the addresses that were looked at."""
    seen = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in seen or len(seen) > 120:
            continue
        seen.add(path)
        answer = somebody.client.get(path)
        assert answer.status_code < 500, path
        if "html" in answer.headers["content-type"]:
            look(answer.text, path)
            links = [a.get("href") for tag, a in page_of(answer.text).elements if tag == "a"]
            waiting += [link for link in links if link and link.startswith("/") and not link.startswith("/static")]
    return seen


def test_what_is_typed_is_shown_as_it_was_typed_on_every_page(app, study, insiders, evil_twins, look, person, page_of):
    writer, judge, requester = insiders
    task = writer.take("write")
    look(writer.seen, "/write")
    for last in ("feedback", "draft", "adversary"):
        answer = writer.send(f"{task}/{last}", **evil_twins)
        assert answer.status_code == 200
        look(answer.text, last)
    assert "&lt;evil" in look(writer.get(f"{task}/write").text, "/write, drafted")
    look(writer.send(f"{task}/write", **{**evil_twins, "answer_1": EVIL}).text, "/write, refused")
    assert writer.send(f"{task}/signals", events=json.dumps([{"kind": EVIL, "amount": EVIL}])).status_code == 204
    assert writer.send(f"{task}/write", **evil_twins).url.path == "/begin", writer.seen

    for kind in ("associative", "validate", "switchable"):
        path = judge.take(kind)
        assert "&lt;evil" in look(judge.seen, kind)
        look(judge.send(f"{path}/vote", choice=EVIL, equally_plausible=EVIL, local_decides=EVIL).text, f"{kind}, wrong")
        fields = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
        judge.send(f"{path}/vote", **(fields if kind == "validate" else {"choice": "yes"}))

    codes = [one.code for one in quality.workers(study)]
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

    looked = every_page(requester, "/requester", look, page_of)
    assert {"/requester/problems/1", f"/requester/workers/{codes[0]}", "/requester/log", "/requester/pay"} <= looked
    assert len(every_page(writer, "/begin", look, page_of)) >= 3
    every_page(person(app), "/", look, page_of)
    look(judge.get("/finish").text, "/finish of the blocked")
    for path in ("/requester/problems/1", f"/requester/workers/{codes[1]}", "/requester/invites", "/requester/log"):
        assert "&lt;evil" in requester.get(path).text, path


def test_markup_in_addresses_is_no_markup(insiders, look):
    writer, _, requester = insiders
    asked = dict.fromkeys(("status", "domain", "author", "text", "origin", "worker", "kind", "counted", "action"), EVIL)
    for path in ("/requester/problems", "/requester/submissions", "/requester/log"):
        look(requester.client.get(path, params=asked).text, path)
    for path in ("/", "/join/", "/setup/", "/task/", "/guidelines/", "/requester/workers/", "/requester/agreement/"):
        for somebody in (writer, requester):
            look(somebody.client.get(f"{path}{EVIL.replace('/', '%2f')}").text, path)
    look(writer.send(f"/begin/{SHORT}").text, "/begin")


def test_the_name_of_a_download_is_a_plain_word(insiders):
    answer = insiders[2].client.get("/requester/export.zip")
    assert answer.headers["content-disposition"] == 'attachment; filename="twins-textarea-title-evil-onevil-1-7-7.zip"'


def test_what_the_look_is_for(look):
    for bad in (f"<p>{EVIL}</p>", "<a href='javascript:x'>", "<p onclick=x>", "<script>1</script>", "<a href='//e'>"):
        with pytest.raises(AssertionError):
            look(bad, "here")
