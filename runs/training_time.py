"""What the training took: runs, steps and minutes of a GPU per table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runs.store import Record, Store
from runs.tables import grid, number, register
from runs.trained import STORES, minutes
from runs.trained_tables import NOT_RUN, WINOGRANDE, trained
from winokit.drawing.wording import join

TIMES = {
    "WinoGrande, Tables 4 to 6, and AAAI results": r"transfer/",
    "AAAI learning curve (without xl)": r"curve/",
    "AFLite with fine-tuned features": r"aflite/",
    "does what AFLite keeps teach less?": r"taught/",
    "local contexts": r"local-context/",
    "P-Span on Winogender": r"p-span/",
    "WinoGrande as true or false": r"true-false/",
    "language-modelling heads": r"head/",
    "Liu, SuperGLUE-WSC": r"liu/superglue-wsc/",
    "Liu, DPR": r"liu/dpr/",
    "Liu, WinoGrande-m": r"liu/winogrande-m/",
    "Square One, Table 6": r"square-one/",
    "Square One, section 6.1": r"words/",
    "Square One, Tables 4 and 5": r"word-curve/",
    "models before training": r"untrained/",
}


def show_times(store: Store) -> str:
    """Runs, steps and minutes per table."""
    records: dict[str, Record] = {}
    for name in STORES:
        records |= Store(store.path.with_name(f"{name}.json")).records
    lines: list[Sequence[object]] = []
    shown: list[Record] = []
    for table, prefix in TIMES.items():
        own = [record for key, record in records.items() if re.match(prefix, key)]
        shown += own
        steps = sum(record.settings.get("steps") or 0 for record in own if record.settings.get("train"))
        lines.append((table, len(own) or NOT_RUN, f"{steps:,}" if steps else "", number(minutes(own)) if own else ""))
    steps = sum(record.settings.get("steps") or 0 for record in shown if record.settings.get("train"))
    lines.append(("all", len(shown), f"{steps:,}", number(minutes(shown))))
    machines = sorted({record.made_with["machine"] for record in shown})
    table = grid(["table", "runs", "training steps", "minutes, added up"], lines)
    said = "Several runs at a time: less time passed than the minutes added up, and each took longer than alone."
    return f"{table}\n\nOne {join(machines)}. {said}"


register(
    trained("winogrande", "time", "what the training took", WINOGRANDE, _=("", show_times)),
)
