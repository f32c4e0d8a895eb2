"""Every page that a worker sees is in the language of the study's files."""

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
READABLE_ATTRIBUTES = {
    "title",
    "aria-label",
    "placeholder",
    "data-copied",
    "data-otherwise",
    "data-skip",
    "data-copy-first",
}


class Words(HTMLParser):
    """The texts of a page that people read or hear, with the attributes that browsers show."""

    def __init__(self, html):
        super().__init__()
        self.texts = []
        self.language = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.texts += [value for name, value in attrs if name in READABLE_ATTRIBUTES and value]
        self.language = dict(attrs).get("lang") or self.language

    def handle_data(self, data):
        self.texts.append(data.strip())


class Traveller(Person):
    """A person who adds every page that they see to a list."""

    def __init__(self, app, pages):
        super().__init__(app)
        self.pages = pages

    def _remember_page(self, response):
        self.pages.append(response.text)
        return super()._remember_page(response)

    def arrive(self, study):
        path = invites.create(study).path
        self.get("/")
        self.get(path)
        self.send(path)
        return self


def visit_every_page(study, twins):
    """See every page of a worker and most refusals, and return the HTML of all."""
    pages = []
    app = create_app(study)
    judged = [kind for kind in study.config.tasks.kinds if kind != "write"]
    right_answers = {f"q{number}": str(question.answer) for number, question in enumerate(study.quiz, 1)}
    worker = Traveller(app, pages).arrive(study)
    worker.send("/consent")
    worker.send("/consent", agree="yes")
    worker.send("/screening")
    worker.send("/screening", native_speaker="yes", has_seen_wsc="no")
    worker.send("/quiz")
    wrong_answers = dict.fromkeys(right_answers, "0")
    worker.send("/quiz", **wrong_answers)
    worker.send("/quiz", **right_answers)
    worker.get(invites.create(study).path)
    worker.get("/begin")
    for kind in study.config.tasks.kinds:
        worker.get(f"/guidelines/{kind}")
    task = worker.take("write")
    worker.send(f"{task}/write")
    for changes in ({}, {"first": "x" * 1001}, {"first": "zu kurz"}, {"answer_2": "2"}, {"anchor": "Zaun"}):
        worker.send(f"{task}/feedback", **twins | changes)
        worker.send(f"{task}/adversary", **twins | changes)
    worker.send(f"{task}/draft", **twins)
    worker.get(f"{task}/write")
    worker.send(f"{task}/write", **twins)
    worker.get(f"{task}/write")
    worker.send(f"{task}/draft", **twins)
    write_task = task
    worker.get("/finish")
    judge = Traveller(app, pages).arrive(study)
    judge.send("/consent", agree="yes")
    judge.send("/screening", native_speaker="yes", has_seen_wsc="no")
    judge.send("/quiz", **right_answers)
    for kind in judged:
        task = judge.take(kind)
        judge.send(f"{task}/vote")
        judge.send(f"{task}/vote", choice="1", equally_plausible="no", local_decides="no")
        judge.send(f"{task}/vote", choice="yes")
        judge.get(f"{task}/vote")
        judge.send(f"{task}/vote", choice="0", equally_plausible="no", local_decides="no")
    worker.get(f"{write_task}/write")
    worker.send(f"{write_task}/write", **twins | {"anchor": "Zaun"})
    stranger = Traveller(app, pages)
    for path in ("/begin", "/nothing", "/join/forged", "/start", "/guidelines/other", "/task/none/vote"):
        for somebody in (worker, stranger):
            somebody.get(path)
    stranger.post("/consent", data={"csrf": "forged"})
    pages.append(worker.client.delete("/begin").text)
    worker.send("/begin/write", x="x" * 70_000)
    study.pause(True, "test")
    worker.take("write")
    code = re.search(r"w-\w{10}", worker.seen)[0]
    moderation.block(study, code, "test", "test")
    worker.get("/begin")
    moderation.withdraw(study, code, "test")
    screened_out = Traveller(app, pages).arrive(study)
    screened_out.send("/consent", agree="yes")
    screened_out.send("/screening", native_speaker="no", has_seen_wsc="no")
    return pages


def study_sections(**sections):
    return {
        "tasks": {"kinds": KINDS, "votes": 1},
        "quality": {"quiz_pass_mark": 0.8, "quiz_attempts": 2},
        "contact": "a@b.example",
        "adversary": {"model": "random"},
        **sections,
    }


def bundled_english_lines():
    """Lines of the bundled English texts, quiz and pages that are longer than a word or two letters."""
    lines = {line for line in BUILT_IN.lines.values() if len(line) > 2}
    quiz = tomllib.loads(bundled("quiz.toml").read_text("utf-8"))
    lines |= {question["text"] for question in quiz["question"]}
    for name in FILES:
        page_lines = bundled(name).read_text("utf-8").splitlines()
        lines |= {line for line in page_lines if " " in line}
    return lines


def test_a_german_study_has_no_english_line_left(make_study):
    study = make_study(**study_sections(language="de", title="Zwillinge"))
    pages = visit_every_page(study, TWINS)
    assert len(pages) > 50
    english_lines = bundled_english_lines()
    english_lines.discard(study.texts.lines["quiz.result"])  # it is the same in German
    english_parts = set()
    for line in english_lines:
        parts = [part.strip() for part in re.split(r"\{\w+\}", line)]
        english_parts.update(part for part in parts if len(part.split()) > 1)
    for html in pages:
        words = Words(html)
        text = "\n".join(words.texts)
        assert not english_lines & set(words.texts)
        assert [part for part in english_parts if part in text] == []
        assert words.language in ("de", None)  # None: a piece of a page
    assert any("Ist Deutsch Ihre Muttersprache?" in html for html in pages)
    assert any("Danke, Ihre Arbeit ist angekommen. Sie haben 0,40 $ verdient." in html for html in pages)


