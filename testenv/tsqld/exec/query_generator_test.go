package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind classifies types for the query generator: expressions of one kind can be compared and
// united.
type kind int

const (
	intKind kind = iota
	decimalKind
	textKind       // with the database's collation, which ignores case
	binaryTextKind // text with a binary collation
	dateKind
	bitKind
	floatKind
	kindCount = int(floatKind) + 1
)

// castType is the type of NULLs and of results whose type would become wider.
var castType = map[kind]string{
	intKind: "int", decimalKind: "decimal(14, 2)", textKind: "nvarchar(20)", binaryTextKind: "varchar(20)",
	dateKind: "date", bitKind: "bit", floatKind: "float",
}

// binaryCollation is the collation of binaryTextKind.
const binaryCollation = " COLLATE Latin1_General_BIN2"

// column is a column for expressions.
type column struct {
	name string // qualified with its source
	kind kind
	// fuzzy tells that the value is an arbitrary one of several values that are equal in the
	// collation: after DISTINCT, GROUP BY, MIN and UNION. Expressions over the column must have the
	// same value for all of them.
	fuzzy bool
}

// generated is a query. Its columns have the names c0, c1 and so on. Names in braces stand for
// tables.
type generated struct {
	with string // common table expressions
	body string
	cols []column
}

// putTables replaces the names in braces.
func putTables(s string, source func(table string) string) string {
	for _, t := range randomTables {
		s = strings.ReplaceAll(s, "{"+t+"}", source(t))
	}
	return s
}

// randomTables are the tables of random queries: two with keys, one without, one empty. All have
// the columns randomColumns.
var randomTables = []string{"a", "b", "h", "e"}

// randomColumns are the columns of the tables; id is a key in a and b.
var randomColumns = []column{
	{name: "id", kind: intKind}, {name: "k", kind: intKind}, {name: "n", kind: intKind}, {name: "d", kind: decimalKind},
	{name: "s", kind: textKind},
	{name: "t", kind: binaryTextKind}, {name: "f", kind: textKind}, {name: "w", kind: dateKind},
	{name: "o", kind: bitKind}, {name: "r", kind: floatKind},
}

// columnTypes are the definitions of the tables' columns.
const columnTypes = "id int NOT NULL, k int NULL, n int NOT NULL, d decimal(9, 2) NULL, s nvarchar(10) NULL, t varchar(10) COLLATE Latin1_General_BIN2 NULL, f char(4) NOT NULL, w date NULL, o bit NULL, r float NULL"

// literals are the values of each kind in the tables and in queries. The sum of the floats does not
// depend on their order.
var literals = map[kind][]string{
	intKind:        {"0", "1", "2", "3", "5", "-1", "7"},
	decimalKind:    {"0.00", "1.50", "-2.25", "3.10", "1.49"},
	textKind:       {"N''", "N'a'", "N'A'", "N'a '", "N'b'", "N'B '", "N'ab'", "N'Ab'", "N'é'", "N'1'", "N' '"},
	binaryTextKind: {"''", "'a'", "'A'", "'a '", "'b'", "'ab'", "'aB'", "'2'"},
	dateKind:       {"'20200101'", "'20200229'", "'20191231'", "'20210615'"},
	bitKind:        {"0", "1"},
	floatKind:      {"0.0E0", "1.5E0", "-0.25E0", "2E0"},
}

// generator creates random queries that never fail and whose rows do not depend on the order of
// evaluation.
type generator struct {
	*rand.Rand
	aliases int
	ctes    []generated // by their names in body
}

// chance returns true in p percent of its calls.
func (g *generator) chance(p int) bool { return g.IntN(100) < p }

// pick returns one of the choices.
func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// alias returns a new name for a source.
func (g *generator) alias() string {
	g.aliases++
	return fmt.Sprintf("x%d", g.aliases)
}

// statement returns a query with its common table expressions.
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

// fill replaces the names of tables by sources.
func (q generated) fill(source func(table string) string) generated {
	q.with, q.body = putTables(q.with, source), putTables(q.body, source)
	return q
}

// recursive returns a recursive query over references of a table, two levels deep.
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

// query returns a SELECT or a set operation. depth limits the nesting, outer are the columns of
// enclosing queries, and width is the number of columns; 0 means any number.
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

// operand returns a query as an operand of a set operation. ORDER BY needs a derived table there.
func operand(q generated) string {
	if strings.Contains(q.body, "ORDER BY") {
		return "SELECT * FROM (" + q.body + ") AS z"
	}
	return q.body
}

// kinds returns random kinds of columns.
func (g *generator) kinds(width int) []kind {
	if width == 0 {
		width = 1 + g.IntN(4)
	}
	out := make([]kind, width)
	for i := range out {
		out[i] = kind(g.IntN(kindCount))
	}
	return out
}

// selectOf returns a SELECT with columns of the given kinds.
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
					continue // error 169: ORDER BY must not name a column twice
				}
				keys = append(keys, fmt.Sprintf("c%d%s", i, g.pick("", " DESC")))
			}
			out.body += " ORDER BY " + strings.Join(keys, ", ") + g.offset()
		}
	case g.chance(80):
		out.body = "SELECT " + list + from + where
	case g.chance(40):
		c := scope[g.IntN(len(scope))]
		out.body = "SELECT TOP " + g.pick("(2) WITH TIES", "(1) WITH TIES",
			"(50) PERCENT WITH TIES") + " " + list + from + where + " ORDER BY " + c.name + g.pick("", " DESC")
	case g.chance(50):
		out.body = "SELECT TOP " + g.pick("(1)", "(2)", "(5)",
			"(40) PERCENT") + " " + list + from + where + " ORDER BY " + g.total(scope)
	default:
		out.body = "SELECT " + list + from + where + " ORDER BY " + g.total(scope) + g.offset()
	}
	return out
}

