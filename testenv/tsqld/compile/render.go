package compile

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxInlineText is the maximum length of a text literal in SQL; longer texts become parameters.
const maxInlineText = 200

// renderer writes SQL.
type renderer struct {
	strings.Builder
	params []plan.Param
	nodes  []*tree.Node // the nodes of params
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
func (r *renderer) statement() (plan.Statement, error) {
	return plan.Statement{SQL: r.String(), Params: r.params}, r.err
}

// renderPlan writes the SQL of a plan's query. needs are those of the statement.
func renderPlan(p *plan.Plan, needs plan.Needs, q *tree.Query) (err error) {
	r := &renderer{}
	r.query(q)
	p.Statement, err = r.statement()
	p.Needs = needs
	return err
}

// param writes a parameter. Equal nodes share one.
func (r *renderer) param(n *tree.Node) {
	if r.static {
		r.fail(mserr.NotSupported("variables and session functions in a schema"))
		return
	}
	for i, p := range r.nodes {
		if tree.SameNode(p, n) {
			r.ref(i)
			return
		}
	}
	r.nodes = append(r.nodes, n)
	r.params = append(r.params, plan.Param{Type: n.Type, Node: n})
	r.ref(len(r.nodes) - 1)
}

// ref writes a reference to the i-th parameter.
func (r *renderer) ref(i int) {
	r.WriteByte('?')
	r.WriteString(strconv.Itoa(i + 1))
}

// literal writes a constant.
func (r *renderer) literal(n *tree.Node) {
	switch v := n.Value.(type) {
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
func (r *renderer) hoisted(n *tree.Node) bool {
	if r.static || n.Traits&tree.RowBound != 0 || n.Op == tree.OpConst {
		return false
	}
	return r.lazy == 0 || n.Traits&tree.CanFail == 0
}

// node writes an expression.
func (r *renderer) node(n *tree.Node) {
	switch {
	case n.Op == tree.OpConst:
		r.literal(n)
		return
	case n.Op == tree.OpRun, n.Op == tree.OpVar, r.hoisted(n):
		r.param(n)
		return
	}
	switch n.Op {
	case tree.OpCol:
		r.column(n)
	case tree.OpCall:
		if !r.native(n) {
			r.call("fn", n)
		}
	case tree.OpPerRow, tree.OpLocal:
		r.call("fnv", n)
	case tree.OpEnv:
		if r.static && !r.constraint { // a CHECK runs in the session that changes the row, an index has no session
			r.fail(errNotDeterministic)
		}
		r.call("fnv", n)
	case tree.OpConcat:
		r.operator(" || ", n.Args...)
	case tree.OpReal:
		r.WriteString("CAST(")
		r.node(n.Args[0])
		r.WriteString(" AS REAL)")
	case tree.OpCompare, tree.OpDistinct:
		r.compare(n)
	case tree.OpAnd:
		r.logic(" AND ", n.Args)
	case tree.OpOr:
		r.logic(" OR ", n.Args)
	case tree.OpNot:
		if n.Args[0].Op == tree.OpIsNull { // SQLite matches this form with the conditions of partial indexes
			r.WriteByte('(')
			r.node(n.Args[0].Args[0])
			r.WriteString(" IS NOT NULL)")
			return
		}
		r.WriteString("(NOT ")
		r.node(n.Args[0])
		r.WriteByte(')')
	case tree.OpIsNull:
		r.WriteByte('(')
		r.node(n.Args[0])
		r.WriteString(" IS NULL)")
	case tree.OpIn:
		if r.constraint && n.Args[0].Op == tree.OpCol {
			r.equals(n.Args[0], n.Args[1:])
			return
		}
		r.WriteByte('(')
		r.collated(n.Args[0])
		r.WriteString(" IN (")
		r.list(n.Args[1:])
		r.WriteString("))")
	case tree.OpCase:
		r.caseOf(n)
	case tree.OpCoalesce:
		r.coalesce(n)
	case tree.OpAgg, tree.OpWindow:
		r.aggregate(n)
	case tree.OpSQL:
		r.WriteByte('(')
		for _, a := range n.Args {
			r.node(a)
		}
		r.WriteString(n.Name)
		r.WriteByte(')')
	case tree.OpGrouping:
		r.WriteByte('0')
	case tree.OpScalar, tree.OpExists, tree.OpInQuery, tree.OpAll, tree.OpAny:
		r.subquery(n)
	case tree.OpField:
		r.WriteString(tree.ColumnName(n.Column))
	case tree.OpNoIndex:
		r.WriteByte('+')
		r.node(n.Args[0])
	default:
		r.fail(mserr.NotSupported("this expression"))
	}
}

// errNotDeterministic refuses functions of the session in an index.
var errNotDeterministic error = mserr.NotSupported("functions of the session in an index")

// column writes a column reference.
func (r *renderer) column(n *tree.Node) {
	if n.Source.Alias != "" {
		r.WriteString(n.Source.Alias)
		r.WriteByte('.')
	}
	if n.Column == tree.PackedColumn {
		r.WriteString(tree.ColumnName(0))
		return
	}
	r.WriteString(n.Source.Columns[n.Column].SQL)
}

// list writes expressions, separated by commas.
func (r *renderer) list(nodes []*tree.Node) {
	for i, n := range nodes {
		if i > 0 {
			r.WriteString(", ")
		}
		r.node(n)
	}
}

// call writes a call of fn or fnv.
func (r *renderer) call(fn string, n *tree.Node) {
	r.WriteString(fn)
	r.WriteByte('(')
	r.WriteString(store.Literal(n.Key))
	for _, a := range n.Args {
		r.WriteString(", ")
		r.node(a)
	}
	r.WriteByte(')')
}

// operator writes operands with an operator between them.
func (r *renderer) operator(op string, args ...*tree.Node) {
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
func (r *renderer) logic(op string, args []*tree.Node) {
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
func (r *renderer) collated(n *tree.Node) {
	if n.Type.ID == types.DateTimeOffset { // the instant is in front, the offset behind
		r.WriteString("substr(")
		r.node(n)
		r.WriteString(", 1, 8)")
		return
	}
	if n.Type.ID == types.Variant { // SQLite has no collations of blobs; the text of NULL is empty
		r.WriteString("nullif(hex(")
		r.node(n)
		r.WriteString("), '') COLLATE " + types.CollationVariant)
		return
	}
	r.node(n)
	if c := n.Type.CollationName(); c != "" {
		r.WriteString(" COLLATE ")
		r.WriteString(c)
	}
}

// compare writes a comparison.
func (r *renderer) compare(n *tree.Node) {
	x, y := n.Args[0], n.Args[1]
	r.WriteByte('(')
	r.collated(x)
	r.WriteByte(' ')
	r.WriteString(n.Name)
	r.WriteByte(' ')
	if y.Type.ID == types.DateTimeOffset {
		r.collated(y)
	} else {
		r.node(y)
	}
	r.WriteByte(')')
}

// equals writes "x = list[0] OR x = list[1] ...".
func (r *renderer) equals(x *tree.Node, list []*tree.Node) {
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
func (r *renderer) caseOf(n *tree.Node) {
	r.WriteString("CASE")
	for i := 0; i+1 < len(n.Args); i += 2 {
		r.WriteString(" WHEN ")
		r.node(n.Args[i])
		r.WriteString(" THEN ")
		r.lazy++
		r.node(n.Args[i+1])
	}
	if last := n.Args[len(n.Args)-1]; !last.IsNullConst() {
		r.WriteString(" ELSE ")
		r.lazy++
		r.node(last)
		r.lazy--
	}
	r.lazy -= (len(n.Args) - 1) / 2
	r.WriteString(" END")
}

// coalesce writes COALESCE. SQLite's coalesce requires two arguments.
func (r *renderer) coalesce(n *tree.Node) {
	if len(n.Args) == 1 {
		r.node(n.Args[0])
		return
	}
	r.WriteString("coalesce(")
	for i, a := range n.Args {
		if i > 0 {
			r.WriteString(", ")
			r.lazy++
		}
		r.node(a)
	}
	r.lazy -= len(n.Args) - 1
	r.WriteByte(')')
}

// aggregate writes an aggregate or window function.
func (r *renderer) aggregate(n *tree.Node) {
	a := n.Aggregate
	if a.Outer { // SQLite allows aggregates of outer queries in a select list only
		r.WriteString("(SELECT ")
		defer r.WriteByte(')')
	}
	if a.Wrap != "" {
		r.WriteString("fn(" + store.Literal(a.Wrap) + ", ")
		defer r.WriteByte(')')
	}
	sep := ""
	if a.Native != "" {
		r.WriteString(a.Native)
		r.WriteByte('(')
	} else {
		key := a.Key
		if a.Window != nil {
			key = keys.Window + key
		}
		r.WriteString("agg(" + store.Literal(key))
		sep = ", "
	}
	if a.Distinct {
		r.WriteString("DISTINCT ")
	}
	if a.Star {
		r.WriteByte('*')
	}
	for _, x := range a.Args {
		r.WriteString(sep)
		sep = ", "
		if a.Native == "count" && a.Distinct || a.Native == "min" || a.Native == "max" {
			r.collated(x)
		} else {
			r.node(x)
		}
	}
	if len(a.Order) > 0 {
		r.WriteString(" ORDER BY ")
		r.order(a.Order)
	}
	r.WriteByte(')')
	if w := a.Window; w != nil {
		r.window(w)
	}
}

// window writes OVER.
func (r *renderer) window(w *tree.Window) {
	r.WriteString(" OVER (")
	if len(w.Partition) > 0 {
		r.WriteString("PARTITION BY ")
		for i, p := range w.Partition {
			if i > 0 {
				r.WriteString(", ")
			}
			r.collated(p)
		}
	}
	if len(w.Order) > 0 {
		r.WriteString(" ORDER BY ")
		r.order(w.Order)
	}
	if w.Frame != "" {
		r.WriteByte(' ')
		r.WriteString(w.Frame)
	}
	r.WriteByte(')')
}

// order writes the items of ORDER BY as expressions.
func (r *renderer) order(terms []tree.OrderTerm) {
	for i, o := range terms {
		if i > 0 {
			r.WriteString(", ")
		}
		if o.Node.Traits&tree.RowBound == 0 { // SQLite would read an integer as a position
			r.WriteString("+")
		}
		r.collated(o.Node)
		if o.Desc {
			r.WriteString(" DESC")
		}
	}
}

// subquery writes the conditions and values that contain a query.
func (r *renderer) subquery(n *tree.Node) {
	saved := r.lazy
	defer func() { r.lazy = saved }()
	switch n.Op {
	case tree.OpScalar:
		if n.SingleRow {
			r.WriteByte('(')
			r.query(n.Query)
			r.WriteByte(')')
			return
		}
		r.WriteString("(SELECT agg('" + keys.Single + "', c1) FROM (")
		r.derived(n.Query)
		r.WriteString("))")
	case tree.OpExists:
		r.WriteString("EXISTS (")
		r.query(n.Query)
		r.WriteByte(')')
	case tree.OpInQuery:
		r.WriteByte('(')
		r.collated(n.Args[0])
		r.WriteString(" IN (")
		if key := sortKey(n.Args[0].Type, "c1"); key != "c1" {
			r.WriteString("SELECT " + key + " FROM (")
			r.derived(n.Query)
			r.WriteByte(')')
		} else {
			r.query(n.Query)
		}
		r.WriteString("))")
	case tree.OpAll, tree.OpAny:
		r.quantified(n)
	}
}

// quantified writes ANY and ALL. The result is decided by one row for which the comparison is true
// (ANY) or false (ALL). Otherwise it is unknown if the comparison is unknown for a row.
func (r *renderer) quantified(n *tree.Node) {
	decisive, otherwise, is := "1", "0", "IS TRUE"
	if n.Op == tree.OpAll {
		decisive, otherwise, is = "0", "1", "IS FALSE"
	}
	comparison := func() {
		r.WriteByte('(')
		r.collated(n.Args[0])
		r.WriteString(" " + n.Name + " ")
		r.WriteString(sortKey(n.Args[0].Type, "c1") + ")")
	}
	r.WriteString("(CASE WHEN EXISTS (SELECT 1 FROM (")
	r.derived(n.Query)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" " + is + ") THEN " + decisive + " WHEN EXISTS (SELECT 1 FROM (")
	r.derived(n.Query)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" IS NULL) THEN NULL ELSE " + otherwise + " END)")
}
