"""Chinese: no spaces; characters are what is counted and compared."""

import re

from winokit.text.language import Language


class Chinese(Language):
    """Reading, grouping and scoring."""

    name = "Chinese"
    knows = frozenset({"candidates"})
    spaced = False
    script = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