// offset returns a clause that skips rows.
func (g *generator) offset() string {
	return " OFFSET " + g.pick("0", "1", "2") + " ROWS" + g.pick("", " FETCH NEXT 2 ROWS ONLY",
		" FETCH NEXT 1 ROW ONLY")
}

// constant returns a SELECT without FROM, or from VALUES.
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

// total returns an ORDER BY over all distinguishable properties of rows, so that a limit gives the
// same rows however the query is executed.
func (g *generator) total(scope []column) string {
	var keys []string
	for _, i := range g.Perm(len(scope)) {
		c := scope[i]
		direction := g.pick("", " DESC")
		switch {
		case c.kind == textKind || c.kind == binaryTextKind:
			e := c.use()
			keys = append(keys, e+binaryCollation+direction, "DATALENGTH("+e+")")
		default:
			keys = append(keys, c.name+direction)
		}
	}
	return strings.Join(keys, ", ")
}

// use returns a column for expressions that depend on its exact value, not only on its collation.
func (c column) use() string {
	if c.fuzzy && (c.kind == textKind || c.kind == binaryTextKind) {
		return "UPPER(RTRIM(" + c.name + "))"
	}
	return c.name
}

// grouped returns a query with GROUP BY and aggregates.
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
		e, fuzzy := g.aggregate(k, scope), k == textKind || k == binaryTextKind
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

// kindsOrdered is the number of kinds that aggregates accept: those before bit.
const kindsOrdered = int(dateKind) + 1

// columnOf returns a column of a kind, if there is one.
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

// argument returns an argument of an aggregate: an expression over the columns of its own query,
// without subqueries.
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

// aggregate returns an aggregate of a kind.
func (g *generator) aggregate(k kind, scope []column) string {
	distinct := g.pick("", "", "DISTINCT ")
	other := kind(g.IntN(kindCount))
	switch k {
	case intKind:
		switch g.IntN(7) {
		case 0:
			return "COUNT(*)"
		case 1:
			return "COUNT(" + distinct + g.argument(other, scope) + ")"
		case 2:
			return "SUM(" + distinct + g.argument(k, scope) + ")"
		case 3:
			return "AVG(" + distinct + g.argument(k, scope) + ")"
		case 4:
			return "LEN(STRING_AGG(CAST(" + g.argument(k, scope) + " AS varchar(20)), '-'))"
		}
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ")"
	case decimalKind, floatKind:
		return "CAST(" + g.pick("SUM", "MIN",
			"MAX") + "(" + distinct + g.argument(k, scope) + ") AS " + castType[k] + ")"
	case bitKind:
		return "CAST(MAX(CAST(" + g.argument(k, scope) + " AS int)) AS bit)"
	case textKind, binaryTextKind:
		return g.pick("MIN", "MAX") + "(" + g.normal(k, g.argument(k, scope)) + ")"
	default:
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ")"
	}
}

// normal returns a text that has no other spelling in its collation.
func (g *generator) normal(k kind, e string) string {
	if k == textKind || k == binaryTextKind {
		return "UPPER(RTRIM(" + e + "))"
	}
	return e
}

// window returns a window function of a kind, and whether its text is fuzzy.
func (g *generator) window(k kind, scope []column) (string, bool) {
	over := "OVER ("
	if g.chance(60) {
		over += "PARTITION BY " + scope[g.IntN(len(scope))].name + " "
	}
	by := "ORDER BY " + scope[g.IntN(len(scope))].name + g.pick("", " DESC")
	switch {
	case k == intKind && g.chance(40):
		return g.pick("ROW_NUMBER()", "NTILE(2)") + " " + over + "ORDER BY " + g.total(scope) + ")", false
	case k == intKind && g.chance(40):
		return g.pick("RANK()", "DENSE_RANK()") + " " + over + by + ")", false
	case g.chance(30):
		frame := g.pick(" ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING",
			" ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
		f := g.pick("FIRST_VALUE", "LAST_VALUE")
		return f + "(" + g.argument(k, scope) + ") " + over + "ORDER BY " + g.total(scope) + frame + ")", false
	case g.chance(30):
		return g.pick("LAG", "LEAD") + "(" + g.argument(k, scope) + g.pick("", ", 2") + ") " + over + "ORDER BY " + g.total(scope) + ")", false
	case k == textKind || k == binaryTextKind:
		return "MAX(" + g.normal(k, g.argument(k, scope)) + ") " + over + ")", true
	case k == bitKind:
		return "CAST(MAX(CAST(" + g.argument(k, scope) + " AS int)) " + over + g.pick("", by) + ") AS bit)", false
	case k == dateKind:
		return g.pick("MIN", "MAX") + "(" + g.argument(k, scope) + ") " + over + g.pick("", by) + ")", false
	}
	return "CAST(" + g.pick("SUM", "MIN",
		"MAX") + "(" + g.argument(k, scope) + ") " + over + g.pick("", by) + ") AS " + castType[k] + ")", false
}
