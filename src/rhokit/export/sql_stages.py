"""Expressions as the text of a query, in stages.

What is used more than once is computed once, as a column of a stage; the next stage
selects from it. So the length of a query is in proportion to the expressions in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rhokit.export.sql_dialects import Dialect, quoted
from rhokit.export.sql_expressions import Expression, Operand, is_expression

# Terms of a sum, or numbers to take the largest of, that stand side by side.
_CHUNK = 32
# What is no more work than to look it up.
_CHEAP = frozenset({"column", "compare", "product"})

Outputs = Sequence[tuple[str, Operand]]


@dataclass(frozen=True, eq=False)
class Query:
    """A query that selects outputs from a table.

    Parameters
    ----------
    dialect : Dialect
    table : str
        As it stands behind FROM.
    keep : sequence of str
        Columns that go along.
    """

    dialect: Dialect
    table: str
    keep: Sequence[str]

    def text(self, outputs: Outputs) -> str:
        """The whole query."""
        steps = _Steps(outputs, self.keep, self.dialect.deepest)
        writer = _Writer(self.dialect, steps.names)
        parts = []
        for level in range(1, steps.last):
            lines = [
                writer.named(each) if steps.level[each] == level else steps.names[each]
                for each in steps.there_at(level)
            ]
            self._check_width(len(lines) + len(self.keep))
            lines = [quoted(name) for name in self.keep] + lines
            parts.append(self._stage(f"stage_{level}", lines, level))
        ends = [quoted(name) for name in self.keep]
        ends += [f"{writer.text(each)} AS {quoted(name)}" for name, each in outputs]
        body = ",\n  ".join(ends)
        source = f"stage_{steps.last - 1}" if parts else self.table
        head = "WITH " + ",\n".join(parts) + "\n" if parts else ""
        return f"{head}SELECT\n  {body}\nFROM {source}\n"

    def _stage(self, name: str, lines: Sequence[str], level: int) -> str:
        source = self.table if level == 1 else f"stage_{level - 1}"
        body = ",\n  ".join(lines)
        fence = f" {self.dialect.fence}" if self.dialect.fence else ""
        return f"{name} AS (SELECT\n  {body}\nFROM {source}{fence})"

    def _check_width(self, count: int) -> None:
        if count > self.dialect.most_columns:
            raise ValueError(
                f"export_sql: the query would have {count:,} columns at a stage, and "
                f"{self.dialect.name} has at most {self.dialect.most_columns:,}: fit "
                "with fewer n_components, or set rank"
            )


class _Steps:
    """Which expressions are columns of stages, and of which.

    Parameters
    ----------
    outputs : sequence of pairs
    keep : sequence of str
        Columns that every stage has anyway.
    deepest : int
        How deeply expressions may be nested.
    """

    def __init__(self, outputs: Outputs, keep: Sequence[str], deepest: int) -> None:
        self._kept, self._deepest = set(keep), deepest
        roots = [each for _, each in outputs if is_expression(each)]
        order = list(_in_order(roots))
        uses = dict.fromkeys(order, 0)
        for each in order:
            for part in _parts(each):
                uses[part] += 1
        for root in roots:
            uses[root] += 1
        taken = [str(each.parts[0]) for each in order if each.kind == "column"]
        prefix = _free_prefix([*taken, *keep])
        self.names: dict[Expression, str] = {}
        self.level: dict[Expression, int] = {}
        self.last_use: dict[Expression, int] = {}
        need: dict[Expression, int] = {}
        depth: dict[Expression, int] = {}
        for each in order:
            own = _parts(each)
            needed = max((need[part] for part in own), default=0)
            deep = 1 + max((depth[part] for part in own), default=0)
            need[each], depth[each] = needed, deep
            if each.kind == "column":
                self.names[each], self.level[each] = quoted(str(each.parts[0])), 0
            elif self._is_worth(each, uses[each], deep):
                self.names[each] = f"{prefix}{len(self.names)}"
                self.level[each] = needed + 1
                need[each], depth[each] = needed + 1, 0
        self.last = 1 + max(need.values(), default=0)
        for each in order:
            if self.level.get(each):
                self._use(each, self.level[each])
        for root in roots:
            if root in self.level:
                self.last_use[root] = self.last
            else:
                self._use(root, self.last)

    def _is_worth(self, each: Expression, uses: int, depth: int) -> bool:
        """Whether an expression shall be a column."""
        if depth > self._deepest or each.kind == "number":
            return True
        if uses < 2:
            return False
        cheap = each.kind in _CHEAP and len(_parts(each)) == 1
        return not (cheap and all(part in self.level for part in _parts(each)))

    def _use(self, user: Expression, level: int) -> None:
        """Note that what an expression is written with is there at a stage."""
        waiting = list(_parts(user)) if user in self.level else [user]
        seen = set()
        while waiting:
            each = waiting.pop()
            if each in self.level:
                self.last_use[each] = max(self.last_use.get(each, 0), level)
            elif each not in seen:
                seen.add(each)
                waiting += _parts(each)

    def there_at(self, level: int) -> list[Expression]:
        """What a stage has as columns: what it computes, and what later ones need."""
        return [
            each
            for each, own in self.level.items()
            if own == level
            or (
                own < level < self.last_use.get(each, 0)
                and not (each.kind == "column" and each.parts[0] in self._kept)
            )
        ]


class _Writer:
    """Writes expressions, of which some are columns by now.

    Parameters
    ----------
    dialect : Dialect
    names : dict
        Columns of expressions.
    """

    def __init__(self, dialect: Dialect, names: dict[Expression, str]) -> None:
        self.dialect, self.names = dialect, names

    def named(self, each: Expression) -> str:
        """A column of a stage."""
        return f"{self._made(each)} AS {self.names[each]}"

    def text(self, each: Operand) -> str:
        """An operand, by its name if it has one."""
        if each is None:
            return "NULL"
        if not is_expression(each):
            return self.dialect.literal(each)
        return self.names[each] if each in self.names else self._made(each)

    def _made(self, each: Expression) -> str:
        made: str = getattr(self, f"_{each.kind}")(*each.parts)
        return made

    def _number(self, column: Operand) -> str:
        return f"CAST({self.text(column)} AS DOUBLE PRECISION)"

    def _text(self, column: Operand) -> str:
        return f"COALESCE({self.text(column)}, '')"

    def _missing(self, column: Operand) -> str:
        return f"({self.text(column)} IS NULL)"

    def _sum(self, constant: float, *terms: Operand) -> str:
        signed = [self._signed(term) for term in terms]
        if constant:
            signed.append(("+", self.text(constant)))
        return _chunked(signed)

    def _signed(self, term: Operand) -> tuple[str, str]:
        """A term, and the sign in front of it."""
        if (
            term not in self.names
            and term.kind == "product"
            and not is_expression(term.parts[1])
            and term.parts[1] < 0
        ):
            factor, rest = term.parts[1], self.text(term.parts[0])
            return "-", rest if factor == -1 else f"{rest} * {self.text(-factor)}"
        return "+", self.text(term)

    def _product(self, a: Operand, b: Operand) -> str:
        return f"({self.text(a)} * {self.text(b)})"

    def _ratio(self, a: Operand, b: Operand) -> str:
        return f"({self.text(a)} / {self.text(b)})"

    def _function(self, name: str, a: Operand) -> str:
        return self.dialect.function(name, self.text(a))

    def _extreme(self, name: str, *terms: Operand) -> str:
        return self._widest(self.dialect.extremes[name], [self.text(t) for t in terms])

    def _widest(self, name: str, texts: list[str]) -> str:
        while len(texts) > 1:
            groups = [texts[k : k + _CHUNK] for k in range(0, len(texts), _CHUNK)]
            texts = [
                f"{name}({', '.join(group)})" if len(group) > 1 else group[0]
                for group in groups
            ]
        return texts[0]

    def _compare(self, sign: str, a: Operand, b: Operand) -> str:
        return f"({self.text(a)} {sign} {self.text(b)})"

    def _and(self, a: Operand, b: Operand) -> str:
        return f"({self.text(a)} AND {self.text(b)})"

    def _or(self, a: Operand, b: Operand) -> str:
        return f"({self.text(a)} OR {self.text(b)})"

    def _choice(self, *parts: Operand) -> str:
        *cases, other = parts
        made = "".join(
            f" WHEN {self.text(condition)} THEN {self.text(value)}"
            for condition, value in zip(cases[::2], cases[1::2], strict=True)
        )
        end = "" if other is None else f" ELSE {self.text(other)}"
        return f"CASE{made}{end} END"


def _chunked(signed: list[tuple[str, str]]) -> str:
    """A sum, nested no more deeply than need be."""
    while len(signed) > _CHUNK:
        groups = [signed[k : k + _CHUNK] for k in range(0, len(signed), _CHUNK)]
        signed = [("+", _joined(group)) for group in groups]
    return _joined(signed)


def _joined(signed: list[tuple[str, str]]) -> str:
    (sign, first), *rest = signed
    start = first if sign == "+" else f"-{first}"
    return "(" + start + "".join(f" {sign} {term}" for sign, term in rest) + ")"


def _parts(each: Expression) -> list[Expression]:
    return [part for part in each.parts if is_expression(part)]


def _in_order(roots: Iterable[Expression]) -> Iterator[Expression]:
    """All expressions, each after those that it is made of."""
    seen: set[Expression] = set()
    waiting = [(root, False) for root in reversed(list(roots))]
    while waiting:
        each, done = waiting.pop()
        if done:
            yield each
        elif each not in seen:
            seen.add(each)
            waiting.append((each, True))
            waiting += [(part, False) for part in _parts(each) if part not in seen]


def _free_prefix(taken: Iterable[str]) -> str:
    """A prefix of names that no column of the table begins with."""
    prefix, lowered = "v", [name.lower() for name in taken]
    while any(name.startswith(prefix) for name in lowered):
        prefix += "_"
    return prefix
