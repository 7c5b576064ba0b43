package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind is what the query generator knows of a type: expressions of one kind can be compared and united.
type kind int

const (
	integer kind = iota
	decimal
	text    // in the database's collation, which ignores case
	ordinal // a text in a binary collation
	date
	bit
	float
	kinds = int(float) + 1
)

// castType is the type of NULLs and of results whose type would grow.
var castType = map[kind]string{
	integer: "int", decimal: "decimal(14, 2)", text: "nvarchar(20)", ordinal: "varchar(20)", date: "date", bit: "bit", float: "float",
}

// binaryCollation is the collation of kind ordinal.
const binaryCollation = " COLLATE Latin1_General_BIN2"

// column is a column that an expression may name.
type column struct {
	name string // with its source
	kind kind
	// fuzzy says that the value is one of several that the collation takes for equal, whichever the engine met: after DISTINCT,
	// GROUP BY, MIN, UNION. Only what is equal for all of them is made of it.
	fuzzy bool
}

// generated is a query. Its columns are named c0, c1...; names in braces stand for tables.
type generated struct {
	with string // common table expressions
	body string
	cols []column
}

// putTables replaces names of tables.
func putTables(s string, source func(table string) string) string {
	for _, t := range randomTables {
		s = strings.ReplaceAll(s, "{"+t+"}", source(t))
	}
	return s
}

// randomTables are the tables of random queries: two with keys, one without, an empty one. All have the columns of randomColumns.
var randomTables = []string{"a", "b", "h", "e"}

// randomColumns are the columns of the tables, of which id is a key in a and b.
var randomColumns = []column{
	{name: "id", kind: integer}, {name: "k", kind: integer}, {name: "n", kind: integer}, {name: "d", kind: decimal}, {name: "s", kind: text},
	{name: "t", kind: ordinal}, {name: "f", kind: text}, {name: "w", kind: date}, {name: "o", kind: bit}, {name: "r", kind: float},
}

// columnTypes are the definitions of the tables' columns.
const columnTypes = "id int NOT NULL, k int NULL, n int NOT NULL, d decimal(9, 2) NULL, s nvarchar(10) NULL, t varchar(10) COLLATE Latin1_General_BIN2 NULL, f char(4) NOT NULL, w date NULL, o bit NULL, r float NULL"

// literals are the values of each kind, in the tables and in queries. Floats add up to the same in any order.
var literals = map[kind][]string{
	integer: {"0", "1", "2", "3", "5", "-1", "7"},
	decimal: {"0.00", "1.50", "-2.25", "3.10", "1.49"},
	text:    {"N''", "N'a'", "N'A'", "N'a '", "N'b'", "N'B '", "N'ab'", "N'Ab'", "N'é'", "N'1'", "N' '"},
	ordinal: {"''", "'a'", "'A'", "'a '", "'b'", "'ab'", "'aB'", "'2'"},
	date:    {"'20200101'", "'20200229'", "'20191231'", "'20210615'"},
	bit:     {"0", "1"},
	float:   {"0.0E0", "1.5E0", "-0.25E0", "2E0"},
}

// generator makes random queries that never fail and whose rows do not depend on the order in which they are made.
type generator struct {
	*rand.Rand
	aliases int
	ctes    []generated // with their names in body
}

// chance is true in p of 100 cases.
func (g *generator) chance(p int) bool { return g.IntN(100) < p }

// pick returns one of the choices.
func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// alias makes a name for a source.
func (g *generator) alias() string {
	g.aliases++
	return fmt.Sprintf("x%d", g.aliases)
}

// statement makes a query with its common table expressions.
func (g *generator) statement() generated {
	g.aliases, g.ctes = 0, nil
	var with []string
	if g.chance(25) {
		for i := range 1 + g.IntN(2) {
			name := fmt.Sprintf("q%d", i)
			c := g.query(2, nil, 0)
			if g.chance(25) {
				c = g.recursive(name)
			}
			with = append(with, name+" AS ("+c.body+")")
			g.ctes = append(g.ctes, generated{body: name, cols: c.cols})
		}
	}
	depth := 2
	if g.chance(25) {
		depth = 3
	}
	q := g.query(depth, nil, 0)
	if len(with) > 0 {
		q.with = "WITH " + strings.Join(with, ", ") + " "
	}
	return q
}

