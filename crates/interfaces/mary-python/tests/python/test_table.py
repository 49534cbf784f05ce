"""Tables: what data-frame libraries make of them, and who owns the memory."""

import gc

import numpy
import pandas
import polars
import pyarrow

TEXTS = ["The dog runs.", "One é ß 你好 word", ""]


def test_every_library_reads_the_same(nano):
    table = nano.score(TEXTS, by="word")
    plain = table.to_dict()
    assert table.columns == list(plain) and len(table) == len(plain["word"])
    arrow = pyarrow.table(table)
    assert arrow.to_pydict() == plain
    arrow.validate(full=True)
    assert polars.DataFrame(table).to_dict(as_series=False) == plain
    frame = table.to_pandas()
    assert list(frame["word"]) == plain["word"]
    assert numpy.array_equal(frame["logprob"], table["logprob"])
    assert pyarrow.schema(table) == arrow.schema
    assert [row["word"] for row in table] == plain["word"]


def test_what_is_missing_is_missing_everywhere(nano):
    # Nothing stands before the first token: its word has no score.
    table = nano.score(["The dog runs."], by="word", start="never")
    assert table.to_dict()["logprob"][0] is None
    assert pyarrow.table(table).column("logprob").null_count == 1
    assert polars.DataFrame(table)["logprob"].null_count() == 1
    assert pandas.isna(table.to_pandas()["logprob"][0])
    assert numpy.isnan(table["logprob"][0]) and not numpy.isnan(table["logprob"][1])
    flags = nano.score(["The dog runs."], start="never").to_dict()["first_unscored"]
    assert flags == [True]


def test_numbers_are_not_copied_and_outlive_the_table(nano):
    table = nano.score(TEXTS[:1], by="token")
    column = pyarrow.table(table).column("logprob").chunk(0)
    view = table["logprob"]
    assert column.buffers()[1].address == view.__array_interface__["data"][0]
    expected = list(view)
    del table
    gc.collect()
    assert list(view) == expected and column.to_pylist() == expected
    # A stream that nobody reads is given back too.
    for _ in range(100):
        nano.score(["a"]).__arrow_c_stream__()
    gc.collect()


def test_notebooks_show_a_table_and_escape_it(nano):
    page = nano.score(["<b>dog</b>"])._repr_html_()
    assert "&lt;b&gt;dog" in page and "<b>dog" not in page
    assert "more rows" in nano.score(["a b"] * 30)._repr_html_()
    assert "logprob" in str(nano.score(["a"])) and "rows" in repr(nano.score(["a"]))
