package tree

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Lateral replaces a derived table by a rowset that decodes the result of a correlated subquery.
func (s *Source) Lateral() {
	q := s.Query
	s.Query = nil
	s.Rowset = &Node{
		Op:        OpScalar,
		Type:      types.NVarCharMax,
		Null:      true,
		Query:     q.asRows(),
		SingleRow: true,
		Traits:    HasSubquery,
	}
	s.Fields()
}

// asRows returns a query with one row: the encoded rows of q.
func (q *Query) asRows() *Query {
	return &Query{
		Inner:       q,
		Document:    DocumentRows,
		DocumentKey: keys.Rows,
		Columns:     []ResultColumn{{Type: types.NVarCharMax, Null: true}},
	}
}

// Rowset returns the call of a table-valued function. The node is not an expression: see
// rowset of package lower.
func Rowset(key string, args ...*Node) (*Node, error) {
	if _, err := keys.RowsFunc(key); err != nil {
		return nil, err
	}
	n := Build(OpRowset, types.NVarCharMax, args...)
	n.Key = key
	n.Traits |= CanFail
	return n, nil
}

// IsPacked reports whether a source has more columns than rowset(...).
func (s *Source) IsPacked() bool { return len(s.Columns) > store.RowsetColumns }

// Fields maps the columns of a source to those of rowset(...).
func (s *Source) Fields() {
	for i := range s.Columns {
		c := &s.Columns[i]
		c.SQL, c.Expand = ColumnName(i), nil
		if !s.IsPacked() {
			continue
		}
		c.Expand = func() (*Node, error) {
			n, err := Call(
				keys.Make(keys.Field, strconv.Itoa(i)),
				c.Type,
				&Node{Op: OpCol, Type: types.NVarCharMax, Null: true, Source: s, Column: PackedColumn, Traits: HasColumn},
			)
			if err != nil {
				return nil, err
			}
			n.Traits &^= CanFail
			n.Null, n.Label = c.Null, c.Label
			return n, nil
		}
	}
}
