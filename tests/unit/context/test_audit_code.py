"""Files, columns and variables in the audit: in prose, in code, and when two paths are one (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit_code import Code, PathIndex, path_parts, paths, spoken_names


def read(text):
    return [one.text for one in paths(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Use buoys_7.parquet.", ["buoys_7.parquet"]),
        ("Use data/raw/buoys-7.csv, please", ["data/raw/buoys-7.csv"]),
        ("(see ../x/y.tsv)", ["../x/y.tsv"]),
        ("at ~/notes.md now", ["~/notes.md"]),
        (r"in C:\data\sales 2.xlsx", ["2.xlsx", r"C:\data\sales"]),
        (r"in C:\data\sales.xlsx", [r"C:\data\sales.xlsx"]),
        ("file: report.PDF", ["report.PDF"]),
        ("saved as:report.pdf", ["report.pdf"]),
        ("--out=plot.png", ["plot.png"]),
        ("-plot.png", ["plot.png"]),
        ("%run.py", ["run.py"]),
        ("a+b.csv", ["a+b.csv"]),
        ("读取数据.csv文件", []),
        ("读取 数据.csv 文件", ["数据.csv"]),
        ("häfen.json", ["häfen.json"]),
        ("pd.read_csv('a.csv')", ["a.csv"]),
        ("a.csv and b.csv", ["a.csv", "b.csv"]),
        ("see https://example.org/data/x.csv.", ["https://example.org/data/x.csv"]),
        ("see s3://bucket/key/part.parquet and local.parquet", ["s3://bucket/key/part.parquet", "local.parquet"]),
        ("(http://localhost:8080/tree)", ["http://localhost:8080/tree"]),
        ("in /srv/data/raw now", ["/srv/data/raw"]),
        ("in ./out/ now", ["./out/"]),
        ("in data/raw/ now", ["data/raw/"]),
        ("in `figures/`", ["figures/"]),
        (r"in ..\out\x now", [r"..\out\x"]),
        ("x.tar.gz", ["x.tar.gz"]),
    ],
)
def test_files_folders_and_addresses_are_paths(text, found):
    assert read(text) == found
    for one in paths(text):
        assert one.kind == "path"
        assert text[one.start :].startswith(one.text)


@pytest.mark.parametrize(
    "text",
    ["no path", "df.csv()", ".csv", "x.csvx", "3/4 of them", "and/or", "km/h", "x.unknown", "://", "/", "~/", "a / b", "obj.py(1)"],
)
def test_what_is_no_path_is_none(text):
    assert read(text) == []


def test_a_path_of_any_length_ends_somewhere():
    assert read("a" * 300 + ".csv") == ["a" * 200 + ".csv"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The column `salinity_psu` was made", [("column", "salinity_psu"), ("column", "salinity_psu")]),
        ("the `mass` and ` depth ` of it", [("column", "mass"), ("column", "depth")]),
        ("`df` holds body_mass_g", [("variable", "df"), ("column", "body_mass_g")]),
        ("big_table has it", [("variable", "big_table")]),
        ("`x`, `result`, `two words`, `1st`, ``code``", []),
        ("a_b.csv, x/a_b, call_it(, a_b/c, .a_b, _a", []),
        ("a_b. And c_d/ too", [("column", "a_b"), ("column", "c_d")]),
        ("plain words", []),
    ],
)
def test_prose_names_columns_and_variables_in_back_ticks_or_with_an_underscore(text, found):
    read_ones = list(spoken_names(text, {"df", "big_table"}))
    assert [(one.kind, one.text) for one in read_ones] == found
    assert all(text[one.start :].startswith(one.text) for one in read_ones)


def items(*cells):
    return [(number, one.kind, one.text, cells[number][one.start :].startswith(one.text)) for number, one in Code(cells).items()]


def test_a_variable_that_holds_a_file_or_is_used_later_outlives_its_cell():
    assert items("sales = pd.read_csv('a.csv')") == [(0, "variable", "sales", True)]
    assert items("sales: pd.DataFrame = load_it()") == [(0, "variable", "sales", True)]
    assert items("log = open('x')") == [(0, "variable", "log", True)]
    assert items("big = sales[sales.x > 3]", "print(big)") == [(0, "variable", "big", True)]
    assert items("x1 = 1", "nothing", "show(x1.y)") == [(0, "variable", "x1", True)]


def test_what_is_used_nowhere_else_or_thrown_away_does_not():
    assert items("big = 3\nprint(big)") == []
    assert items("print(big)", "big = 3") == []
    assert items("big = 3", "bigger = big2 + a.big + _big + bigs + big_") == []
    assert items("df1 = read_csv('a')", "df1") == []
    assert items("q = read_csv('a')", "q") == []
    assert items("big == 3", "big") == []
    assert items("    big = 3", "big") == []
    assert items("no assignment", "at all") == []


def test_the_first_assignment_is_the_place():
    cells = ("sales = 1", "x = 0\nsales = pd.read_csv('a')", "sales")
    assert items(*cells) == [(0, "variable", "sales", True)]
    assert Code(cells).assigned == {"sales": (0, 0, False)}


def test_a_column_that_is_made_or_used_in_several_cells_is_kept():
    assert items("sales['margin'] = sales['price'] - sales['cost']") == [(0, "column", "margin", True)]
    assert items("sales['price'].mean()", "sales.loc['price']") == [(0, "column", "price", True)]
    assert items("sales['price'].mean()") == []
    assert items("sales['price'] == 3") == []
    assert items("sales[['price', 'cost']].mean()", "sales.groupby('cost')") == [(0, "column", "cost", True)]
    assert items("f(by='region')", "g(columns=['region', \"other\"])") == [(0, "column", "region", True)]
    assert items("sales.value_counts('kind')", "sales.sort_values(['kind', 'x'])") == [(0, "column", "kind", True)]
    assert items("x['late'].sum()", "x['late'] = 0") == [(1, "column", "late", True)]
    assert items("x['one']", "x['two']") == []


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("data/raw/a.csv", "in a.csv"),
        ("a.csv", "in data/raw/a.csv"),
        ("data/raw/a.csv", "raw/a.csv"),
        (r"data\raw\a.csv", "data/raw/a.csv"),
        ("data/raw/A.CSV", "data/raw/a.csv"),
        ("./a.csv", "~/a.csv"),
        ("https://example.org/x/a.csv", "example.org/x/a.csv"),
        ("data/raw/", "the folder data/raw/ too"),
        ("/", "nothing"),
    ],
)
def test_paths_are_the_same_when_one_is_the_end_of_the_other(wanted, there):
    assert PathIndex(["nothing", there]).holds(wanted)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [("data/raw/a.csv", "in b.csv"), ("data/raw/a.csv", "data/new/a.csv"), ("a.csv", "ba.csv"), ("a.csv", "a.csv.gz"), ("a.csv", ""), ("raw/a.csv", "raw/")],
)
def test_another_path_is_not_held(wanted, there):
    assert not PathIndex([there]).holds(wanted)


def test_the_parts_of_a_path_leave_out_what_says_nothing():
    assert path_parts("./Data//raw\\A.csv") == ["data", "raw", "a.csv"]
    assert path_parts("~/x") == ["x"]
    assert path_parts("s3://b/k") == ["b", "k"]
    assert path_parts("..") == [".."]
    assert path_parts("") == []