// fill puts the names of tables in by source.
func (q generated) fill(source func(table string) string) generated {
	q.with, q.body = putTables(q.with, source), putTables(q.body, source)
	return q
}

// recursive follows references of a table over two levels.
func (g *generator) recursive(name string) generated {
	t, u := g.pick("a", "b"), g.pick("a", "b", "h")
	return generated{
		body: fmt.Sprintf("SELECT x.id AS c0, x.k AS c1, 1 AS c2 FROM {%s} AS x WHERE %s UNION ALL SELECT y.id, y.k, z.c2 + 1 FROM {%s} AS y JOIN %s AS z ON y.id = z.c1 WHERE z.c2 < 3",
			t, g.condition(1, qualified("x"), nil), u, name),
		cols: []column{{name: "c0"}, {name: "c1"}, {name: "c2"}},
	}
}

// qualified returns the columns of a table.
func qualified(alias string) []column {
	out := make([]column, len(randomColumns))
	for i, c := range randomColumns {
		c.name = alias + "." + c.name
		out[i] = c
	}
	return out
}

// query makes a SELECT or a set operation. depth bounds what is in it; outer are columns of enclosing queries; width is the number of
// columns, any if 0.
func (g *generator) query(depth int, outer []column, width int) generated {
	if depth <= 1 || !g.chance(18) {
		return g.selectOf(depth, outer, g.kinds(width))
	}
	kinds := g.kinds(width)
	x, y := g.selectOf(depth-1, outer, kinds), g.selectOf(depth-1, outer, kinds)
	op := g.pick("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT")
	out := generated{cols: x.cols}
	for i := range out.cols {
		out.cols[i].fuzzy = out.cols[i].fuzzy || y.cols[i].fuzzy || op != "UNION ALL"
	}
	out.body = operand(x) + " " + op + " " + operand(y)
	if g.chance(25) {
		z := g.selectOf(1, outer, kinds)
		op := g.pick("UNION ALL", "UNION", "EXCEPT")
		out.body = "(" + out.body + ") " + op + " " + operand(z)
		for i := range out.cols {
			out.cols[i].fuzzy = out.cols[i].fuzzy || z.cols[i].fuzzy || op != "UNION ALL"
		}
	}
	return out
}

// operand makes a query an operand of a set operation: ORDER BY stands in derived tables only.
func operand(q generated) string {
	if strings.Contains(q.body, "ORDER BY") {
		return "SELECT * FROM (" + q.body + ") AS z"
	}
	return q.body
}

// kinds returns the kinds of a query's columns.
func (g *generator) kinds(width int) []kind {
	if width == 0 {
		width = 1 + g.IntN(4)
	}
	out := make([]kind, width)
	for i := range out {
		out[i] = kind(g.IntN(kinds))
	}
	return out
}