def greek_texts():
    """The file texts.toml with every letter of the built-in lines replaced by a Greek one."""
    sections = {}
    for key, line in built_in_lines():
        section, _, name = key.partition(".")
        greek_line = re.sub(r"(\{\w+\})|[^\W\d_]", lambda match: match[1] or "λ", line)
        if key == "language.direction":
            greek_line = "ltr"
        sections.setdefault(section, []).append(f"{name} = '''{greek_line}'''")
    parts = []
    for section, lines in sections.items():
        parts += [f"[{section}]", *lines]
    return "\n".join(parts)


def test_no_word_on_a_workers_page_comes_from_anywhere_but_the_studys_files(make_study, tmp_path):
    folder = tmp_path / "study-0"
    folder.mkdir()
    (folder / "texts.toml").write_text(greek_texts(), "utf-8")
    for name in FILES:
        (folder / name).write_text("# λλλ\n", "utf-8")
    (folder / "quiz.toml").write_text('[[question]]\ntext="λ"\noptions=["λ", "μ", "ν"]\nanswer=1\nexplanation="λ"\n')
    (folder / "topics.jsonl").write_text('{"topic": "λλ", "words": ["λ"]}\n', "utf-8")
    study = make_study(**study_sections(title="λλ", quiz="quiz.toml", topics="topics.jsonl", contact="λ"))
    model_names = ["random", "own"]  # a model and its scoring
    typed_text = " ".join([*form().values(), "x" * 1001, "zu kurz Zaun", *model_names])
    typed_words = set(re.findall(r"\w+", typed_text))
    for html in visit_every_page(study, form()):
        text = " ".join(Words(html).texts)
        text_without_codes = re.sub(r"w-\w{10}", "", text)
        latin_words = set(re.findall(r"[A-Za-z]{2,}", text_without_codes))
        foreign_words = {word for word in latin_words - typed_words if word.casefold() not in typed_words}
        assert foreign_words == set()


def built_in_lines():
    return BUILT_IN.lines.items()


def test_requesters_pages_stay_in_english(make_study, browser_of):
    study = make_study(language="de")
    requester = browser_of(study).set_up(study)
    assert 'lang="en"' in requester.get("/requester").text
    assert "There is nothing here" in requester.get("/requester/nothing").text


def test_init_in_a_language_with_texts_and_in_one_without(tmp_path):
    init(tmp_path / "de", language="de-AT")
    assert "Muttersprache" in (tmp_path / "de" / "texts.toml").read_text("utf-8")
    assert (tmp_path / "de" / "consent.md").read_text("utf-8").startswith("# Bevor Sie anfangen")
    messages = []
    with telling(messages.append):
        notes = status(tmp_path / "de").record["notes"]
        assert not [note for note in notes if "English" in note or ".toml" in note]
        answer = init(tmp_path / "sw", language="sw")
        status(tmp_path / "sw")
    assert "no texts are bundled in 'sw'" in answer.lines[1]
    assert 'name = "sw"' in (tmp_path / "sw" / "texts.toml").read_text("utf-8")
    for name in ("quiz.toml", "topics.jsonl", "gold.jsonl", "consent.md", "guidelines.md"):
        assert f"{tmp_path / 'sw' / name}: still the bundled English text" in messages
    with pytest.raises(BadInput, match="expected a BCP 47 code"):
        init(tmp_path / "x", language="german")


def test_what_is_missing_or_unknown_in_texts_is_said_and_shown_as_built_in(tmp_path):
    file = tmp_path / "texts.toml"
    content = bundled("texts.toml").read_text("utf-8").replace('skip = "Skip to main content"', 'skipp = "Over!"')
    file.write_text(content, "utf-8")
    texts, notes = read_texts(file, "en")
    line = 1 + content.splitlines().index('skipp = "Over!"')
    assert notes == [
        f"{file}:{line}: no page shows a text called every_page.skipp; did you mean every_page.skip?",
        f"{file}: 1 missing, so the built-in text is shown: every_page.skip",
    ]
    assert texts("every_page.skip") == "Skip to main content"


@pytest.mark.parametrize(
    ("text", "complaint"),
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
def test_a_text_that_no_page_can_show_is_refused_with_its_line(tmp_path, text, complaint):
    (tmp_path / "texts.toml").write_text(f"[home]\nto_do = {text}\n", "utf-8")
    with pytest.raises(BadInput, match=f"texts.toml.*{complaint}"):
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
    sections = tomllib.loads(bundled("texts.toml", language).read_text("utf-8"))
    translations = {}
    for section, lines in sections.items():
        for key, line in lines.items():
            translations[f"{section}.{key}"] = line
    assert translations.keys() == BUILT_IN.lines.keys()
    for key, line in built_in_lines():
        placeholders = set(re.findall(r"\{\w+\}", line))
        assert set(re.findall(r"\{\w+\}", translations[key])) == placeholders, key


BROKEN_RULES = [
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


@pytest.mark.parametrize("reason", BROKEN_RULES)
def test_every_broken_rule_can_be_said_in_german(reason):
    texts, _ = read_texts(bundled("texts.toml", "de"), "de")
    assert texts.say(reason) not in (reason, "")
    assert BUILT_IN.say(reason)
