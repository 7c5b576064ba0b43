package compile

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// columnName returns the name of the i-th column of a derived table.
func columnName(i int) string { return "c" + strconv.Itoa(i+1) }

// packedColumn is the column index of the only column of a packed rowset.
const packedColumn = -1

// maxInlineText is the maximum length of a text literal in SQL; longer texts become parameters.
const maxInlineText = 200

// renderer writes SQL.
type renderer struct {
	strings.Builder
	params []Param
	nodes  []*node // the nodes of params
	// static refuses parameters, because the SQL is stored in a schema.
	static bool
	// constraint is set for the SQL of a CHECK constraint, in which SQLite builds the list of an IN
	// anew for each row.
	constraint bool
	// keepUnions keeps SQLite from flattening a UNION ALL, by a LIMIT: flattened beside a RIGHT or
	// FULL JOIN, a UNION ALL loses rows.
	keepUnions bool
	// lazy counts the enclosing expressions whose operands may not be evaluated.
	lazy int
	err  error
}

// fail records the first error.
func (r *renderer) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// statement returns the rendered statement and the first error.
func (r *renderer) statement() (Statement, error) {
	return Statement{SQL: r.String(), Params: r.params}, r.err
}

// renderPlan writes the SQL of a plan's query. needs are those of the statement.
func renderPlan(p *Plan, needs Needs, q *query) (err error) {
	r := &renderer{}
	r.query(q)
	p.Statement, err = r.statement()
	p.Needs = needs
	return err
}

// param writes a parameter. Equal nodes share one.
func (r *renderer) param(n *node) {
	if r.static {
		r.fail(mserr.NotSupported("variables and session functions in a schema"))
		return
	}
	for i, p := range r.nodes {
		if sameNode(p, n) {
			r.ref(i)
			return
		}
	}
	r.nodes = append(r.nodes, n)
	r.params = append(r.params, Param{Type: n.typ, node: n})
	r.ref(len(r.nodes) - 1)
}

// ref writes a reference to the i-th parameter.
func (r *renderer) ref(i int) {
	r.WriteByte('?')
	r.WriteString(strconv.Itoa(i + 1))
}

// literal writes a constant.
func (r *renderer) literal(n *node) {
	switch v := n.val.(type) {
	case nil:
		r.WriteString("NULL")
	case int64:
		r.WriteString(strconv.FormatInt(v, 10))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			r.param(n)
			return
		}
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		r.WriteString(s)
	case string:
		if (len(v) > maxInlineText || strings.ContainsRune(v, 0)) && !r.static {
			r.param(n)
			return
		}
		r.WriteString(store.Literal(v))
	case []byte:
		r.WriteString("x'")
		r.WriteString(hex.EncodeToString(v))
		r.WriteByte('\'')
	}
}

// hoisted reports whether a node is computed before the statement and becomes a parameter. A node
// that may fail is not hoisted from a place that may not be evaluated.
func (r *renderer) hoisted(n *node) bool {
	if r.static || n.traits&rowBound != 0 || n.op == opConst {
		return false
	}
	return r.lazy == 0 || n.traits&canFail == 0
}

// node writes an expression.
func (r *renderer) node(n *node) {
	switch {
	case n.op == opConst:
		r.literal(n)
		return
	case n.op == opRun, n.op == opVar, r.hoisted(n):
		r.param(n)
		return
	}
	switch n.op {
	case opCol:
		r.column(n)
	case opCall:
		if !r.native(n) {
			r.call("fn", n)
		}
	case opPerRow, opLocal:
		r.call("fnv", n)
	case opEnv:
		if r.static && !r.constraint { // a CHECK runs in the session that changes the row, an index has no session
			r.fail(errNotDeterministic)
		}
		r.call("fnv", n)
	case opConcat:
		r.operator(" || ", n.args...)
	case opReal:
		r.WriteString("CAST(")
		r.node(n.args[0])
		r.WriteString(" AS REAL)")
	case opCompare, opDistinct:
		r.compare(n)
	case opAnd:
		r.logic(" AND ", n.args)
	case opOr:
		r.logic(" OR ", n.args)
	case opNot:
		if n.args[0].op == opIsNull { // SQLite matches this form with the conditions of partial indexes
			r.WriteByte('(')
			r.node(n.args[0].args[0])
			r.WriteString(" IS NOT NULL)")
			return
		}
		r.WriteString("(NOT ")
		r.node(n.args[0])
		r.WriteByte(')')
	case opIsNull:
		r.WriteByte('(')
		r.node(n.args[0])
		r.WriteString(" IS NULL)")
	case opIn:
		if r.constraint && n.args[0].op == opCol {
			r.equals(n.args[0], n.args[1:])
			return
		}
		r.WriteByte('(')
		r.collated(n.args[0])
		r.WriteString(" IN (")
		r.list(n.args[1:])
		r.WriteString("))")
	case opCase:
		r.caseOf(n)
	case opCoalesce:
		r.coalesce(n)
	case opAgg, opWindow:
		r.aggregate(n)
	case opSQL:
		r.WriteByte('(')
		for _, a := range n.args {
			r.node(a)
		}
		r.WriteString(n.name)
		r.WriteByte(')')
	case opGrouping:
		r.WriteByte('0')
	case opScalar, opExists, opInQuery, opAll, opAny:
		r.subquery(n)
	case opField:
		r.WriteString(columnName(n.col))
	case opNoIndex:
		r.WriteByte('+')
		r.node(n.args[0])
	default:
		r.fail(mserr.NotSupported("this expression"))
	}
}

