"""A study speaks the language of its files: no page that a worker sees says anything else."""

import re
import tomllib
from html.parser import HTMLParser

import pytest
from collect_support.crew import form
from collect_support.people import Person

from winokit.extend import BadInput, telling, twin_rules
from winokit_collect.study import invites, moderation
from winokit_collect.study.content import bundled
from winokit_collect.study.texts import BUILT_IN, read_texts
from winokit_collect.verbs import init, status
from winokit_collect.web.app import create_app

FILES = (
    "guidelines.md",
    "guidelines-validate.md",
    "guidelines-switchable.md",
    "guidelines-associative.md",
    "consent.md",
)
KINDS = ["write", "validate", "switchable", "associative"]
TWINS = {
    "anchor": "Wasser",
    "candidate_1": "die Kanne",
    "candidate_2": "der Topf",
    "first": "Ich goss das Wasser aus der Kanne ganz langsam in den großen alten Topf, bis _ endlich voll war.",
    "second": "Ich goss das Wasser aus der Kanne ganz langsam in den großen alten Topf, bis _ endlich leer war.",
    "answer_1": "2",
    "answer_2": "1",
}
READ = {"title", "aria-label", "placeholder", "data-copied", "data-otherwise", "data-skip", "data-copy-first"}


class Words(HTMLParser):
    """What of a page people read or hear: its text and the attributes that browsers show."""

    def __init__(self, html):
        super().__init__()
        self.read = []
        self.language = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.read += [value for name, value in attrs if name in READ and value]
        self.language = dict(attrs).get("lang") or self.language

    def handle_data(self, data):
        self.read.append(data.strip())


class Traveller(Person):
    """Somebody who keeps every page."""

    def __init__(self, app, kept):
        super().__init__(app)
        self.kept = kept

    def _remember_page(self, response):
        self.kept.append(response.text)
        return super()._remember_page(response)

    def arrive(self, study):
        path = invites.create(study).path
        self.get("/")
        self.get(path)
        self.send(path)
        return self


def tour(study, twins):
    """Every page of a worker, and most of what can go wrong on the way."""
    kept = []
    app = create_app(study)
    judged = [kind for kind in study.config.tasks.kinds if kind != "write"]
    worker = Traveller(app, kept).arrive(study)
    worker.send("/consent")
    worker.send("/consent", agree="yes")
    worker.send("/screening")
    worker.send("/screening", native_speaker="yes", has_seen_wsc="no")
    worker.send("/quiz")
    for answer in ("0", None):  # a try that fails, and one that does not
        worker.send("/quiz", **{f"q{n}": answer or str(q.answer) for n, q in enumerate(study.quiz, 1)})
    worker.get(invites.create(study).path)
    worker.get("/begin")
    for kind in study.config.tasks.kinds:
        worker.get(f"/guidelines/{kind}")
    task = worker.take("write")
    worker.send(f"{task}/write")
    for changes in ({}, {"first": "x" * 1001}, {"first": "zu kurz"}, {"answer_2": "2"}, {"anchor": "Zaun"}):
        worker.send(f"{task}/feedback", **{**twins, **changes})
        worker.send(f"{task}/adversary", **{**twins, **changes})
    worker.send(f"{task}/draft", **twins)
    worker.get(f"{task}/write")
    worker.send(f"{task}/write", **twins)
    worker.get(f"{task}/write")
    worker.send(f"{task}/draft", **twins)
    written = task
    worker.get("/finish")
    judge = Traveller(app, kept).arrive(study)
    judge.send("/consent", agree="yes")
    judge.send("/screening", native_speaker="yes", has_seen_wsc="no")
    judge.send("/quiz", **{f"q{n}": str(q.answer) for n, q in enumerate(study.quiz, 1)})
    for kind in judged:
        task = judge.take(kind)
        judge.send(f"{task}/vote")
        judge.send(f"{task}/vote", choice="1", equally_plausible="no", local_decides="no")
        judge.send(f"{task}/vote", choice="yes")
        judge.get(f"{task}/vote")
        judge.send(f"{task}/vote", choice="0", equally_plausible="no", local_decides="no")
    worker.get(f"{written}/write")
    worker.send(f"{written}/write", **{**twins, "anchor": "Zaun"})
    stranger = Traveller(app, kept)
    for path in ("/begin", "/nothing", "/join/forged", "/start", "/guidelines/other", "/task/none/vote"):
        for somebody in (worker, stranger):
            somebody.get(path)
    stranger.post("/consent", data={"csrf": "forged"})
    kept.append(worker.client.delete("/begin").text)
    worker.send("/begin/write", x="x" * 70_000)
    study.pause(True, "test")
    worker.take("write")
    code = re.search(r"w-\w{10}", worker.seen)[0]
    moderation.block(study, code, "test", "test")
    worker.get("/begin")
    moderation.withdraw(study, code, "test")
    out = Traveller(app, kept).arrive(study)
    out.send("/consent", agree="yes")
    out.send("/screening", native_speaker="no", has_seen_wsc="no")
    return kept