// selectOf makes a SELECT with columns of these kinds.
func (g *generator) selectOf(depth int, outer []column, kinds []kind) generated {
	if depth <= 0 && g.chance(50) {
		return g.constant(outer, kinds)
	}
	from, scope := g.from(depth, outer)
	where := ""
	if g.chance(60) {
		where = " WHERE " + g.condition(depth, scope, outer)
	}
	if g.chance(25) {
		return g.grouped(depth, from+where, scope, outer, kinds)
	}
	distinct := g.chance(15)
	out := generated{}
	var items, expressions []string
	for i, k := range kinds {
		var e string
		fuzzy := distinct
		if !distinct && g.chance(12) {
			e, fuzzy = g.window(k, scope)
		} else {
			e = g.expression(k, depth-1, scope, outer)
		}
		expressions = append(expressions, e)
		items = append(items, fmt.Sprintf("%s AS c%d", e, i))
		out.cols = append(out.cols, column{fmt.Sprintf("c%d", i), k, fuzzy})
	}
	list := strings.Join(items, ", ")
	switch {
	case distinct:
		out.body = "SELECT DISTINCT " + list + from + where
		if g.chance(25) {
			var keys []string
			for i := range kinds {
				if slices.Contains(expressions[:i], expressions[i]) {
					continue // 169: a column may be named once
				}
				keys = append(keys, fmt.Sprintf("c%d%s", i, g.pick("", " DESC")))
			}
			out.body += " ORDER BY " + strings.Join(keys, ", ") + g.offset()
		}
	case g.chance(80):
		out.body = "SELECT " + list + from + where
	case g.chance(40):
		c := scope[g.IntN(len(scope))]
		out.body = "SELECT TOP " + g.pick("(2) WITH TIES", "(1) WITH TIES", "(50) PERCENT WITH TIES") + " " + list + from + where + " ORDER BY " + c.name + g.pick("", " DESC")
	case g.chance(50):
		out.body = "SELECT TOP " + g.pick("(1)", "(2)", "(5)", "(40) PERCENT") + " " + list + from + where + " ORDER BY " + g.total(scope)
	default:
		out.body = "SELECT " + list + from + where + " ORDER BY " + g.total(scope) + g.offset()
	}
	return out
}

// offset skips rows.
func (g *generator) offset() string {
	return " OFFSET " + g.pick("0", "1", "2") + " ROWS" + g.pick("", " FETCH NEXT 2 ROWS ONLY", " FETCH NEXT 1 ROW ONLY")
}

// constant makes a SELECT without FROM, or from VALUES.
func (g *generator) constant(outer []column, kinds []kind) generated {
	out := generated{}
	var items []string
	for i, k := range kinds {
		items = append(items, fmt.Sprintf("%s AS c%d", g.expression(k, 0, nil, outer), i))
		out.cols = append(out.cols, column{fmt.Sprintf("c%d", i), k, false})
	}
	out.body = "SELECT " + strings.Join(items, ", ")
	return out
}

// total orders by everything that can be told of rows, so that what is cut off does not depend on how the query runs.
func (g *generator) total(scope []column) string {
	var keys []string
	for _, i := range g.Perm(len(scope)) {
		c := scope[i]
		direction := g.pick("", " DESC")
		switch {
		case c.kind == text || c.kind == ordinal:
			e := c.use()
			keys = append(keys, e+binaryCollation+direction, "DATALENGTH("+e+")")
		default:
			keys = append(keys, c.name+direction)
		}
	}
	return strings.Join(keys, ", ")
}

// use names a column where its value matters, not only what the collation says of it.
func (c column) use() string {
	if c.fuzzy && (c.kind == text || c.kind == ordinal) {
		return "UPPER(RTRIM(" + c.name + "))"
	}
	return c.name
}

// grouped makes a query with GROUP BY and aggregates.
func (g *generator) grouped(depth int, rest string, scope, outer []column, kinds []kind) generated {
	var keys []column
	var names []string
	for range g.IntN(3) {
		c := scope[g.IntN(len(scope))]
		c.fuzzy = true
		keys = append(keys, c)
		names = append(names, c.name)
	}
	out := generated{}
	var items []string
	for i, k := range kinds {
		e, fuzzy := g.aggregate(k, scope), k == text || k == ordinal
		if len(keys) > 0 && g.chance(50) {
			e, fuzzy = g.expression(k, depth-1, keys, outer), false
		}
		items = append(items, fmt.Sprintf("%s AS c%d", e, i))
		out.cols = append(out.cols, column{fmt.Sprintf("c%d", i), k, fuzzy})
	}
	out.body = "SELECT " + strings.Join(items, ", ") + rest
	if len(names) > 0 {
		out.body += " GROUP BY " + strings.Join(names, ", ")
	}
	if g.chance(30) {
		k := kind(g.IntN(kindsOrdered))
		out.body += " HAVING " + g.aggregate(k, scope) + " " + g.operator() + " " + g.literal(k)
	}
	return out
}

// kindsOrdered are the kinds before bit, which aggregates do not take.
const kindsOrdered = int(date) + 1

