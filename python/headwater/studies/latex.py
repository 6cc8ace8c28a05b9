r"""Tables for papers: LaTeX with the rules of `booktabs`."""

from headwater.types import TextTable

SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "χ": r"$\chi$",
    "²": r"\textsuperscript{2}",
    "≠": r"$\neq$",
    "−": r"$-$",
}
LONG = 40
"""Rows from which a table may go over several pages."""


def escaped(text: str) -> str:
    r"""A text as LaTeX prints it; a number below 0 gets a minus sign.

    Examples
    --------
    >>> print(escaped("FLLS-I_f"), escaped("50 %"), escaped("-0.040"), escaped("+0.1"))
    FLLS-I\_f 50 \% $-0.040$ $+0.1$
    """
    if text[:1] in ("-", "+") and text[1:].replace(".", "", 1).isdigit():
        return f"${text}$"
    return "".join(SPECIAL.get(character, character) for character in text)


def as_latex(table: TextTable, title: str, label: str, left: frozenset[str]) -> str:
    r"""The table with `booktabs` rules, a caption and a label; it needs `\usepackage{booktabs}`.

    Columns named in `left` hold words and stand to the left. A table of more than 40 rows is a
    `longtable`, which needs that package.

    Examples
    --------
    >>> rows = (("vote", "0.85"),)
    >>> print(as_latex(TextTable(("data set", "ours"), rows), "T", "t", frozenset(["data set"])))
    \begin{table}
    \centering
    \caption{T}
    \label{tab:t}
    \begin{tabular}{lr}
    \toprule
    data set & ours \\
    \midrule
    vote & 0.85 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    columns = "".join("l" if head in left else "r" for head in table.head)
    head = [r"\toprule", _line(table.head), r"\midrule"]
    body = [_line(row) for row in table.rows]
    caption, key = rf"\caption{{{escaped(title)}}}", rf"\label{{tab:{label}}}"
    if len(table.rows) > LONG:
        lines = [rf"\begin{{longtable}}{{{columns}}}", rf"{caption}{key}\\", *head]
        lines += [r"\endhead", r"\bottomrule", r"\endfoot", *body, r"\end{longtable}"]
    else:
        lines = [r"\begin{table}", r"\centering", caption, key]
        lines += [rf"\begin{{tabular}}{{{columns}}}", *head, *body, r"\bottomrule"]
        lines += [r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
