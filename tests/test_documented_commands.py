"""Every command that a page shows runs in a folder that has what the page takes for granted."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.documented import (
    ROOT,
    Documented,
    Page,
    commands_of,
    environment,
    expected_exits,
    line_before,
    make_folder,
    page_files,
    page_name,
    reason_not_to_run,
    run_shell,
    unused_entries,
)
from support.fixtures import real
from support.servers import CoinServer, CompletionsServer, NgramServer

LISTED = Documented.read()
PAGES = {page_name(path): path for path in page_files() if commands_of(path.read_text("utf-8"))}
EMPTY = Page()
MOST_SHOWN = 3
"""Lines of a failed command's output that are shown."""


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[dict[str, str]]:
    """The addresses of model servers and the folders of small models, which stand for what a reader has."""
    pytest.importorskip("torch")
    from support import tiny, tiny_causal

    models = tmp_path_factory.mktemp("models")
    bert = tiny.tiny("bert", models / "bert", initializer_range=0.1, max_position_embeddings=512)
    llama = tiny_causal.tiny_llama(models / "llama")
    with ExitStack() as servers:
        chat = servers.enter_context(CoinServer())
        completions = servers.enter_context(CompletionsServer())
        ngrams = servers.enter_context(NgramServer(["The trophy is too big."], index="v4_rpj_llama_s4"))
        urls = {"chat": chat.url, "completions": completions.url, "ngrams": ngrams.url}
        yield {**urls, "bert": str(bert), "llama": str(llama), "root": str(ROOT)}


def test_the_list_names_pages_and_commands_that_exist():
    assert [name for name in LISTED.pages if name not in PAGES] == []
    for name, path in PAGES.items():
        page = LISTED.pages.get(name, EMPTY)
        assert list(unused_entries(page, commands_of(path.read_text("utf-8")))) == [], name


PAGE = """`winokit stats x`

    winokit audit

```console
$ winokit check a \\
    --only b   # why
output
```

winokit is
"""


def test_commands_are_read_from_blocks_alone_and_in_their_order():
    assert commands_of(PAGE) == ["winokit audit", "winokit check a --only b"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_run(name, places, tmp_path):
    page = LISTED.pages.get(name, EMPTY)
    data = real("winogrande").parent
    folder = tmp_path / "page"
    folder.mkdir()
    make_folder(page, folder, data)
    variables = environment(folder, data)
    for line in page.first:
        done = run_shell(LISTED.runnable(line, places), folder, variables)
        assert done.returncode == 0, f"{line}\n{done.stdout}"
    failures = []
    for command in commands_of(PAGES[name].read_text("utf-8")):
        if reason_not_to_run(command, page) is None:
            failures += find_failure(command, page, places, folder, variables)
    assert not failures, "\n".join(failures)


def find_failure(
    command: str, page: Page, places: dict[str, str], folder: Path, variables: dict[str, str]
) -> list[str]:
    """A line about a command that ended otherwise than expected, or nothing."""
    prepared = line_before(command, page)
    if prepared is not None:
        done = run_shell(LISTED.runnable(prepared, places), folder, variables)
        assert done.returncode == 0, f"{prepared}\n{done.stdout}"
    typed = LISTED.runnable(command, places)
    done = run_shell(typed, folder, variables)
    if done.returncode in expected_exits(command, page):
        return []
    last_lines = done.stdout.strip().splitlines()[-MOST_SHOWN:]
    return [f"{typed}: exit code {done.returncode}: {' / '.join(last_lines)}"]