def config(**more):
    return {
        "tasks": {"kinds": KINDS, "votes": 1},
        "quality": {"quiz_pass_mark": 0.8, "quiz_attempts": 2},
        "contact": "a@b.example",
        "adversary": {"model": "random"},
        **more,
    }


def test_a_german_study_has_no_english_line_left(make_study):
    study = make_study(**config(language="de", title="Zwillinge"))
    pages = tour(study, TWINS)
    assert len(pages) > 50
    said = {line for line in BUILT_IN.lines.values() if line != study.texts.lines["quiz.result"] and len(line) > 2}
    said |= {q["text"] for q in tomllib.loads(bundled("quiz.toml").read_text("utf-8"))["question"]}
    for name in FILES:
        said |= {line for line in bundled(name).read_text("utf-8").splitlines() if " " in line}
    pieces = {piece.strip() for line in said for piece in re.split(r"\{\w+\}", line) if len(piece.split()) > 1}
    for html in pages:
        words = Words(html)
        text = "\n".join(words.read)
        assert not said & set(words.read)
        assert [piece for piece in pieces if piece in text] == []
        assert words.language in ("de", None)  # None: a piece of a page
    assert any("Ist Deutsch Ihre Muttersprache?" in html for html in pages)
    assert any("Danke, Ihre Arbeit ist angekommen. Sie haben 0,40 $ verdient." in html for html in pages)


def test_no_word_on_a_workers_page_comes_from_anywhere_but_the_studys_files(make_study, tmp_path):
    greek = {key: re.sub(r"\{\w+\}|[^\W\d_]", lambda m: m[0] if m[0][0] == "{" else "λ", line) for key, line in lines()}
    greek["language.direction"] = "ltr"
    folder = tmp_path / "study-0"
    folder.mkdir()
    sections = {}
    for key, line in greek.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"{name} = '''{line}'''")
    written = "\n".join(f"[{section}]\n" + "\n".join(own) for section, own in sections.items())
    (folder / "texts.toml").write_text(written, "utf-8")
    for name in FILES:
        (folder / name).write_text("# λλλ\n", "utf-8")
    (folder / "quiz.toml").write_text('[[question]]\ntext="λ"\noptions=["λ", "μ", "ν"]\nanswer=1\nexplanation="λ"\n')
    (folder / "topics.jsonl").write_text('{"topic": "λλ", "words": ["λ"]}\n', "utf-8")
    study = make_study(**config(title="λλ", quiz="quiz.toml", topics="topics.jsonl", contact="λ"))
    named = ["random", "own"]  # a model and its scoring
    typed = set(re.findall(r"\w+", " ".join([*form().values(), "x" * 1001, "zu kurz Zaun", *named])))
    for html in tour(study, form()):
        left = re.findall(r"[A-Za-z]{2,}", re.sub(r"w-\w{10}", "", " ".join(Words(html).read)))
        assert {word for word in left if word not in typed and word.casefold() not in typed} == set()


def lines():
    return BUILT_IN.lines.items()


def test_requesters_pages_stay_in_english(make_study, browser_of):
    requester = browser_of(study := make_study(language="de")).set_up(study)
    assert 'lang="en"' in requester.get("/requester").text
    assert "There is nothing here" in requester.get("/requester/nothing").text


def test_init_in_a_language_with_texts_and_in_one_without(tmp_path):
    init(tmp_path / "de", language="de-AT")
    assert "Muttersprache" in (tmp_path / "de" / "texts.toml").read_text("utf-8")
    assert (tmp_path / "de" / "consent.md").read_text("utf-8").startswith("# Bevor Sie anfangen")
    told = []
    with telling(told.append):
        assert not [note for note in status(tmp_path / "de").record["notes"] if "English" in note or ".toml" in note]
        answer = init(tmp_path / "sw", language="sw")
        status(tmp_path / "sw")
    assert "no texts are bundled in 'sw'" in answer.lines[1]
    assert 'name = "sw"' in (tmp_path / "sw" / "texts.toml").read_text("utf-8")
    for name in ("quiz.toml", "topics.jsonl", "gold.jsonl", "consent.md", "guidelines.md"):
        assert f"{tmp_path / 'sw' / name}: still the bundled English text" in told
    with pytest.raises(BadInput, match="expected a BCP 47 code"):
        init(tmp_path / "x", language="german")


