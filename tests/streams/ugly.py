"""Ugly files, made by a script: each a kind that people have, with what it must be.

What a file must be is a table, as columns of values, or words of the one line that
refuses it.
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq

PLAIN = "a,b,town\n1.5,2,Ulm\n2.5,3,Bonn\n3.5,4,Ulm\n4.5,5,Trier\n"
TABLE = {
    "a": [1.5, 2.5, 3.5, 4.5],
    "b": [2, 3, 4, 5],
    "town": ["Ulm", "Bonn", "Ulm", "Trier"],
}
NUMBERS = {"a": TABLE["a"], "b": TABLE["b"]}


@dataclass(frozen=True)
class Ugly:
    """A file and what it must be.

    Parameters
    ----------
    name : str
        Its ending is what people gave it.
    data : bytes
    table : dict, optional
        Columns that it holds.
    refused : tuple of str
        Words of the error.
    options : dict
        Of reading.
    """

    name: str
    data: bytes
    table: dict = field(default_factory=dict)
    refused: tuple = ()
    options: dict = field(default_factory=dict)


def text(name, content, table=TABLE, *, encoding="utf-8", **options):
    """A text file that is read."""
    return Ugly(name, content.encode(encoding), table, options=options)


def refused(name, content, *words, **options):
    """A file that is refused."""
    data = content.encode() if isinstance(content, str) else content
    return Ugly(name, data, refused=words, options=options)


def zipped(members):
    """Bytes of a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def workbook(rows, **others):
    """Bytes of an Excel file, whose first sheet holds these rows."""
    import openpyxl

    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for name, more in others.items():
        sheet = book.create_sheet(name)
        for row in more:
            sheet.append(row)
    book.save(out)
    return out.getvalue()


def parquet(table):
    """Bytes of a Parquet file."""
    out = io.BytesIO()
    pq.write_table(pa.table(table), out)
    return out.getvalue()


def feather(table):
    """Bytes of a Feather file."""
    out = io.BytesIO()
    pa_feather.write_feather(pa.table(table), out)
    return out.getvalue()


def lines(table=TABLE):
    """Rows as JSON, one in a line."""
    names, columns = list(table), list(table.values())
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return "\n".join(map(json.dumps, rows)) + "\n"


SEMICOLONS = PLAIN.replace(",", ";").replace(".", ",")
ROWS = [line.split(",") for line in PLAIN.split()]
CELLS = [["a", "b", "town"], *zip(*TABLE.values(), strict=True)]
BODY = PLAIN.split("\n", 1)[1]
UNNAMED = {f"column_{i}": values for i, values in enumerate(TABLE.values(), start=1)}
GAPS = {"a": [1.5, None, 3.5, 4.5], "b": [2, 3, None, 5], "town": TABLE["town"]}
MONEY = {"price": [1234.5, 2.0, 1000000.25], "town": ["Ulm", "Bonn", "Ulm"]}
DAYS = ["2024-01-31", "2024-02-01", "2024-12-24"]
DATED = {"day": DAYS, "x": [1, 2, 3]}


def gaps(mark):
    """A file whose gaps are marked like this."""
    return f"a,b,town\n1.5,2,Ulm\n{mark},3,Bonn\n3.5,{mark},Ulm\n4.5,5,Trier\n"


def dated(*days):
    """A file of days."""
    return "day,x\n" + "".join(f"{day},{i}\n" for i, day in enumerate(days, start=1))


