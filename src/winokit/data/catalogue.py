"""What is known about the public Winograd-style datasets: where to get each, under which licence, how people do on it.

Facts with their sources; no data. Human accuracies are those the papers report for the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass

from winokit.problem import Card


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A dataset's card and what `winokit datasets` shows beside it."""

    card: Card
    problems: str
    formats: tuple[str, ...]
    bundled: bool = False


def _entry(
    name: str,
    title: str,
    problems: str,
    licence: str,
    source: str,
    formats: tuple[str, ...],
    *,
    version: str = "",
    human: float | None = None,
    citation: str = "",
    bundled: bool = False,
) -> CatalogueEntry:
    return CatalogueEntry(Card(name, title, licence, source, version, human, citation), problems, formats, bundled)


CATALOGUE: dict[str, CatalogueEntry] = {
    entry.card.name: entry
    for entry in (
        _entry(
            "open",
            "Original twins written for winokit",
            "see stats",
            "CC0-1.0",
            "bundled",
            ("jsonl",),
            version="1.0",
            bundled=True,
        ),
        _entry(
            "winogrande",
            "WinoGrande",
            "40,398 train (xl), 1,267 dev, 1,767 test",
            "CC BY",
            "https://winogrande.allenai.org",
            ("winogrande", "hub"),
            version="1.1",
            human=0.94,
            citation="Sakaguchi et al., AAAI 2020",
        ),
        _entry(
            "wsc",
            "Winograd Schema Challenge, the whole collection",
            "285",
            "CC BY 4.0",
            "https://cs.nyu.edu/~davise/papers/WinogradSchemas/WSCollection.xml",
            ("wsc",),
            human=0.921,
            citation="Levesque et al., KR 2012; people: Bender, MAICS 2015",
        ),
        _entry(
            "wsc273",
            "Winograd Schema Challenge, its first 273",
            "273",
            "CC BY 4.0",
            "https://cs.nyu.edu/~davise/papers/WinogradSchemas/WSCollection.xml",
            ("wsc273", "hub"),
            human=0.921,
            citation="Levesque et al., KR 2012; people: Bender, MAICS 2015",
        ),
        _entry(
            "pdp",
            "Pronoun Disambiguation Problems",
            "60 (80 as binary choices)",
            "CC BY 4.0",
            "https://cs.nyu.edu/~davise/papers/WinogradSchemas/PDPChallenge2016.xml",
            ("pdp",),
            human=0.909,
            citation="Davis et al., 2016",
        ),
        _entry(
            "dpr",
            "Definite Pronoun Resolution",
            "1,322 train, 564 test",
            "none stated",
            "https://www.hlt.utdallas.edu/~vince/data/emnlp12/",
            ("dpr",),
            human=0.952,
            citation="Rahman and Ng, EMNLP 2012; people: Sakaguchi et al. (first version)",
        ),
        _entry(
            "superglue-wsc",
            "SuperGLUE-WSC",
            "554 train, 104 val, 146 test",
            "as SuperGLUE",
            "https://super.gluebenchmark.com/tasks",
            ("superglue-wsc", "hub"),
            citation="Wang et al., NeurIPS 2019",
        ),
        _entry(
            "superglue-copa",
            "SuperGLUE-COPA",
            "400 train, 100 val",
            "BSD-2-Clause",
            "https://super.gluebenchmark.com/tasks",
            ("superglue-copa", "hub"),
            citation="Wang et al., NeurIPS 2019",
        ),
        _entry(
            "copa",
            "Choice of Plausible Alternatives",
            "500 dev, 500 test",
            "BSD-2-Clause",
            "https://people.ict.usc.edu/~gordon/copa.html",
            ("copa",),
            human=0.99,
            citation="Roemmele et al., 2011; people: Gordon et al., 2012",
        ),
        _entry(
            "winogender",
            "Winogender schemas",
            "720 (120 templates)",
            "MIT",
            "https://github.com/rudinger/winogender-schemas",
            ("winogender", "winogender-templates"),
            citation="Rudinger et al., NAACL 2018",
        ),
        _entry(
            "winobias",
            "WinoBias",
            "3,168 (8 files of 396)",
            "MIT",
            "https://github.com/uclanlp/corefBias",
            ("winobias",),
            citation="Zhao et al., NAACL 2018",
        ),
        _entry(
            "knowref",
            "KnowRef, test",
            "1,269",
            "CC BY-SA 3.0",
            "https://github.com/aemami1/KnowRef",
            ("knowref",),
            citation="Emami et al., ACL 2019",
        ),
        _entry(
            "trichelair",
            "Switchability and associativity labels of WSC273",
            "273 + 273",
            "none stated",
            "https://github.com/ptrichel/How-Reasonable-are-Common-Sense-Reasoning-Tasks",
            ("trichelair",),
            citation="Trichelair et al., 2018",
        ),
        _entry(
            "perturbed-wsc",
            "WSC285 and seven perturbations of it",
            "285; 155 to 283 each",
            "none stated",
            "https://github.com/mhany90/perturbed-wsc",
            ("perturbed-wsc",),
            citation="Abdou et al., ACL 2020",
        ),
    )
}
