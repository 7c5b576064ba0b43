package exec

import (
	"fmt"
	"strings"
)

// from returns a FROM clause and its columns.
func (g *generator) from(depth int, outer []column) (string, []column) {
	text, scope := g.source(depth, outer, nil)
	for joins := 0; g.chance(45) && joins < max(1, min(depth, 2)) && len(scope) < 24; joins++ {
		if g.chance(25) {
			item, cols := g.applied(depth, outer, scope)
			text += g.pick(" CROSS APPLY ", " OUTER APPLY ") + item
			scope = append(scope, cols...)
			continue
		}
		item, cols := g.source(depth, outer, nil)
		both := append(append([]column(nil), scope...), cols...)
		switch kind := g.pick("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"); kind {
		case "CROSS JOIN":
			text += " CROSS JOIN " + item
		default:
			on := g.join(scope, cols)
			if g.chance(30) {
				on += g.pick(" AND ", " AND ", " OR ") + g.condition(min(depth-1, 1), both, outer)
			}
			text += " " + kind + " " + item + " ON " + on
		}
		scope = both
	}
	return " FROM " + text, scope
}

// join returns a comparison of a column of each side.
func (g *generator) join(left, right []column) string {
	for range 20 {
		x := left[g.IntN(len(left))]
		if y, ok := g.columnOf(x.kind, right); ok {
			return x.name + " " + g.pick("=", "=", "=", "<>", "<") + " " + y.name
		}
	}
	return g.pick("1 = 1", "1 = 0")
}

// source returns an item of FROM and its columns.
func (g *generator) source(depth int, outer, left []column) (string, []column) {
	alias := g.alias()
	switch {
	case len(g.ctes) > 0 && g.chance(30):
		c := g.ctes[g.IntN(len(g.ctes))]
		return c.body + " AS " + alias, renamed(c.cols, alias)
	case depth > 1 && g.chance(22):
		q := g.query(depth-1, outer, 0)
		return "(" + q.body + ") AS " + alias, renamed(q.cols, alias)
	case g.chance(6):
		k := g.kinds(2)
		var rows []string
		for range 1 + g.IntN(3) {
			rows = append(rows, "("+g.cast(k[0], g.value(k[0]))+", "+g.cast(k[1], g.value(k[1]))+")")
		}
		return "(VALUES " + strings.Join(rows, ", ") + ") AS " + alias + " (c0, c1)", renamed(
			[]column{{"c0", k[0], false}, {"c1", k[1], false}}, alias)
	}
	return "{" + g.pick("a", "a", "a", "b", "b", "b", "h", "h", "e") + "} AS " + alias, qualified(alias)
}

// renamed returns the columns of a derived table with an alias.
func renamed(cols []column, alias string) []column {
	out := make([]column, len(cols))
	for i, c := range cols {
		out[i] = column{fmt.Sprintf("%s.c%d", alias, i), c.kind, c.fuzzy}
	}
	return out
}

// applied returns the right side of APPLY, which may refer to the left side.
func (g *generator) applied(depth int, outer, left []column) (string, []column) {
	alias := g.alias()
	if c, ok := g.columnOf(intKind, left); ok && g.chance(20) {
		return fmt.Sprintf("GENERATE_SERIES(1, ABS(%s) %% 4) AS %s", c.name,
			alias), []column{{alias + ".value", intKind, false}}
	}
	if c, ok := g.columnOf(textKind, left); ok && g.chance(20) {
		return fmt.Sprintf("STRING_SPLIT(%s, N'a') AS %s", c.use(),
			alias), []column{{alias + ".value", textKind, false}}
	}
	if c, ok := g.columnOf(intKind, left); ok && g.chance(20) {
		return fmt.Sprintf("OPENJSON(CONCAT(N'[', ISNULL(%s, 0), N',1,null]')) WITH (v int '$') AS %s", c.name,
			alias), []column{{alias + ".v", intKind, false}}
	}
	q := g.query(max(1, depth-1), append(append([]column(nil), outer...), left...), 0)
	return "(" + q.body + ") AS " + alias, renamed(q.cols, alias)
}