ALL = {
    "plain": text("t.csv", PLAIN),
    # ---- delimiters and decimal signs
    "semicolons and decimal commas": text("t.csv", SEMICOLONS),
    "tabs in a .csv": text("t.csv", PLAIN.replace(",", "\t")),
    "tabs": text("t.tsv", PLAIN.replace(",", "\t")),
    "tabs and decimal commas": text(
        "t.tsv", PLAIN.replace(",", "\t").replace(".", ",")
    ),
    "pipes": text("t.csv", PLAIN.replace(",", "|")),
    "commas in a .tsv": text("t.tsv", PLAIN),
    "no ending": text("table", PLAIN),
    "an ending of its own": text("t.data", PLAIN),
    "colons, given": text("t.csv", PLAIN.replace(",", ":"), delimiter=":"),
    "the hint of spreadsheets": text("t.csv", "sep=;\n" + SEMICOLONS),
    "one column": text("t.csv", "a\n1.5\n2.5\n3.5\n", {"a": [1.5, 2.5, 3.5]}),
    "decimal commas in quotes": text(
        "t.csv", 'a,b\n"1,5",2\n"2,5",3\n"3,5",4\n"4,5",5\n', NUMBERS
    ),
    "decimal commas without names": text(
        "t.csv", SEMICOLONS.split("\n", 1)[1], UNNAMED
    ),
    "a delimiter at the end of rows": text("t.csv", PLAIN.replace("\n", ",\n")),
    "a delimiter at the end of rows alone": text(
        "t.csv", "a,b,town\n" + BODY.replace("\n", ",\n")
    ),
    "blanks after delimiters": text("t.csv", PLAIN.replace(",", ", ")),
    # ---- encodings and ends of lines
    "UTF-8 with a mark": text("t.csv", PLAIN, encoding="utf-8-sig"),
    "UTF-8 with letters": text(
        "t.csv", PLAIN.replace("Ulm", "Köln"), {"town": ["Köln", "Bonn"] * 1}
    ),
    "UTF-16": text("t.csv", PLAIN, encoding="utf-16"),
    "UTF-16, big end first, without a mark": text("t.csv", PLAIN, encoding="utf-16-be"),
    "UTF-16 without a mark": text("t.csv", PLAIN, encoding="utf-16-le"),
    "UTF-16 with tabs, as Excel's Unicode text": text(
        "t.txt", PLAIN.replace(",", "\t"), encoding="utf-16"
    ),
    "Latin-1": text(
        "t.csv",
        PLAIN.replace("Ulm", "Köln"),
        TABLE | {"town": ["Köln", "Bonn", "Köln", "Trier"]},
        encoding="latin-1",
    ),
    "Windows' letters": text(
        "t.csv",
        PLAIN.replace("Ulm", "€ – “x”"),
        TABLE | {"town": ["€ – “x”", "Bonn", "€ – “x”", "Trier"]},
        encoding="cp1252",
    ),
    "an encoding that is given": Ugly(
        "t.csv",
        PLAIN.replace("Ulm", "Łódź").encode("iso8859-2"),
        TABLE | {"town": ["Łódź", "Bonn", "Łódź", "Trier"]},
        options={"encoding": "iso8859-2"},
    ),
    "not the encoding that is given": refused(
        "t.csv",
        PLAIN.encode("latin-1") + b"1,2,K\xf6ln\n",
        "encoding",
        encoding="utf-8",
    ),
    "Latin-1 after a megabyte": refused(
        "t.csv",
        ("a,town\n" + "1,Ulm\n" * 200_000).encode() + "1,Köln\n".encode("latin-1"),
        "row 200,000",
        "'town'",
        "encoding=",
    ),
    "ends of lines of Windows": text("t.csv", PLAIN.replace("\n", "\r\n")),
    "ends of lines of old Macs": text("t.csv", PLAIN.replace("\n", "\r")),
    "no end of the last line": text("t.csv", PLAIN.rstrip()),
    "empty lines": text("t.csv", PLAIN.replace("\n", "\n\n")),
    # ---- quotes
    "newlines in quotes": text(
        "t.csv",
        'a,note\n1,"one\ntwo"\n2,"three, four"\n3,five\n',
        {"a": [1, 2, 3], "note": ["one\ntwo", "three, four", "five"]},
    ),
    "doubled quotes": text(
        "t.csv", 'a,n\n1,"say ""so"""\n2,x\n', {"a": [1, 2], "n": ['say "so"', "x"]}
    ),
    "quotes with backslashes": text(
        "t.csv", 'a,n\n1,"say \\"so\\""\n2,x\n', {"a": [1, 2], "n": ['say "so"', "x"]}
    ),
    "everything in quotes": text(
        "t.csv",
        "".join('"' + '","'.join(row) + '"\n' for row in ROWS),
    ),
    "single quotes, given": text(
        "t.csv", "a,n\n1,'x,y'\n2,z\n", {"a": [1, 2], "n": ["x,y", "z"]}, quote="'"
    ),
    "inches": text(
        "t.csv", 'a,n\n1,5" pipe\n2,x\n', {"a": [1, 2], "n": ['5" pipe', "x"]}, quote=""
    ),
    "a quote that is never closed": refused(
        "t.csv", 'a,n\n1,"x\n2,y\n3,z\n' * 3, "t.csv"
    ),
    # ---- names
    "no names": text("t.csv", BODY, UNNAMED),
    "no names, given": text(
        "t.csv", "x,y\nx,z\n", {"column_1": ["x", "x"]}, header=False
    ),
    "names that come twice": text(
        "t.csv", "a,a,b\n1,2,3\n4,5,6\n", {"a": [1, 4], "a_2": [2, 5], "b": [3, 6]}
    ),
    "a name that is missing": text(
        "t.csv", ",b\n7,2\n9,3\n", {"column_1": [7, 9], "b": [2, 3]}
    ),
    "years as names": text(
        "t.csv",
        "town,2019,2020\nUlm,1.5,2\nBonn,2.5,3\nUlm,1,1\n",
        {"2019": [1.5, 2.5, 1.0], "2020": [2, 3, 1]},
    ),
    "names in quotes over two lines": text(
        "t.csv", '"size\n(cm)",b\n1,2\n3,4\n', {"size\n(cm)": [1, 3], "b": [2, 4]}
    ),
    "comments first": text("t.csv", "# made by a machine\n# in 2024\n" + PLAIN),
    "a title first": text("t.csv", "Report of May\n\n" + PLAIN),
    "a title with delimiters": text("t.csv", "Report of May,,\n" + PLAIN),
    "a row of units": text("t.csv", PLAIN.replace("town\n", "town\nkg,m/s,\n")),
    "a row of units in brackets": text(
        "t.csv", PLAIN.replace("town\n", "town\n[kg],[m],[-]\n")
    ),
    "a row of totals": text("t.csv", PLAIN + "12,14,Total\n"),
    # ---- numbers
    "thousands": text(
        "t.csv", 'price,town\n"1,234.5",Ulm\n2,Bonn\n"1,000,000.25",Ulm\n', MONEY
    ),
    "thousands with points": text(
        "t.csv", "price;town\n1.234,5;Ulm\n2;Bonn\n1.000.000,25;Ulm\n", MONEY
    ),
    "thousands with blanks": text(
        "t.csv", "price;town\n1 234,5;Ulm\n2,0;Bonn\n1 000 000,25;Ulm\n", MONEY
    ),
    "thousands as the Swiss have them": text(
        "t.csv", "price;town\n1'234.5;Ulm\n2;Bonn\n1'000'000.25;Ulm\n", MONEY
    ),
    "per cent": text("t.csv", "a,b\n1.5%,2\n2.5%,3\n3.5 %,4\n4.5%,5\n", NUMBERS),
    "dollars": text(
        "t.csv", 'price,town\n"$1,234.50",Ulm\n$2,Bonn\n"$1,000,000.25",Ulm\n', MONEY
    ),
    "euros": text(
        "t.csv", "price;town\n1.234,50 €;Ulm\n2,00 €;Bonn\n1.000.000,25 €;Ulm\n", MONEY
    ),
    "exponents": text("t.csv", PLAIN.replace("2.5", "25e-1")),
    "whole numbers that turn out not to be": text(
        "t.csv", "a,b\n" + "1,2\n" * 3 + "1.5,2\n", {"a": [1.0, 1.0, 1.0, 1.5]}
    ),
    "a text among numbers": refused(
        "t.csv", PLAIN.replace("3.5", "much"), "row 2", "'a'", "'much'", "mend it"
    ),
    "a text among numbers, late": refused(
        "t.csv", "a,b\n" + "1.5,2\n" * 300_000 + "x,3\n", "row 300,000", "'a'", "'x'"
    ),
    "a date among numbers": refused(
        "t.csv", PLAIN.replace("3.5", "2024-05-01"), "row 2", "'a'", "'2024-05-01'"
    ),
    # ---- gaps
    "empty cells": text("t.csv", gaps(""), GAPS),
    "NA": text("t.csv", gaps("NA"), GAPS),
    "question marks": text("t.csv", gaps("?"), GAPS),
    "hyphens": text("t.csv", gaps("-"), GAPS),
    "N/A in blanks": text("t.csv", gaps(" N/A "), GAPS),
    "points": text("t.csv", gaps("."), GAPS),
    "a spreadsheet's error": text("t.csv", gaps("#DIV/0!"), GAPS),
    "a mark that is given": text("t.csv", gaps("-999"), GAPS, missing_marks=["-999"]),
    "a country called NA": text(
        "t.csv",
        "land,b\nNA,1\nDE,2\nNA,3\n",
        {"land": ["NA", "DE", "NA"]},
        missing_marks=[],
    ),
    "an empty column": text(
        "t.csv", "a,b,c\n1.5,2,\n2.5,3,\n", {"a": [1.5, 2.5], "c": [None, None]}
    ),
    # ---- rows
    "a row that is too long": refused(
        "t.csv", PLAIN + "1,2,3,4\n", "row 4", "expected 3 columns, got 4"
    ),
    "a row that is too short": refused(
        "t.csv", PLAIN + "1,2\n" + BODY, "row 4", "expected 3 columns, got 2"
    ),
    "an empty file": refused("t.csv", "", "empty"),
    "only blanks": refused("t.csv", "\n\n  \n", "empty"),
    "names alone": text("t.csv", "a,b\n", {"a": [], "b": []}),
    "bytes of zero": refused("t.csv", PLAIN.encode() + b"\0\0\0\n", "line 6", "zero"),
    "no table at all": refused("t.csv", bytes(range(1, 256)) * 3 + b"\0", "zero"),
    # ---- dates
    "ISO dates": text("t.csv", dated(*DAYS), DATED),
    "German dates": text(
        "t.csv", dated("31.01.2024", "01.02.2024", "24.12.2024"), DATED
    ),
    "American dates": text(
        "t.csv", dated("01/31/2024", "02/01/2024", "12/24/2024"), DATED
    ),
    "British dates": text(
        "t.csv", dated("31/01/2024", "01/02/2024", "24/12/2024"), DATED
    ),
    "dates that could be either, given": text(
        "t.csv",
        dated("03/01/2024", "01/02/2024"),
        {"day": ["2024-01-03", "2024-02-01"]},
        date_format="%d/%m/%Y",
    ),
    "dates with months in letters": text(
        "t.csv", dated("31 Jan 2024", "01 Feb 2024", "24 Dec 2024"), DATED
    ),
    "times with zones": text(
        "t.csv",
        dated("2024-01-31T02:00:00+02:00", "2024-02-01T00:00:00Z"),
        {"day": DAYS[:2]},
    ),
    "a day that is none": refused(
        "t.csv",
        dated(*["2024-01-31"] * 90_000, "2024-02-31"),
        "row 90,000",
        "'day'",
        "'2024-02-31'",
    ),
    # ---- other formats
    "JSON lines": text("t.jsonl", lines()),
    "JSON lines in a .json": text("t.json", lines()),
    "an array of JSON": text(
        "t.json", "[" + ",\n".join(lines().split("\n")[:-1]) + "]"
    ),
    "JSON lines with gaps": text(
        "t.jsonl",
        '{"a": 1, "b": "x"}\n{"a": null}\n',
        {"a": [1, None], "b": ["x", None]},
    ),
    "JSON that is cut off": refused("t.jsonl", lines()[:-9], "row 3", "no JSON object"),
    "JSON of mixed types": refused(
        "t.jsonl", '{"a": 1}\n{"a": "x"}\n', "row 1", "'a'", "'x'"
    ),
    "Parquet in a .csv": Ugly("t.csv", parquet(TABLE), TABLE),
    "Feather in a .parquet": Ugly("t.parquet", feather(TABLE), TABLE),
    "CSV in a .parquet": text("t.parquet", PLAIN),
    "CSV in an .xlsx": text("t.xlsx", PLAIN),
    "Parquet that is cut off": refused("t.parquet", parquet(TABLE)[:-40], "t.parquet"),
    "Excel": Ugly("t.xlsx", workbook(CELLS), TABLE),
    "Excel in a .csv": Ugly("t.csv", workbook(CELLS), TABLE),
    "Excel with a title": Ugly("t.xlsx", workbook([["Report"], [], *CELLS]), TABLE),
    "Excel, another sheet": Ugly(
        "t.xlsx", workbook([["x"], [1]], May=CELLS), TABLE, options={"sheet": "May"}
    ),
    "Excel without the sheet": refused(
        "t.xlsx", workbook(CELLS), "no sheet 'June'", sheet="June"
    ),
    "an old .xls": refused("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 99, ".xlsx"),
    # ---- packed
    "gzip": Ugly("t.csv.gz", gzip.compress(PLAIN.encode()), TABLE),
    "gzip in a .csv": Ugly("t.csv", gzip.compress(PLAIN.encode()), TABLE),
    "bzip2": Ugly("t.csv.bz2", bz2.compress(PLAIN.encode()), TABLE),
    "xz": Ugly("t.csv.xz", lzma.compress(PLAIN.encode()), TABLE),
    "zstd": Ugly("t.csv.zst", pa.compress(PLAIN.encode(), "zstd", asbytes=True), TABLE),
    "a .gz that is not packed": text("t.csv.gz", PLAIN),
    "gzip that is cut off": refused(
        "t.csv.gz", gzip.compress(PLAIN.encode() * 5000)[:-200], "t.csv.gz"
    ),
    "zip": Ugly("t.zip", zipped({"t.csv": PLAIN}), TABLE),
    "zip of Macs": Ugly(
        "t.zip", zipped({"t.csv": PLAIN, "__MACOSX/._t.csv": b"\0\1"}), TABLE
    ),
    "zip of two parts": Ugly(
        "t.zip",
        zipped({"1.csv": PLAIN, "2.csv": PLAIN}),
        {name: values * 2 for name, values in TABLE.items()},
    ),
    "zip of two tables": refused(
        "t.zip", zipped({"1.csv": PLAIN, "2.csv": "x,y\n1,2\n"}), "2.csv", "lacks"
    ),
    "zip of JSON lines": Ugly("t.zip", zipped({"t.jsonl": lines()}), TABLE),
    "zip of nothing": refused("t.zip", zipped({}), "t.zip"),
    "zip that is cut off": refused("t.zip", zipped({"t.csv": PLAIN})[:-30], "t.zip"),
}
