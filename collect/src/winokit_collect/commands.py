"""`winokit collect`: a study in which people write and judge problems."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import typer

from winokit.extend import command
from winokit_collect import verbs

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Collect twins and judgements from people.")


def list_confirmations(arguments: Mapping[str, Any]) -> dict[str, tuple[str, type]]:
    """Ask for confirmation before a command spends money or deletes data.

    `arguments` are those of the command. Returns the question and the type of its answer, by the argument that it sets.
    Empty if there is nothing to confirm.
    """
    if arguments.get("yes", True):
        return {}
    if "visits" in arguments:
        visits = arguments["visits"]
        return {"yes": (f"Offer {visits} visits, each for its reward and Mechanical Turk's fee?", bool)}
    if "backup" in arguments:
        folder = arguments["folder"]
        backup = arguments["backup"]
        return {"yes": (f"Put {folder} back as {backup} has it? The server must be stopped.", bool)}
    if "worker" not in arguments:
        return {"yes": ("Delete everything people did in the pilot? This cannot be undone.", bool)}
    code = arguments["worker"]
    with verbs.opened(arguments["folder"], arguments["db"]) as study:
        from winokit_collect.study import workers

        workers.get(study, code)  # An unknown worker is an error before any question.
    return {"yes": (f"Delete the sentences and judgements of {code}? This cannot be undone.", bool)}


app.command()(command(verbs.init, attrgetter("lines"), attrgetter("record"), doing="init"))
app.command()(command(verbs.serve, lambda nothing: (), None, doing="serve"))


def exit_code_of_check(answer: verbs.StudyAnswer) -> int:
    """Exit code of `check`.

    1 if something has to be done before the study is served.
    """
    return int(not answer.record["ready"])


app.command()(command(verbs.check, attrgetter("lines"), attrgetter("record"), doing="check", code=exit_code_of_check))
MONEY = (verbs.rehearse, verbs.invite, verbs.publish, verbs.reconcile)
KEEPING = (verbs.status, verbs.export, verbs.backup, verbs.restore, verbs.account, verbs.withdraw, verbs.reset_pilot)
to_lines = attrgetter("lines")
to_record = attrgetter("record")
for call in (*MONEY, *KEEPING):
    app.command()(command(call, to_lines, to_record, doing=call.__name__, questions=list_confirmations))