// errNotDeterministic refuses functions of the session in an index.
var errNotDeterministic error = mserr.NotSupported("functions of the session in an index")

// column writes a column reference.
func (r *renderer) column(n *node) {
	if n.src.alias != "" {
		r.WriteString(n.src.alias)
		r.WriteByte('.')
	}
	if n.col == packedColumn {
		r.WriteString(columnName(0))
		return
	}
	r.WriteString(n.src.cols[n.col].sql)
}

// list writes expressions, separated by commas.
func (r *renderer) list(nodes []*node) {
	for i, n := range nodes {
		if i > 0 {
			r.WriteString(", ")
		}
		r.node(n)
	}
}

// call writes a call of fn or fnv.
func (r *renderer) call(fn string, n *node) {
	r.WriteString(fn)
	r.WriteByte('(')
	r.WriteString(store.Literal(n.key))
	for _, a := range n.args {
		r.WriteString(", ")
		r.node(a)
	}
	r.WriteByte(')')
}

// operator writes operands with an operator between them.
func (r *renderer) operator(op string, args ...*node) {
	r.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			r.WriteString(op)
		}
		r.node(a)
	}
	r.WriteByte(')')
}

// logic writes AND and OR. The operands after the first may not be evaluated.
func (r *renderer) logic(op string, args []*node) {
	r.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			r.WriteString(op)
			r.lazy++
		}
		r.node(a)
		if i > 0 {
			r.lazy--
		}
	}
	r.WriteByte(')')
}

// sortKey returns the SQL that SQLite compares in place of the column name. The other side of the
// comparison is written by collated, which sets the collation.
func sortKey(t types.Type, name string) string {
	switch t.ID {
	case types.DateTimeOffset: // the instant is in front, the offset behind
		return "substr(" + name + ", 1, 8)"
	case types.Variant: // SQLite has no collations of blobs; the text of NULL is empty
		return "nullif(hex(" + name + "), '')"
	}
	return name
}

// collated writes an expression in the form that SQLite compares, with its collation.
func (r *renderer) collated(n *node) {
	if n.typ.ID == types.DateTimeOffset { // the instant is in front, the offset behind
		r.WriteString("substr(")
		r.node(n)
		r.WriteString(", 1, 8)")
		return
	}
	if n.typ.ID == types.Variant { // SQLite has no collations of blobs; the text of NULL is empty
		r.WriteString("nullif(hex(")
		r.node(n)
		r.WriteString("), '') COLLATE " + types.CollationVariant)
		return
	}
	r.node(n)
	if c := n.typ.CollationName(); c != "" {
		r.WriteString(" COLLATE ")
		r.WriteString(c)
	}
}

// compare writes a comparison.
func (r *renderer) compare(n *node) {
	x, y := n.args[0], n.args[1]
	r.WriteByte('(')
	r.collated(x)
	r.WriteByte(' ')
	r.WriteString(n.name)
	r.WriteByte(' ')
	if y.typ.ID == types.DateTimeOffset {
		r.collated(y)
	} else {
		r.node(y)
	}
	r.WriteByte(')')
}

// equals writes "x = list[0] OR x = list[1] ...".
func (r *renderer) equals(x *node, list []*node) {
	for i, y := range list {
		if i == 0 {
			r.WriteByte('(')
		} else {
			r.WriteString(" OR ")
		}
		r.collated(x)
		r.WriteString(" = ")
		r.node(y)
	}
	r.WriteByte(')')
}

// caseOf writes CASE.
func (r *renderer) caseOf(n *node) {
	r.WriteString("CASE")
	for i := 0; i+1 < len(n.args); i += 2 {
		r.WriteString(" WHEN ")
		r.node(n.args[i])
		r.WriteString(" THEN ")
		r.lazy++
		r.node(n.args[i+1])
	}
	if last := n.args[len(n.args)-1]; !last.isNullConst() {
		r.WriteString(" ELSE ")
		r.lazy++
		r.node(last)
		r.lazy--
	}
	r.lazy -= (len(n.args) - 1) / 2
	r.WriteString(" END")
}