func (g *generator) operator() string { return g.pick("=", "=", "<>", "<", "<=", ">", ">=") }

// literal returns a constant.
func (g *generator) literal(k kind) string {
	l := literals[k]
	v := l[g.IntN(len(l))]
	if k == binaryTextKind {
		return v + binaryCollation
	}
	if k == dateKind {
		return "CAST(" + v + " AS date)"
	}
	return v
}

// value returns a literal or NULL.
func (g *generator) value(k kind) string {
	if g.chance(20) {
		return "NULL"
	}
	return g.literal(k)
}

// cast converts an expression to the type of its kind. A text with COLLATE keeps the collation, and
// must not have a second COLLATE.
func (g *generator) cast(k kind, e string) string {
	s := "CAST(" + e + " AS " + castType[k] + ")"
	if k == binaryTextKind && !strings.HasSuffix(e, binaryCollation) {
		return s + binaryCollation
	}
	return s
}

// leaf returns an expression without operators.
func (g *generator) leaf(k kind, scope, outer []column) string {
	if c, ok := g.columnOf(k, outer); ok && g.chance(30) {
		return c.use()
	}
	if c, ok := g.columnOf(k, scope); ok && g.chance(85) {
		return c.use()
	}
	if g.chance(12) {
		return g.cast(k, "NULL")
	}
	return g.cast(k, g.literal(k))
}

// expression returns an expression of a kind.
func (g *generator) expression(k kind, depth int, scope, outer []column) string {
	if depth <= 0 || g.chance(35) {
		return g.leaf(k, scope, outer)
	}
	sub := func(k kind) string { return g.expression(k, depth-1, scope, outer) }
	switch g.IntN(10) {
	case 0:
		return "CASE WHEN " + g.condition(depth-1, scope, outer) + " THEN " + sub(k) + " ELSE " + sub(k) + " END"
	case 1:
		return "COALESCE(" + sub(k) + ", " + sub(k) + ")"
	case 2:
		return "ISNULL(" + sub(k) + ", " + sub(k) + ")"
	case 3:
		return "NULLIF(" + sub(k) + ", " + g.leaf(k, scope, outer) + ")"
	case 4:
		return "IIF(" + g.condition(depth-1, scope, outer) + ", " + sub(k) + ", " + g.cast(k, "NULL") + ")"
	case 5, 6:
		return g.scalar(k, depth, append(append([]column(nil), outer...), scope...))
	}
	return g.call(k, sub)
}

// scalar returns a subquery of one row and one column.
func (g *generator) scalar(k kind, depth int, outer []column) string {
	from, scope := g.from(min(depth-1, 1), outer)
	if g.chance(70) {
		from += " WHERE " + g.condition(min(depth-1, 1), scope, outer)
	}
	if g.chance(65) {
		e := g.aggregate(k, scope)
		return "(SELECT " + e + from + ")"
	}
	return "(SELECT TOP (1) " + g.leaf(k, scope, outer) + from + " ORDER BY " + g.total(scope) + ")"
}