// columnOf returns a column of a kind, or "".
func (g *generator) columnOf(k kind, scope []column) (column, bool) {
	var of []column
	for _, c := range scope {
		if c.kind == k {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return column{}, false
	}
	return of[g.IntN(len(of))], true
}

// argument makes what an aggregate takes: it names a column of its own query, and no query.
func (g *generator) argument(k kind, scope []column) string {
	c, ok := g.columnOf(k, scope)
	if !ok {
		c = scope[g.IntN(len(scope))]
		return "CASE WHEN " + c.name + " IS NULL THEN " + g.literal(k) + " ELSE " + g.literal(k) + " END"
	}
	if g.chance(30) {
		d := scope[g.IntN(len(scope))]
		return "CASE WHEN " + d.name + " " + g.operator() + " " + g.literal(d.kind) + " THEN " + c.use() + " END"
	}
	return c.use()
}

// aggregate makes an aggregate of a kind.
func (g *generator) aggregate(k kind, scope []column) string {
	distinct := g.pick("", "", "DISTINCT ")
	any := kind(g.IntN(kinds))
	switch k {
	case integer:
		switch g.IntN(7) {
		case 0:
			return "COUNT(*)"
		case 1:
			return "COUNT(" + distinct + g.argument(any, scope) + ")"
		case 2:
			return "SUM(" + distinct + g.argument(k, scope) + ")"
		case 3:
			return "AVG(" + distinct + g.argument(k, scope) + ")"
		case 4:
			return "LEN(STRING_AGG(CAST(" + g.argument(k, scope) + " AS varchar(20)), '-'))"
		}
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ")"
	case decimal, float:
		return "CAST(" + g.pick("SUM", "MIN", "MAX") + "(" + distinct + g.argument(k, scope) + ") AS " + castType[k] + ")"
	case bit:
		return "CAST(MAX(CAST(" + g.argument(k, scope) + " AS int)) AS bit)"
	case text, ordinal:
		return g.pick("MIN", "MAX") + "(" + g.normal(k, g.argument(k, scope)) + ")"
	default:
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ")"
	}
}

// normal is a text of which the collation knows no equal one that is written otherwise.
func (g *generator) normal(k kind, e string) string {
	if k == text || k == ordinal {
		return "UPPER(RTRIM(" + e + "))"
	}
	return e
}

// window makes a window function of a kind; the second result says whether its text is fuzzy.
func (g *generator) window(k kind, scope []column) (string, bool) {
	over := "OVER ("
	if g.chance(60) {
		over += "PARTITION BY " + scope[g.IntN(len(scope))].name + " "
	}
	by := "ORDER BY " + scope[g.IntN(len(scope))].name + g.pick("", " DESC")
	switch {
	case k == integer && g.chance(40):
		return g.pick("ROW_NUMBER()", "NTILE(2)") + " " + over + "ORDER BY " + g.total(scope) + ")", false
	case k == integer && g.chance(40):
		return g.pick("RANK()", "DENSE_RANK()") + " " + over + by + ")", false
	case g.chance(30):
		frame := g.pick(" ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
		f := g.pick("FIRST_VALUE", "LAST_VALUE")
		return f + "(" + g.argument(k, scope) + ") " + over + "ORDER BY " + g.total(scope) + frame + ")", false
	case g.chance(30):
		return g.pick("LAG", "LEAD") + "(" + g.argument(k, scope) + g.pick("", ", 2") + ") " + over + "ORDER BY " + g.total(scope) + ")", false
	case k == text || k == ordinal:
		return "MAX(" + g.normal(k, g.argument(k, scope)) + ") " + over + ")", true
	case k == bit:
		return "CAST(MAX(CAST(" + g.argument(k, scope) + " AS int)) " + over + g.pick("", by) + ") AS bit)", false
	case k == date:
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ") " + over + g.pick("", by) + ")", false
	}
	return "CAST(" + g.pick("SUM", "MIN", "MAX") + "(" + g.argument(k, scope) + ") " + over + g.pick("", by) + ") AS " + castType[k] + ")", false
}