// coalesce writes COALESCE. SQLite's coalesce requires two arguments.
func (r *renderer) coalesce(n *node) {
	if len(n.args) == 1 {
		r.node(n.args[0])
		return
	}
	r.WriteString("coalesce(")
	for i, a := range n.args {
		if i > 0 {
			r.WriteString(", ")
			r.lazy++
		}
		r.node(a)
	}
	r.lazy -= len(n.args) - 1
	r.WriteByte(')')
}

// aggregate writes an aggregate or window function.
func (r *renderer) aggregate(n *node) {
	a := n.agg
	if a.outer { // SQLite allows aggregates of outer queries in a select list only
		r.WriteString("(SELECT ")
		defer r.WriteByte(')')
	}
	if a.wrap != "" {
		r.WriteString("fn(" + store.Literal(a.wrap) + ", ")
		defer r.WriteByte(')')
	}
	sep := ""
	if a.native != "" {
		r.WriteString(a.native)
		r.WriteByte('(')
	} else {
		key := a.key
		if a.window != nil {
			key = keys.Window + key
		}
		r.WriteString("agg(" + store.Literal(key))
		sep = ", "
	}
	if a.distinct {
		r.WriteString("DISTINCT ")
	}
	if a.star {
		r.WriteByte('*')
	}
	for _, x := range a.args {
		r.WriteString(sep)
		sep = ", "
		if a.native == "count" && a.distinct || a.native == "min" || a.native == "max" {
			r.collated(x)
		} else {
			r.node(x)
		}
	}
	if len(a.order) > 0 {
		r.WriteString(" ORDER BY ")
		r.order(a.order)
	}
	r.WriteByte(')')
	if w := a.window; w != nil {
		r.window(w)
	}
}

// window writes OVER.
func (r *renderer) window(w *window) {
	r.WriteString(" OVER (")
	if len(w.partition) > 0 {
		r.WriteString("PARTITION BY ")
		for i, p := range w.partition {
			if i > 0 {
				r.WriteString(", ")
			}
			r.collated(p)
		}
	}
	if len(w.order) > 0 {
		r.WriteString(" ORDER BY ")
		r.order(w.order)
	}
	if w.frame != "" {
		r.WriteByte(' ')
		r.WriteString(w.frame)
	}
	r.WriteByte(')')
}

// order writes the items of ORDER BY as expressions.
func (r *renderer) order(terms []orderTerm) {
	for i, o := range terms {
		if i > 0 {
			r.WriteString(", ")
		}
		if o.n.traits&rowBound == 0 { // SQLite would read an integer as a position
			r.WriteString("+")
		}
		r.collated(o.n)
		if o.desc {
			r.WriteString(" DESC")
		}
	}
}

// subquery writes the conditions and values that contain a query.
func (r *renderer) subquery(n *node) {
	saved := r.lazy
	defer func() { r.lazy = saved }()
	switch n.op {
	case opScalar:
		if n.singleRow {
			r.WriteByte('(')
			r.query(n.sub)
			r.WriteByte(')')
			return
		}
		r.WriteString("(SELECT agg('" + keys.Single + "', c1) FROM (")
		r.derived(n.sub)
		r.WriteString("))")
	case opExists:
		r.WriteString("EXISTS (")
		r.query(n.sub)
		r.WriteByte(')')
	case opInQuery:
		r.WriteByte('(')
		r.collated(n.args[0])
		r.WriteString(" IN (")
		if key := sortKey(n.args[0].typ, "c1"); key != "c1" {
			r.WriteString("SELECT " + key + " FROM (")
			r.derived(n.sub)
			r.WriteByte(')')
		} else {
			r.query(n.sub)
		}
		r.WriteString("))")
	case opAll, opAny:
		r.quantified(n)
	}
}

// quantified writes ANY and ALL. The result is decided by one row for which the comparison is true
// (ANY) or false (ALL). Otherwise it is unknown if the comparison is unknown for a row.
func (r *renderer) quantified(n *node) {
	decisive, otherwise, is := "1", "0", "IS TRUE"
	if n.op == opAll {
		decisive, otherwise, is = "0", "1", "IS FALSE"
	}
	comparison := func() {
		r.WriteByte('(')
		r.collated(n.args[0])
		r.WriteString(" " + n.name + " ")
		r.WriteString(sortKey(n.args[0].typ, "c1") + ")")
	}
	r.WriteString("(CASE WHEN EXISTS (SELECT 1 FROM (")
	r.derived(n.sub)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" " + is + ") THEN " + decisive + " WHEN EXISTS (SELECT 1 FROM (")
	r.derived(n.sub)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" IS NULL) THEN NULL ELSE " + otherwise + " END)")
}