// call returns a function call or an operation.
func (g *generator) call(k kind, sub func(kind) string) string {
	switch k {
	case intKind:
		switch g.IntN(7) {
		case 0:
			return "(" + sub(k) + " % 1000 * " + sub(k) + " % 1000) % 1000"
		case 1:
			return "LEN(" + sub(textKind) + ")"
		case 2:
			return "DATEDIFF(day, " + sub(dateKind) + ", " + sub(dateKind) + ")"
		case 3:
			return sub(k) + " / NULLIF(" + sub(k) + ", 0)"
		case 4:
			return "CAST(" + sub(bitKind) + " AS int)"
		case 5:
			return "ABS(" + sub(k) + ")"
		}
		return "(" + sub(k) + " % 1000" + g.pick(" + ", " - ") + sub(k) + " % 1000) % 1000"
	case decimalKind:
		if g.chance(50) {
			return "CAST(" + sub(intKind) + " % 1000 AS decimal(14, 2))"
		}
		return "CAST((" + sub(k) + " % 1000" + g.pick(" + ", " - ",
			" * ") + sub(k) + " % 1000) % 1000 AS decimal(14, 2))"
	case textKind:
		switch g.IntN(6) {
		case 0:
			return "UPPER(" + sub(k) + ")"
		case 1:
			return "SUBSTRING(" + sub(k) + ", 1, 2)"
		case 2:
			return "CAST(" + sub(intKind) + " AS nvarchar(20))"
		case 3:
			return "RTRIM(" + sub(k) + ")"
		case 4:
			return "CONCAT(" + sub(k) + ", " + g.cast(k, g.literal(k)) + ")"
		}
		return "LEFT(" + sub(k) + " + " + sub(k) + ", 9)"
	case binaryTextKind:
		switch g.IntN(3) {
		case 0:
			return "LOWER(" + sub(k) + ")"
		case 1:
			return "CAST(" + sub(textKind) + " AS varchar(20))" + binaryCollation
		}
		return "LEFT(" + sub(k) + " + " + sub(k) + ", 9)"
	case dateKind:
		return "DATEADD(" + g.pick("day", "month") + ", " + sub(intKind) + " % 100, " + sub(k) + ")"
	case bitKind:
		return "CAST(" + sub(intKind) + " AS bit)"
	}
	return "CAST(" + sub(intKind) + " % 1000 AS float)"
}

// operandOf returns an operand of a comparison. Columns are not enclosed in an expression, so that
// indexes can be used.
func (g *generator) operandOf(k kind, depth int, scope, outer []column) string {
	if c, ok := g.columnOf(k, scope); ok && g.chance(60) {
		return c.name
	}
	if c, ok := g.columnOf(k, outer); ok && g.chance(40) {
		return c.name
	}
	return g.expression(k, depth, scope, outer)
}

// condition returns a condition.
func (g *generator) condition(depth int, scope, outer []column) string {
	if depth > 0 && g.chance(25) {
		x, y := g.condition(depth-1, scope, outer), g.condition(depth-1, scope, outer)
		switch g.IntN(5) {
		case 0, 1:
			return "(" + x + " AND " + y + ")"
		case 2, 3:
			return "(" + x + " OR " + y + ")"
		}
		return "NOT (" + x + ")"
	}
	k := kind(g.IntN(kindCount))
	x := g.operandOf(k, depth-1, scope, outer)
	not := g.pick("", " NOT")
	if depth > 0 && g.chance(35) {
		all := append(append([]column(nil), outer...), scope...)
		switch g.IntN(6) {
		case 0, 1:
			q := g.query(depth-1, all, 0)
			return strings.TrimSpace(not+" EXISTS (") + q.body + ")"
		case 2, 3:
			q := g.of(k, depth-1, all)
			return x + not + " IN (" + q + ")"
		case 4:
			q := g.of(k, depth-1, all)
			return x + " " + g.operator() + g.pick(" ANY", " ALL") + " (" + q + ")"
		}
		return x + " " + g.operator() + " " + g.scalar(k, depth, all)
	}
	switch g.IntN(9) {
	case 0:
		return x + " IS" + not + " NULL"
	case 1:
		return x + not + " IN (" + g.value(k) + ", " + g.literal(k) + ", " + g.leaf(k, scope, outer) + ")"
	case 2:
		return x + not + " BETWEEN " + g.literal(k) + " AND " + g.operandOf(k, 0, scope, outer)
	case 3:
		if k == textKind || k == binaryTextKind {
			return x + not + " LIKE " + g.pick("'a%'", "'%b'", "'_'", "'[a-b]%'", "''")
		}
		return x + " IS" + not + " DISTINCT FROM " + g.operandOf(k, 0, scope, outer)
	}
	return x + " " + g.operator() + " " + g.operandOf(k, depth-1, scope, outer)
}

// of returns a query with one column of a kind.
func (g *generator) of(k kind, depth int, outer []column) string {
	q := g.selectOf(depth, outer, []kind{k})
	return q.body
}
