"""WinoGrande (Sakaguchi et al., 2019), Table 5: WSC, PDP, DPR and COPA without training on WinoGrande.

Every `--model` as it comes, beside the systems and people of the paper. `hunter:INDEX` hunts for evidence, and on COPA
counts causal associations as Gordon et al. did. Abstentions count as coins. Trained rows: winogrande_transfer.
"""

from __future__ import annotations

from common import Options, Outcome, answered, judged, loaded, percent, rows_of, run, short, table

from winokit.data.runs import Run
from winokit.drawing.protocols import CITATIONS
from winokit.problem import Dataset
from winokit.stages.audit.published import published

# dataset, file, format, view, what is published about it
DATASETS = (
    ("WSC", "wsc/WSCollection.xml", "wsc273", None, "wsc273"),
    ("PDP", "pdp/PDPChallenge2016.xml", None, "binary", "pdp"),
    ("DPR", "dpr/test.c.txt", None, None, "dpr/test"),
    ("COPA", "copa/copa-test.xml", None, None, "copa/copa-test"),
)


def experiment(options: Options) -> Outcome:
    """One table a dataset, the paper's rows first."""
    tables, rows = [], []
    for name, file, written, view, known in DATASETS:
        data = options.load(file, written, as_=view)
        facts = [fact for fact in published(known) if fact.source is CITATIONS["SAKAGUCHI_FIRST"]]
        lines = [(f"{fact.system}, paper", percent(fact.value), "") for fact in facts]
        for spec in options.models:
            found = judged_copa(data, spec, options) if name == "COPA" else judged(data, spec, options)
            value = percent(found.find("accuracy", "all", "expected_accuracy"), interval=True)
            lines.append((short(spec), value, answered(found)))
            rows += rows_of(found)
        tables.append(table([f"{name} ({len(data)})", "accuracy, %", "answered, %"], lines))
    return Outcome(tables, rows)


def judged_copa(data: Dataset, spec: str, options: Options) -> Run:
    """Alternatives end the text: a causal model compares whole texts, since nothing follows; a hunter counts causes."""
    if spec.startswith("hunter:"):
        return judged(data, f"{spec}{'&' if '?' in spec else '?'}by=causal", options)
    return judged(data, spec, options, scoring="full" if loaded(spec).kind == "causal" else None)


if __name__ == "__main__":
    run(experiment, __doc__)
