package tree

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Source is a named set of rows: an item of FROM, or inserted and deleted of OUTPUT.
type Source struct {
	Alias string // alias in the SQL; "" for columns without a qualifier (CHECK constraints)
	Name  string // qualifier of its columns: the alias, or the table's name
	// DB and Schema may also qualify the name of a table without an alias.
	DB, Schema string
	Names      catalog.Names  // compares the source's name and the names of its columns
	Columns    []SourceColumn // including hidden ones

	// Exactly one of these is set, or none for rows that SQLite provides otherwise (spools,
	// inserted and deleted).
	Table  string // SQLite's table name, with its schema
	Query  *Query // a derived table
	Rowset *Node  // a table-valued function, or an expression that returns encoded rows

	XMLNodes   *XMLNodes      // set if the rows are those of the xml method nodes
	Base       *catalog.Table // the table, if the source is one
	ClientName []string       // the table's name as reported to clients
	View       *catalog.View  // the view, if the source is one
	DatabaseID int            // id of its database, 0 for temporary tables
	Used       bool           // a column of the source was resolved
	ReadPast   bool           // WITH (READPAST)
	Claim      keys.Claim     // the lock that a source WITH (READPAST) asks for
	Scan       bool           // read without any index of SQLite's
	Empty      bool           // has no rows: see readpast.go of package from
	// Lineage is the SELECT of a view, CTE or derived table through which rows can be changed; nil
	// otherwise.
	Lineage *Core
}

// SourceColumn is a column of a source.
type SourceColumn struct {
	Name   string // as T-SQL names it
	Type   types.Type
	Null   bool // the value may be NULL
	Loose  bool // see Node
	Label  Label
	Own    bool            // a reference has the Label, even if it is LabelCoercible: see referenceLabel
	SQL    string          // SQLite's column name
	Hidden bool            // cannot be named and is not part of *
	Base   *catalog.Column // the column of the table, or nil
	Owner  *Source         // the source that is the table of Base
	Origin *SourceColumn   // for a derived table: the table column behind it, or nil
	Expr   bool            // for a derived table: the column is an expression
	// Expand returns the expression of a column that SQLite does not store: a computed column, or
	// an expression over other sources. It is nil for ordinary columns.
	Expand func() (*Node, error)
}

// ColumnByName returns the index of a column; -1 if there is none, -2 if the name is ambiguous.
func (s *Source) ColumnByName(name string) int {
	found := -1
	for i := range s.Columns {
		if !s.Columns[i].Hidden && s.Names.Equal(s.Columns[i].Name, name) {
			if found >= 0 {
				return -2
			}
			found = i
		}
	}
	return found
}

// Resolve returns the node of a column of a source.
func (s *Source) Resolve(i int) (*Node, error) {
	s.Used = true
	expand := s.Columns[i].Expand
	if expand == nil {
		return ColumnNode(s, i), nil
	}
	n, err := expand()
	if err != nil {
		return nil, err
	}
	named := *n
	named.Via = &s.Columns[i]
	if named.Type.IsCharacter() {
		named.Label = referenceLabel(&s.Columns[i])
	}
	return &named, nil
}

// OwnName returns the name of the table or view of a source, without regard to aliases.
func (s *Source) OwnName() string {
	switch {
	case s.Base != nil:
		return s.Base.Name
	case s.View != nil:
		return s.View.Name
	}
	return s.Name
}

// XMLNodes is what a source of nodes knows beside its rows.
type XMLNodes struct {
	Label string  // of the instance; see receiver of package scalar
	Outer *Source // the source of nodes on whose column it is called, or nil
	Call  keys.XMLCall
	Args  []*Node
}

// IsNodesColumn reports whether a node is the column of nodes.
func IsNodesColumn(n *Node) bool { return n.Op == OpCol && n.Source != nil && n.Source.XMLNodes != nil }

// AllowNull marks a source as the side of an outer join that may have no row.
func (s *Source) AllowNull() {
	for i := range s.Columns {
		s.Columns[i].Null = true
	}
}

// AddHidden adds a hidden column to a derived table and returns a reference to the column.
func (s *Source) AddHidden(n *Node) *Node {
	s.Lineage.Items = append(s.Lineage.Items, n)
	q := *s.Query
	q.Columns = append(slices.Clone(q.Columns), ResultColumn{Type: n.Type, Null: n.Null})
	s.Query = &q
	s.Columns = append(s.Columns, SourceColumn{
		Type: n.Type, Null: n.Null, Label: n.Label, SQL: ColumnName(len(s.Lineage.Items) - 1), Hidden: true,
	})
	return ColumnNode(s, len(s.Columns)-1)
}
