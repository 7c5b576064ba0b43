package rewrite

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SQLite runs the query of a correlated EXISTS for each row of the outer query. If no index finds
// the rows of the inner query, the time grows with the product of the two tables. SQL Server builds
// a hash table. This file does the same: it changes the EXISTS into an IN over a query that names
// no outer column, which SQLite runs once and keeps in a sorted table.

// WithLookups returns the SELECT of a query with each EXISTS and NOT EXISTS of its WHERE that
// compares keys with an outer query changed into IN, if no index finds these keys and the outer
// query reads a whole table. Otherwise the rows of the EXISTS are fewer than those of the IN.
func WithLookups(q *tree.Query) *tree.Core {
	c := q.Core
	if c == nil || c.Where == nil || c.Where.Traits&tree.HasSubquery == 0 || q.Limit != nil {
		return c
	}
	changed := false
	where := eachConjunct(c.Where, func(n *tree.Node) *tree.Node {
		exists, isNegated := n, false
		if n.Op == tree.OpNot {
			exists, isNegated = n.Args[0], true
		}
		if exists.Op != tree.OpExists {
			return n
		}
		in := lookup(exists.Query)
		if in == nil || !changed && (isRestricted(c) || q.Correlated()) {
			return n
		}
		changed = true
		if !isNegated {
			return in
		}
		// An outer NULL equals no key.
		known := tree.Build(tree.OpCoalesce, types.BitType, in, tree.Constant(int64(0), types.BitType))
		known.Null = false
		return tree.Not(known)
	})
	if !changed {
		return c
	}
	r := *c
	r.Where = where
	return &r
}

// keyColumn is a comparison of an EXISTS: a column of its own and an expression of the outer query.
type keyColumn struct{ inner, outer *tree.Node }

// lookup returns the IN that is true where the EXISTS of a query is true; nil if the query has no
// keys, an index on them, or other parts that name the outer query.
func lookup(q *tree.Query) *tree.Node {
	if !q.IsPlain() || q.Core.From == nil || q.Core.Where == nil {
		return nil
	}
	own := map[*tree.Source]bool{}
	tree.FromSources(q.Core.From, own)
	var keyed []keyColumn
	var rest []*tree.Node
	for _, n := range tree.Conjuncts(q.Core.Where) {
		if k, ok := keyOf(n, own); ok {
			keyed = append(keyed, k)
			continue
		}
		if n.Traits&(tree.CanFail|tree.HasPerRow|tree.HasLocal|tree.HasSequence|tree.PerPlace) != 0 {
			return nil // the IN would compute it for more rows
		}
		rest = append(rest, n)
	}
	if len(keyed) == 0 || areIndexed(keyed) {
		return nil
	}
	var inner, outer []*tree.Node
	for _, k := range keyed {
		inner, outer = append(inner, k.inner), append(outer, k.outer)
		if k.inner.Null {
			rest = append(rest, tree.Not(tree.IsNull(k.inner)))
		}
	}
	key := joined(inner)
	set := &tree.Query{
		Core:    &tree.Core{From: q.Core.From, Where: tree.And(rest...), Items: []*tree.Node{key}},
		Columns: []tree.ResultColumn{{Type: key.Type, Null: key.Null}},
	}
	if set.Correlated() {
		return nil
	}
	in := tree.Build(tree.OpInQuery, types.BitType, joined(outer))
	in.Query, in.Null = set, true
	in.Traits |= in.Own()
	return in
}

// keyOf reports whether a condition compares a column of own sources with an expression over other
// sources. The values must be integers: SQLite compares these alike in both forms.
func keyOf(n *tree.Node, own map[*tree.Source]bool) (keyColumn, bool) {
	if n.Op != tree.OpCompare || n.Name != "=" {
		return keyColumn{}, false
	}
	for i, x := range n.Args {
		y := n.Args[1-i]
		if x.Op != tree.OpCol || !own[x.Source] || x.Type.Storage() != "INTEGER" || y.Type.Storage() != "INTEGER" ||
			y.Op != tree.OpCol || own[y.Source] {
			continue
		}
		return keyColumn{inner: x, outer: y}, true
	}
	return keyColumn{}, false
}

// joined returns one value for several integers, which differs if one of them differs.
func joined(list []*tree.Node) *tree.Node {
	if len(list) == 1 {
		return list[0]
	}
	text := types.VarBinaryOf(24 * len(list))
	comma := tree.Constant([]byte{','}, types.VarBinaryOf(1))
	all := list[0]
	for _, n := range list[1:] {
		all = tree.Build(tree.OpConcat, text, tree.Build(tree.OpConcat, text, all, comma), n)
	}
	return all
}

// areIndexed reports whether an index finds the rows of a table by all of its keys. Other parts of
// the query have no index.
func areIndexed(keyed []keyColumn) bool {
	columns := map[*catalog.Table]map[int]bool{}
	for _, k := range keyed {
		t, c := tableColumn(k.inner)
		if c == nil {
			continue
		}
		if c == t.RowIDColumn() {
			return true
		}
		if columns[t] == nil {
			columns[t] = map[int]bool{}
		}
		columns[t][c.ID] = true
	}
	for t, wanted := range columns {
		for _, ix := range t.Indexes {
			found := 0
			for found < len(ix.Columns) && wanted[ix.Columns[found].ColumnID] {
				found++
			}
			if !ix.Disabled && ix.Filter == "" && (found == len(wanted) || ix.Unique && found == len(ix.Columns)) {
				return true
			}
		}
	}
	return false
}

// isRestricted reports whether a SELECT may read few rows only: if it compares an indexed column
// with a value, or reads a temporary table or no table of the catalog.
func isRestricted(c *tree.Core) bool {
	sources, on := Preserved(c.From)
	if len(sources) == 0 || slices.ContainsFunc(sources, func(s *tree.Source) bool { return s.Table == "" || isSmall(s) }) {
		return true
	}
	for _, n := range append(tree.Conjuncts(c.Where), on...) {
		switch n.Op {
		case tree.OpCompare, tree.OpIn, tree.OpIsNull, tree.OpInQuery:
		default:
			continue
		}
		for i, x := range n.Args {
			if x.Op != tree.OpCol || !isIndexed(x) {
				continue
			}
			isValue := true
			for j, y := range n.Args {
				isValue = isValue && (j == i || y.Traits&tree.RowBound == 0)
			}
			if isValue {
				return true
			}
		}
	}
	return false
}
