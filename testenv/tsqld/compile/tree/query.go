package tree

import (
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Query is a bound query. Exactly one of Core, Set, Recursive and Inner is set.
type Query struct {
	Core      *Core
	Set       *SetQuery
	Recursive *Recursion
	Inner     *Query // for a document: the query whose rows are aggregated

	Columns []ResultColumn // in the order of the items

	Order   []OrderTerm // ORDER BY; empty for none
	Limit   *Node       // number of rows, or a float with Percent; nil for no limit
	Offset  *Node       // number of rows to skip; nil for none
	Percent bool        // TOP n PERCENT
	Ties    bool        // WITH TIES

	Document    DocumentKind
	DocumentKey string // key of the aggregate that builds the document
	IsWrapped   bool   // FOR JSON returns an array or object for any rows
}

// DocumentKind is the kind of document that a query's rows are aggregated to.
type DocumentKind uint8

// The kinds of documents.
const (
	DocumentNone DocumentKind = iota
	DocumentJSON
	DocumentXML
	DocumentRows // rows encoded by EncodeRows
)

// ResultColumn is a result column.
type ResultColumn struct {
	Name  string // "" for none
	Type  types.Type
	Null  bool // the value may be NULL
	Loose bool // see Node
	Label Label
	Auto  *SourceColumn // the table column selected, for SELECT INTO; otherwise nil
	// Origin is Auto, or the table column behind the column of a derived table.
	Origin *SourceColumn
	Expr   bool // an expression, which clients cannot update
	Hidden bool // added for browse mode
}

// Core is SELECT ... HAVING.
type Core struct {
	Distinct bool    // DISTINCT
	Items    []*Node // the select list
	From     From    // nil without FROM
	Where    *Node   // nil without WHERE
	Group    []*Node // GROUP BY
	Sets     [][]int // grouping sets, as indexes into Group; nil for a plain GROUP BY
	Grouped  bool    // the query has GROUP BY or an aggregate
	Having   *Node   // nil without HAVING
}

// From is a *Source or a *Join.
type From interface{ isFrom() }

// Join joins two items of FROM.
type Join struct {
	Kind        string // SQLite's keywords
	Left, Right From
	On          *Node // nil for a join without a condition
	// Applied is the derived table of an APPLY that became the join, as the statement names it.
	Applied *Source
}

// SetQuery is a set operation over queries with the same types.
type SetQuery struct {
	Op   string // SQLite's keywords
	X, Y *Query
}

// Recursion is a recursive common table expression.
type Recursion struct {
	Source *Source  // the rows of the expression, as its recursive members see them
	Anchor *Query   // the members that do not name the expression
	Steps  []*Query // the recursive members
	Limit  int      // MAXRECURSION, 0 for none
}

// IsSingleRow reports whether a query certainly returns at most one row.
func (q *Query) IsSingleRow() bool {
	if q.Document != DocumentNone {
		return true
	}
	if q.Limit != nil && !q.Percent && !q.Ties && q.Limit.IsConst() {
		if n, ok := q.Limit.Value.(int64); ok && n <= 1 {
			return true
		}
	}
	c := q.Core
	return c != nil && (c.From == nil || c.Grouped && len(c.Group) == 0 && c.Sets == nil)
}

// IsPlain reports whether a query is a SELECT that does not limit, sort or group rows.
func (q *Query) IsPlain() bool {
	c := q.Core
	if c == nil || c.Distinct || c.Grouped || c.Having != nil || q.Limit != nil || q.Offset != nil ||
		len(q.Order) > 0 ||
		q.Document != DocumentNone {
		return false
	}
	for _, n := range c.Items {
		if n.Traits&(HasWindow|HasAgg|HasPerRow|HasLocal) != 0 {
			return false
		}
	}
	return true
}

// Source returns a derived table over the query.
func (q *Query) Source(alias, name string) *Source {
	src := &Source{Alias: alias, Name: name, Query: q}
	for i, c := range q.Columns {
		src.Columns = append(
			src.Columns,
			SourceColumn{
				Name:   c.Name,
				Type:   c.Type,
				Null:   c.Null,
				Loose:  c.Loose,
				Label:  c.Label,
				Own:    true,
				SQL:    ColumnName(i),
				Origin: c.Origin,
				Expr:   c.Expr,
			},
		)
	}
	return src
}

// SelectAll returns SELECT * over a source, including hidden columns.
func SelectAll(src *Source) *Query {
	q := &Query{Core: &Core{From: src}}
	for i, c := range src.Columns {
		q.Core.Items = append(q.Core.Items, ColumnNode(src, i))
		q.Columns = append(q.Columns, ResultColumn{Name: c.Name, Type: c.Type, Null: c.Null, Loose: c.Loose, Label: c.Label})
	}
	return q
}

// ColumnTypes returns the result columns as sent to clients.
func (q *Query) ColumnTypes() []types.Column {
	out := make([]types.Column, len(q.Columns))
	for i, c := range q.Columns {
		t := c.Type
		if t.ID == types.Null {
			t = types.IntType
		}
		out[i] = types.Column{Name: c.Name, Type: t, Nullable: c.Null || c.Loose || c.Type.ID == types.Null, Computed: c.Expr}
		if a := c.Auto; a != nil {
			out[i].Identity = a.Base.Auto != nil
			out[i].Computed = a.Base.Formula != nil
		}
		if t.ID == types.Text || t.ID == types.NText || t.ID == types.Image {
			out[i].Origin = c.Origin.ClientOrigin()
		}
	}
	return out
}

// Add appends a result column.
func (q *Query) Add(n *Node, c ResultColumn) {
	q.Core.Items = append(q.Core.Items, n)
	q.Columns = append(q.Columns, c)
}

// BaseColumn returns the table column that a node reads, or nil if the node is an expression.
func BaseColumn(n *Node) *SourceColumn {
	if n.Op == OpCol && n.Column >= 0 && n.Source.Columns[n.Column].Base != nil {
		return &n.Source.Columns[n.Column]
	}
	return nil
}

// ItemOf returns the index of the result column with the same expression, or -1.
func (q *Query) ItemOf(n *Node) int {
	for i, item := range q.Core.Items {
		if SameNode(item, n) {
			return i
		}
	}
	return -1
}

// First returns the leftmost SELECT of a set operation.
func (q *Query) First() *Query {
	for q.Set != nil {
		q = q.Set.X
	}
	return q
}

// aggregates reports whether the select list contains an aggregate.
func (c *Core) aggregates() bool {
	for _, n := range c.Items {
		if n.Traits&HasAgg != 0 {
			return true
		}
	}
	return false
}

// IsBareGroup reports whether all rows form one group but the select list has no aggregate, as with
// GROUP BY () or HAVING alone. SQLite groups only if the select list has an aggregate.
func (c *Core) IsBareGroup() bool {
	return len(c.Group) == 0 && (c.Grouped || c.Having != nil) && !c.aggregates()
}

func (*Source) isFrom() {}

func (*Join) isFrom() {}
