"""Folders of results: what a sweep writes, on any engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ._evenkeel import Error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Folder:
    """Results of a sweep in a folder, as Parquet in folders by machine and policy.

    >>> import tempfile
    >>> import evenkeel as ek
    >>> grid = {"machine": "quickia", "workload": "mcf", "policy": ["linux", "acfs"], "size": 0.01}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     folder = ek.sweep(grid, f"{out}/results")
    ...     folder.manifest["cases"], len(folder.parts), folder.to_polars().height
    (2, 2, 2)
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        #: Where it is.
        self.path = Path(path)
        try:
            text = (self.path / "manifest.json").read_text(encoding="utf-8")
            #: The grid, digests of its files, how many cases there are.
            self.manifest: dict[str, Any] = json.loads(text)
        except (OSError, ValueError) as wrong:
            what = getattr(wrong, "strerror", None) or wrong
            raise Error(f"{self.path}: no folder of a sweep: manifest.json: {what}") from None

    @property
    def parts(self) -> list[Path]:
        """The files that are there, in order of their names."""
        return sorted(self.path.glob("results/machine=*/policy=*/*.parquet"))

    def to_polars(self) -> polars.DataFrame:
        """All of it as a frame of Polars. `polars.scan_parquet(folder.path / "results")` is lazy.

        This and the like raise `Error` where no part is there yet, and `ImportError` where the
        library is not installed.
        """
        import polars

        self._check()
        # What a part names is what it says: a policy that is called 1 is no number.
        text = {"machine": polars.String, "policy": polars.String}
        return polars.read_parquet(
            self.path / "results", hive_partitioning=True, hive_schema=text
        )

    def to_arrow(self) -> pyarrow.Table:
        """All of it as a table of pyarrow."""
        import pyarrow
        import pyarrow.dataset

        self._check()
        text = pyarrow.schema([("machine", pyarrow.string()), ("policy", pyarrow.string())])
        of = pyarrow.dataset.partitioning(text, flavor="hive")
        data = pyarrow.dataset.dataset(self.path / "results", format="parquet", partitioning=of)
        return data.to_table()

    def to_pandas(self) -> pandas.DataFrame:
        """All of it as a frame of pandas, whose columns are those of Arrow."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def _check(self) -> None:
        if not self.parts:
            raise Error(f"{self.path}: no part is there yet")

    def __repr__(self) -> str:
        there, all_of_it = len(self.parts), self.manifest.get("parts")
        return f"<Folder {self.path}: {there} of {all_of_it} parts>"


def read(path: Union[str, os.PathLike[str]]) -> Folder:
    """Results of a sweep that are there already. Raises `Error` where the folder has none.

    >>> read("no-such-folder")
    Traceback (most recent call last):
    evenkeel.Error: no-such-folder: no folder of a sweep: manifest.json: No such file or directory
    """
    return Folder(path)
