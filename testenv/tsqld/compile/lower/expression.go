package lower

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

// Raise returns SQL that fails with an error.
func Raise(e *mserr.Error) string {
	return "fn(" +
		store.Literal(keys.Make(keys.Raise, strconv.Itoa(int(e.Number)), strconv.Itoa(int(e.Class)), keys.Text(e.Message))) + ")"
}

// maxInlineText is the maximum length of a text literal in SQL; longer texts become parameters.
const maxInlineText = 200

// Renderer writes SQL.
type Renderer struct {
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
func (r *Renderer) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Statement returns the rendered statement and the first error.
func (r *Renderer) Statement() (plan.Statement, error) {
	return plan.Statement{SQL: r.String(), Params: r.params}, r.err
}

// Plan writes the SQL of a plan's query. needs are those of the statement.
func Plan(p *plan.Plan, needs plan.Needs, q *tree.Query) (err error) {
	r := &Renderer{}
	r.Query(q)
	p.Statement, err = r.Statement()
	p.Needs = needs
	return err
}

// Schema returns the SQL of an expression that is stored in a schema: a generated column, or the
// condition of an index. Errors: those of an expression that such SQL cannot contain.
func Schema(n *tree.Node) (string, error) {
	r := &Renderer{static: true}
	r.Node(n)
	return r.String(), r.err
}

// Check returns the SQL of the condition of a CHECK constraint. Errors: those of an expression that
// a constraint cannot contain.
func Check(n *tree.Node) (string, error) {
	r := &Renderer{static: true, constraint: true}
	r.Node(n)
	return r.String(), r.err
}

// Lazily writes expressions that may not be evaluated, separated by commas.
func (r *Renderer) Lazily(nodes ...*tree.Node) {
	r.lazy++
	r.List(nodes)
	r.lazy--
}

// param writes a parameter. Equal nodes share one.
func (r *Renderer) param(n *tree.Node) {
	if r.static {
		r.fail(mserr.NotSupported("a variable or a function of the session in a schema"))
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
func (r *Renderer) ref(i int) {
	r.WriteByte('?')
	r.WriteString(strconv.Itoa(i + 1))
}

// literal writes a constant.
func (r *Renderer) literal(n *tree.Node) {
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
func (r *Renderer) hoisted(n *tree.Node) bool {
	if r.static || n.Traits&tree.RowBound != 0 || n.Op == tree.OpConst {
		return false
	}
	return r.lazy == 0 || n.Traits&tree.CanFail == 0
}

// Node writes an expression.
func (r *Renderer) Node(n *tree.Node) {
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
		r.Node(n.Args[0])
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
			r.Node(n.Args[0].Args[0])
			r.WriteString(" IS NOT NULL)")
			return
		}
		r.WriteString("(NOT ")
		r.Node(n.Args[0])
		r.WriteByte(')')
	case tree.OpIsNull:
		r.WriteByte('(')
		r.Node(n.Args[0])
		r.WriteString(" IS NULL)")
	case tree.OpIn:
		if r.constraint && n.Args[0].Op == tree.OpCol {
			r.equals(n.Args[0], n.Args[1:])
			return
		}
		r.WriteByte('(')
		r.collated(n.Args[0])
		r.WriteString(" IN (")
		r.List(n.Args[1:])
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
			r.Node(a)
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
		r.Node(n.Args[0])
	default:
		r.fail(mserr.NotSupported("this expression"))
	}
}

// errNotDeterministic refuses a function of the session in an index.
var errNotDeterministic error = mserr.NotSupported("a function of the session in an index")

// column writes a column reference.
func (r *Renderer) column(n *tree.Node) {
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

// List writes expressions, separated by commas.
func (r *Renderer) List(nodes []*tree.Node) {
	for i, n := range nodes {
		if i > 0 {
			r.WriteString(", ")
		}
		r.Node(n)
	}
}

// Tuple writes a row of VALUES.
func (r *Renderer) Tuple(row []*tree.Node) {
	r.WriteByte('(')
	r.List(row)
	if len(row) == 0 {
		r.WriteString("NULL")
	}
	r.WriteByte(')')
}

// call writes a call of fn or fnv.
func (r *Renderer) call(fn string, n *tree.Node) {
	r.WriteString(fn)
	r.WriteByte('(')
	r.WriteString(store.Literal(n.Key))
	for _, a := range n.Args {
		r.WriteString(", ")
		r.Node(a)
	}
	r.WriteByte(')')
}

// operator writes operands with an operator between them.
func (r *Renderer) operator(op string, args ...*tree.Node) {
	r.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			r.WriteString(op)
		}
		r.Node(a)
	}
	r.WriteByte(')')
}

// logic writes AND and OR. The operands after the first may not be evaluated.
func (r *Renderer) logic(op string, args []*tree.Node) {
	r.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			r.WriteString(op)
			r.lazy++
		}
		r.Node(a)
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
func (r *Renderer) collated(n *tree.Node) {
	if n.Type.ID == types.DateTimeOffset { // the instant is in front, the offset behind
		r.WriteString("substr(")
		r.Node(n)
		r.WriteString(", 1, 8)")
		return
	}
	if n.Type.ID == types.Variant { // SQLite has no collations of blobs; the text of NULL is empty
		r.WriteString("nullif(hex(")
		r.Node(n)
		r.WriteString("), '') COLLATE " + types.CollationVariant)
		return
	}
	r.Node(n)
	if c := n.Type.CollationName(); c != "" {
		r.WriteString(" COLLATE ")
		r.WriteString(c)
	}
}

// compare writes a comparison.
func (r *Renderer) compare(n *tree.Node) {
	x, y := n.Args[0], n.Args[1]
	r.WriteByte('(')
	r.collated(x)
	r.WriteByte(' ')
	r.WriteString(n.Name)
	r.WriteByte(' ')
	if y.Type.ID == types.DateTimeOffset {
		r.collated(y)
	} else {
		r.Node(y)
	}
	r.WriteByte(')')
}

// equals writes "x = list[0] OR x = list[1] ...".
func (r *Renderer) equals(x *tree.Node, list []*tree.Node) {
	for i, y := range list {
		if i == 0 {
			r.WriteByte('(')
		} else {
			r.WriteString(" OR ")
		}
		r.collated(x)
		r.WriteString(" = ")
		r.Node(y)
	}
	r.WriteByte(')')
}

// caseOf writes CASE.
func (r *Renderer) caseOf(n *tree.Node) {
	r.WriteString("CASE")
	for i := 0; i+1 < len(n.Args); i += 2 {
		r.WriteString(" WHEN ")
		r.Node(n.Args[i])
		r.WriteString(" THEN ")
		r.lazy++
		r.Node(n.Args[i+1])
	}
	if last := n.Args[len(n.Args)-1]; !last.IsNullConst() {
		r.WriteString(" ELSE ")
		r.lazy++
		r.Node(last)
		r.lazy--
	}
	r.lazy -= (len(n.Args) - 1) / 2
	r.WriteString(" END")
}

// coalesce writes COALESCE. SQLite's coalesce requires two arguments.
func (r *Renderer) coalesce(n *tree.Node) {
	if len(n.Args) == 1 {
		r.Node(n.Args[0])
		return
	}
	r.WriteString("coalesce(")
	for i, a := range n.Args {
		if i > 0 {
			r.WriteString(", ")
			r.lazy++
		}
		r.Node(a)
	}
	r.lazy -= len(n.Args) - 1
	r.WriteByte(')')
}

// aggregate writes an aggregate or window function.
func (r *Renderer) aggregate(n *tree.Node) {
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
			r.Node(x)
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
func (r *Renderer) window(w *tree.Window) {
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
func (r *Renderer) order(terms []tree.OrderTerm) {
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
func (r *Renderer) subquery(n *tree.Node) {
	saved := r.lazy
	defer func() { r.lazy = saved }()
	switch n.Op {
	case tree.OpScalar:
		if n.SingleRow {
			r.WriteByte('(')
			r.Query(n.Query)
			r.WriteByte(')')
			return
		}
		r.WriteString("(SELECT agg('" + keys.Single + "', c1) FROM (")
		r.Query(n.Query)
		r.WriteString("))")
	case tree.OpExists:
		r.WriteString("EXISTS (")
		r.Query(n.Query)
		r.WriteByte(')')
	case tree.OpInQuery:
		r.WriteByte('(')
		r.collated(n.Args[0])
		r.WriteString(" IN (")
		if key := sortKey(n.Args[0].Type, "c1"); key != "c1" {
			r.WriteString("SELECT " + key + " FROM (")
			r.Query(n.Query)
			r.WriteByte(')')
		} else {
			r.Query(n.Query)
		}
		r.WriteString("))")
	case tree.OpAll, tree.OpAny:
		r.quantified(n)
	}
}

// quantified writes ANY and ALL. The result is decided by one row for which the comparison is true
// (ANY) or false (ALL). Otherwise it is unknown if the comparison is unknown for a row.
func (r *Renderer) quantified(n *tree.Node) {
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
	r.Query(n.Query)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" " + is + ") THEN " + decisive + " WHEN EXISTS (SELECT 1 FROM (")
	r.Query(n.Query)
	r.WriteString(") WHERE ")
	comparison()
	r.WriteString(" IS NULL) THEN NULL ELSE " + otherwise + " END)")
}
