"""Chinese: there are no spaces, so characters are counted and compared."""

from winokit.text.language import Language


class Chinese(Language, data="words_zh.toml"):
    """The rules of Chinese for reading, grouping and scoring."""
