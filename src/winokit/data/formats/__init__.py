"""One file per native format: read, write, recognise. Each is imported when a file is in it, or may be."""

from winokit.data.formats.base import FORMATS, FileHead, Format, WriteOptions
from winokit.data.formats.files import WrittenFile, read, recognise, write
