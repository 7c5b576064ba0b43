package compile

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// query is a bound query. Exactly one of core, set, recursive and inner is set.
type query struct {
	core      *core
	set       *setQuery
	recursive *recursion
	inner     *query // for a document: the query whose rows are aggregated

	cols []outColumn

	order   []orderTerm
	limit   *node // number of rows, or a float with percent
	offset  *node
	percent bool
	ties    bool

	document    documentKind
	documentKey string // key of the aggregate that builds the document
	isWrapped   bool   // FOR JSON returns an array or object for any rows
}

// documentKind is the kind of document that a query's rows are aggregated to.
type documentKind uint8

// Documents.
const (
	documentNone documentKind = iota
	documentJSON
	documentXML
	documentRows // rows encoded by EncodeRows
)

// outColumn is a result column.
type outColumn struct {
	name  string
	typ   types.Type
	null  bool
	label label
	auto  *sourceColumn // the table column selected, for SELECT INTO; otherwise nil
	// origin is auto, or the table column behind the column of a derived table.
	origin *sourceColumn
	expr   bool // an expression, which clients cannot update
	hidden bool // added for browse mode
}

// core is SELECT ... HAVING.
type core struct {
	distinct bool
	items    []*node
	from     fromNode // nil without FROM
	where    *node
	group    []*node
	sets     [][]int // grouping sets, as indexes into group; nil for a plain GROUP BY
	grouped  bool    // the query has GROUP BY or an aggregate
	having   *node
}

// aggregates reports whether the select list contains an aggregate.
func (c *core) aggregates() bool {
	for _, n := range c.items {
		if n.traits&hasAgg != 0 {
			return true
		}
	}
	return false
}

// isBareGroup reports whether all rows form one group but the select list has no aggregate, as with
// GROUP BY () or HAVING alone. SQLite groups only if the select list has an aggregate.
func (c *core) isBareGroup() bool {
	return len(c.group) == 0 && (c.grouped || c.having != nil) && !c.aggregates()
}

// fromNode is a *source or a *join.
type fromNode interface{ isFrom() }

func (*source) isFrom() {}

func (*join) isFrom() {}

// join joins two items of FROM.
type join struct {
	kind        string // SQLite's keywords
	left, right fromNode
	on          *node // nil for a join without a condition
}

// setQuery is a set operation over queries with the same types.
type setQuery struct {
	op   string
	x, y *query
}

// recursion is a recursive common table expression.
type recursion struct {
	src    *source // the rows of the expression, as its recursive members see them
	anchor *query
	steps  []*query
	limit  int // MAXRECURSION, 0 for none
}

// isSingleRow reports whether a query certainly returns at most one row.
func (q *query) isSingleRow() bool {
	if q.document != documentNone {
		return true
	}
	if q.limit != nil && !q.percent && !q.ties && q.limit.isConst() {
		if n, ok := q.limit.val.(int64); ok && n <= 1 {
			return true
		}
	}
	c := q.core
	return c != nil && (c.from == nil || c.grouped && len(c.group) == 0 && c.sets == nil)
}

// isPlain reports whether a query is a SELECT that does not limit, sort or group rows.
func (q *query) isPlain() bool {
	c := q.core
	if c == nil || c.distinct || c.grouped || c.having != nil || q.limit != nil || q.offset != nil ||
		len(q.order) > 0 ||
		q.document != documentNone {
		return false
	}
	for _, n := range c.items {
		if n.traits&(hasWindow|hasAgg|hasPerRow|hasLocal) != 0 {
			return false
		}
	}
	return true
}

// source returns a derived table over the query.
func (q *query) source(alias, name string) *source {
	src := &source{alias: alias, name: name, query: q}
	for i, c := range q.cols {
		src.cols = append(
			src.cols,
			sourceColumn{
				name:   c.name,
				typ:    c.typ,
				null:   c.null,
				label:  c.label,
				sql:    columnName(i),
				origin: c.origin,
				expr:   c.expr,
			},
		)
	}
	return src
}

// rows returns the query as a table of FROM: a derived table, a common table expression, a view or
// an inline function. A reference to a column of it has the label Implicit, even if the column was
// made by COLLATE ("Collation Precedence"), and a column must have a collation (error 451).
func (q *query) rows(alias, name string) (*source, error) {
	if err := checkColumnCollations(q); err != nil {
		return nil, err
	}
	src := q.source(alias, name)
	for i := range src.cols {
		if c := &src.cols[i]; c.typ.IsCharacter() {
			c.label = labelImplicit
		}
	}
	return src, nil
}

// selectAll returns SELECT * over a source, including hidden columns.
func selectAll(src *source) *query {
	q := &query{core: &core{from: src}}
	for i, c := range src.cols {
		q.core.items = append(q.core.items, columnNode(src, i))
		q.cols = append(q.cols, outColumn{name: c.name, typ: c.typ, null: c.null, label: c.label})
	}
	return q
}

// converted returns the query with its columns converted implicitly to other types.
func (q *query) converted(ts []types.Type) (*query, error) {
	same := true
	for i, c := range q.cols {
		same = same && c.typ == ts[i]
	}
	if same {
		return q, nil
	}
	r := *q
	if q.core == nil || q.core.distinct || q.inner != nil || q.limit != nil && len(q.order) > 0 {
		r = *selectAll(q.source("q", ""))
	}
	c := *r.core
	c.items = append([]*node(nil), c.items...)
	r.cols = append([]outColumn(nil), r.cols...)
	for i := range r.cols {
		n, err := convertOperand(c.items[i], ts[i])
		if err != nil {
			return nil, err
		}
		c.items[i] = n
		r.cols[i].typ, r.cols[i].null = ts[i], n.null
	}
	r.core = &c
	return &r, nil
}

// keys.columnTypes returns the result columns as sent to clients.
func (q *query) columnTypes() []types.Column {
	out := make([]types.Column, len(q.cols))
	for i, c := range q.cols {
		t := c.typ
		if t.ID == types.Null {
			t = types.IntType
		}
		out[i] = types.Column{Name: c.name, Type: t, Nullable: c.null || c.typ.ID == types.Null, Computed: c.expr}
		if a := c.auto; a != nil {
			out[i].Identity = a.base.Auto != nil
			out[i].Computed = a.base.Formula != nil
		}
		if t.ID == types.Text || t.ID == types.NText || t.ID == types.Image {
			out[i].Origin = c.origin.clientOrigin()
		}
	}
	return out
}
