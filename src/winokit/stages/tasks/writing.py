"""Tasks of lm-evaluation-harness and of Inspect, file by file: for a release, and for every variant of an audit.

Both have a group score. The harness reads texts as they were put together here, so that possessives and capitals are
those of `winokit score`. Tasks find their files from where they stand themselves: a folder works wherever it is moved,
and needs nothing of winokit.
"""

from collections.abc import Mapping, Sequence

from winokit.drawing.page import rendered_plain

TEMPLATES = "stages/tasks/templates"


def lmeval_task(
    name: str, file: str, about: Sequence[str], metadata: Mapping[str, str], *, train: str = "", asks: str = "partial"
) -> bytes:
    """A task of the harness.

    Parameters
    ----------
    file, train
        The documents to be scored, and those to draw solved examples from, beside it.
    asks
        `partial` or `full` scoring, or `solved`: the whole solved text, for its surprisal.
    """
    shown = {"name": name, "file": file, "about": about, "metadata": metadata}
    return rendered_plain(f"{TEMPLATES}/lm_eval_task.yaml.j2", train=train, asks=asks, **shown)


def lmeval_group(name: str, tasks: Sequence[str], about: Sequence[str], metadata: Mapping[str, str]) -> bytes:
    """Several tasks of the harness under one name. Their scores mean different things, and no mean is made of them."""
    return rendered_plain(f"{TEMPLATES}/lm_eval_group.yaml.j2", name=name, tasks=tasks, about=about, metadata=metadata)


def lmeval_utils(title: str) -> bytes:
    """The functions that the harness's tasks beside it name."""
    return rendered_plain(f"{TEMPLATES}/lm_eval_utils.py.j2", title=title)


def inspect_tasks(title: str, place: str, tasks: Mapping[str, str]) -> bytes:
    """A file of Inspect's tasks, from each name to the documents, by their path from there."""
    return rendered_plain(f"{TEMPLATES}/inspect_task.py.j2", title=title, place=place, tasks=tasks)
