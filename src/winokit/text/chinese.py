"""Chinese: no spaces; characters are what is counted and compared."""

from winokit.text.language import Language


class Chinese(Language, data="words_zh.toml"):
    """Reading, grouping and scoring."""