def test_what_is_missing_or_unknown_in_texts_is_said_and_shown_as_built_in(tmp_path):
    own = bundled("texts.toml").read_text("utf-8").replace('skip = "Skip to main content"', 'skipp = "Over!"')
    (tmp_path / "texts.toml").write_text(own, "utf-8")
    texts, notes = read_texts(tmp_path / "texts.toml", "en")
    line = 1 + own.splitlines().index('skipp = "Over!"')
    file = tmp_path / "texts.toml"
    assert notes == [
        f"{file}:{line}: no page shows a text called every_page.skipp; did you mean every_page.skip?",
        f"{file}: 1 missing, so the built-in text is shown: every_page.skip",
    ]
    assert texts("every_page.skip") == "Skip to main content"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (
            '"{cound} available"',
            r":2: field 'home.to_do': no page fills in \{cound\} here; available: \{count\}",
        ),
        ('"{count!r} available"', r"no page fills in \{count\} here"),
        ('"{count.real} available"', r"no page fills in \{count.real\}"),
        ('"{count to do"', r":2: field 'home.to_do': to show a brace, write it twice"),
        ("3", r":2: field 'home.to_do': a text in quotes"),
        ('"to do', r"not TOML: .* \(at line 2"),
    ],
)
def test_a_text_that_no_page_can_show_is_refused_with_its_line(tmp_path, wrong, why):
    (tmp_path / "texts.toml").write_text(f"[home]\nto_do = {wrong}\n", "utf-8")
    with pytest.raises(BadInput, match=f"texts.toml.*{why}"):
        read_texts(tmp_path / "texts.toml", "en")


@pytest.mark.parametrize("line", ["[formats]\nmonths = 'Jan Feb'", "[language]\ndirection = 'up'"])
def test_a_line_that_pages_go_by_must_be_fit_for_that(tmp_path, line):
    (tmp_path / "texts.toml").write_text(line, "utf-8")
    with pytest.raises(BadInput, match=r"texts.toml:2: field .* expected"):
        read_texts(tmp_path / "texts.toml", "en")


def test_a_text_is_text_and_no_markup(make_study, tmp_path, browser_of):
    (tmp_path / "study-0").mkdir()
    (tmp_path / "study-0" / "texts.toml").write_text('[every_page]\nskip = "<script>1</script> {{x}}"\n', "utf-8")
    page = browser_of(make_study()).get("/").text
    assert "&lt;script&gt;1&lt;/script&gt; {x}" in page


@pytest.mark.parametrize("language", ["de"])
def test_bundled_texts_of_a_language_are_complete_and_fill_in_the_same(language):
    own = tomllib.loads(bundled("texts.toml", language).read_text("utf-8"))
    own = {f"{section}.{key}": line for section, keys in own.items() for key, line in keys.items()}
    assert own.keys() == BUILT_IN.lines.keys()
    values = {key: set(re.findall(r"\{\w+\}", line)) for key, line in own.items()}
    assert values == {key: set(re.findall(r"\{\w+\}", line)) for key, line in lines()}


BROKEN = [
    twin_rules.one_blank("none"),
    twin_rules.length("too short"),
    twin_rules.candidates_present("text", ["a", "b"]),
    twin_rules.same_kind(("Anna", "Paul")),
    twin_rules.same_kind(("Anna", "Maria"), pronoun="he"),
    twin_rules.same_kind(("Anna", "Maria"), "physical"),
    twin_rules.same_kind(("Anna", "the ladder"), pronoun="it"),
    twin_rules.anchor_present(["text"], "{anchor}"),
    twin_rules.texts_differ("same", "same"),
    twin_rules.overlap("one", "other"),
    twin_rules.opposite_answers(["a", "a"]),
]


@pytest.mark.parametrize("reason", BROKEN)
def test_every_broken_rule_can_be_said_in_german(reason):
    texts, _ = read_texts(bundled("texts.toml", "de"), "de")
    assert texts.say(reason) not in (reason, "")
    assert BUILT_IN.say(reason)
