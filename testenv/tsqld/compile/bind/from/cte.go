package from

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

// With declares the CTEs of a WITH clause. Error 239 for a duplicate name.
func (b *Binder) With(ctes []*syntax.CTE) error {
	if len(ctes) == 0 {
		return nil
	}
	if len(ctes[0].Spaces) > 0 {
		b.declareSpaces(ctes[0].Spaces)
		if ctes = ctes[1:]; len(ctes) == 0 {
			return nil
		}
	}
	clause := &names.CTEClause{Outer: b.Place.CTEs, ByName: make(map[string]*names.CTEScope, len(ctes))}
	for i, c := range ctes {
		if err := b.Charge(); err != nil {
			return err
		}
		folded := b.Names().Fold(c.Name.Name)
		if clause.ByName[folded] != nil {
			return mserr.DuplicateCTE(c.Name.Name)
		}
		s := &names.CTEScope{Parent: b.Place.CTEs, Def: c, Clause: clause, Number: i}
		clause.ByName[folded] = s
		s.Place = b.Place
		s.Place.CTEs = s
		b.Place.CTEs = s
	}
	return nil
}

// declareSpaces adds the namespaces of WITH XMLNAMESPACES to the place.
func (b *Binder) declareSpaces(list []*syntax.XMLNamespace) {
	spaces := slices.Clone(b.Place.Spaces)
	for _, n := range list {
		spaces = append(spaces, xquery.Binding{Prefix: n.Prefix.Name, Space: n.URI.Text})
	}
	b.Place.Spaces = spaces
}

// cte returns the source of a reference to a CTE.
func (b *Binder) cte(s *names.CTEScope) (src *tree.Source, err error) {
	name := s.Def.Name.Name
	if s.Self != nil {
		// A reference in a recursive member: the rows of the expression under another alias.
		r := *s.Self
		r.Alias, r.Columns = b.Alias("r"), append([]tree.SourceColumn(nil), s.Self.Columns...)
		r.Table = s.Self.Alias
		return &r, nil
	}
	err = b.Within(s.Place, func() error {
		var q *tree.Query
		var err error
		if anchors, steps := recursive(s.Def); len(steps) > 0 {
			q, err = b.recursiveCTE(s, anchors, steps)
		} else {
			b.Place.CTEs = s.Parent // a CTE that is not recursive cannot name itself
			if q, err = b.Queries.Query(s.Def.Query, nil, scalar.QueryUse{}); err == nil {
				q, err = b.NameColumns(q, name, s.Def.Columns)
			}
		}
		if err != nil {
			return err
		}
		src = q.Source(b.Alias("q"), name)
		src.Lineage = q.Core
		return nil
	})
	return src, err
}

// recursive splits the UNION ALL of a CTE into the members that do not name the CTE and those that
// do.
func recursive(c *syntax.CTE) (anchors, steps []syntax.QueryBody) {
	members := []syntax.QueryBody{c.Query.Body}
	for {
		s, ok := names.Unparen(members[0]).(*syntax.SetOp)
		if !ok {
			break
		}
		if s.Kind != syntax.UnionAll && !queryNamesTable(s.Y, c.Name.Name) {
			break
		}
		members = append([]syntax.QueryBody{s.X, s.Y}, members[1:]...)
		if !queryNamesTable(s.X, c.Name.Name) {
			break
		}
	}
	for _, m := range members {
		if queryNamesTable(m, c.Name.Name) {
			steps = append(steps, m)
		} else {
			anchors = append(anchors, m)
		}
	}
	return anchors, steps
}

// queryNamesTable reports whether the FROM clauses of a query contain a table name of one part.
func queryNamesTable(body syntax.QueryBody, name string) bool {
	switch q := names.Unparen(body).(type) {
	case *syntax.SetOp:
		return queryNamesTable(q.X, name) || queryNamesTable(q.Y, name)
	case *syntax.Select:
		for _, f := range q.From {
			if fromNamesTable(f, name) {
				return true
			}
		}
	}
	return false
}

// fromNamesTable is queryNamesTable for an item of FROM.
func fromNamesTable(ts syntax.TableSource, name string) bool {
	switch ts := ts.(type) {
	case *syntax.TableName:
		return len(ts.Name.Parts) == 1 && strings.EqualFold(ts.Name.Last(), name)
	case *syntax.DerivedTable:
		return queryNamesTable(ts.Query.Body, name)
	case *syntax.ParenTable:
		return fromNamesTable(ts.X, name)
	case *syntax.Join:
		return fromNamesTable(ts.Left, name) || fromNamesTable(ts.Right, name)
	case *syntax.Pivot:
		return fromNamesTable(ts.Source, name)
	case *syntax.Unpivot:
		return fromNamesTable(ts.Source, name)
	}
	return false
}

// recursiveCTE binds a recursive CTE. An additional column counts the levels for MAXRECURSION.
// Errors: 240 for types that differ between the anchor and the recursive part, 246 without an
// anchor, 252 without UNION ALL.
func (b *Binder) recursiveCTE(s *names.CTEScope, anchors, steps []syntax.QueryBody) (*tree.Query, error) {
	name := s.Def.Name.Name
	set, ok := names.Unparen(s.Def.Query.Body).(*syntax.SetOp)
	switch {
	case !ok || set.Kind != syntax.UnionAll:
		return nil, mserr.RecursiveUnionAll(name)
	case len(anchors) == 0:
		return nil, mserr.NoAnchor(name)
	}
	b.Place.CTEs = s.Parent
	var anchor *tree.Query
	for _, a := range anchors {
		q, err := b.Queries.Query(&syntax.Query{Body: a}, nil, scalar.QueryUse{})
		if err != nil {
			return nil, err
		}
		if anchor == nil {
			anchor = q
		} else if anchor, err = expr.SetOf("UNION ALL", anchor, q); err != nil {
			return nil, err
		}
	}
	anchor, err := b.NameColumns(anchor, name, s.Def.Columns)
	if err != nil {
		return nil, err
	}
	ts := make([]types.Type, len(anchor.Columns))
	for i, c := range anchor.Columns {
		if ts[i] = c.Type; c.Type.ID == types.Null {
			ts[i] = types.IntType
		}
	}
	if anchor, err = expr.Converted(anchor, ts); err != nil {
		return nil, err
	}
	src := anchor.Source(b.Alias("r"), name)
	src.Query = nil
	for i := range src.Columns {
		src.Columns[i].Null = true
	}
	src.Columns = append(src.Columns, tree.SourceColumn{Name: "", Type: types.IntType, SQL: tree.LevelColumn, Hidden: true})
	rec := &tree.Recursion{Source: src, Limit: b.MaxRecursion}
	rec.Anchor = withLevel(anchor, tree.Constant(int64(0), types.IntType))
	inner := *s
	inner.Self = src
	b.Place.CTEs = &inner
	for _, body := range steps {
		q, err := b.recursiveStep(name, body, rec, anchor)
		if err != nil {
			return nil, err
		}
		rec.Steps = append(rec.Steps, q)
	}
	// "All columns returned by the recursive CTE are nullable" (documentation of WITH
	// common_table_expression).
	r := &tree.Query{Recursive: rec}
	for _, c := range anchor.Columns {
		r.Columns = append(r.Columns, tree.ResultColumn{Name: c.Name, Type: c.Type, Null: true, Label: c.Label})
	}
	return r, nil
}

// recursiveStep binds one recursive member.
func (b *Binder) recursiveStep(name string, body syntax.QueryBody, rec *tree.Recursion, anchor *tree.Query) (*tree.Query, error) {
	q, err := b.Queries.Query(&syntax.Query{Body: body}, nil, scalar.QueryUse{})
	if err != nil {
		return nil, err
	}
	switch {
	case q.Core == nil:
		return nil, mserr.NotSupported("a set operation in the recursive part of a common table expression")
	case q.Core.Distinct:
		return nil, mserr.RecursiveDistinct(name)
	case q.Limit != nil:
		return nil, mserr.RecursiveTop(name)
	case outerJoined(body):
		return nil, mserr.RecursiveOuterJoin(name)
	case q.Core.Grouped:
		return nil, mserr.RecursiveGroupBy(name)
	case len(q.Columns) != len(anchor.Columns):
		return nil, mserr.SetOperationCount()
	}
	ts := make([]types.Type, len(q.Columns))
	for i, c := range q.Columns {
		ts[i] = anchor.Columns[i].Type
		x, y := c.Type, ts[i]
		x.Collation, x.Numeric = y.Collation, y.Numeric
		if c.Type.ID != types.Null && x != y {
			return nil, mserr.RecursiveTypes(anchor.Columns[i].Name, name)
		}
	}
	if q, err = expr.Converted(q, ts); err != nil {
		return nil, err
	}
	own := map[*tree.Source]bool{}
	tree.FromSources(q.Core.From, own)
	var self *tree.Source
	for src := range own {
		if src.Table != rec.Source.Alias {
			continue
		}
		if self != nil {
			return nil, mserr.RecursiveTwice(name)
		}
		self = src
	}
	if self == nil {
		return nil, mserr.NotSupported("a recursive reference that is not directly in FROM")
	}
	return next(rec, q, self)
}

// outerJoined reports whether the FROM clause of a SELECT has an outer join.
func outerJoined(body syntax.QueryBody) bool {
	s, ok := names.Unparen(body).(*syntax.Select)
	return ok && slices.ContainsFunc(s.From, hasOuterJoin)
}

// hasOuterJoin reports whether an item of FROM has an outer join. It does not search derived
// tables.
func hasOuterJoin(ts syntax.TableSource) bool {
	switch ts := ts.(type) {
	case *syntax.ParenTable:
		return hasOuterJoin(ts.X)
	case *syntax.Join:
		switch ts.Kind {
		case syntax.LeftJoin, syntax.RightJoin, syntax.FullJoin, syntax.OuterApply:
			return true
		}
		return hasOuterJoin(ts.Left) || hasOuterJoin(ts.Right)
	}
	return false
}

// next adds the level to a recursive member: one more than the level of the row in from, checked
// against the limit.
func next(r *tree.Recursion, q *tree.Query, from *tree.Source) (*tree.Query, error) {
	lvl, err := expr.Arith(types.Add, tree.ColumnNode(from, len(from.Columns)-1), tree.Constant(int64(1), types.IntType))
	if err != nil {
		return nil, err
	}
	if r.Limit > 0 {
		if lvl, err = tree.Call(keys.Make(keys.Recursion, strconv.Itoa(r.Limit)), types.IntType, lvl); err != nil {
			return nil, err
		}
	}
	return withLevel(q, lvl), nil
}

// withLevel returns the query with a level column added at the end.
func withLevel(q *tree.Query, lvl *tree.Node) *tree.Query {
	r := *q
	if q.Core == nil || q.Core.Distinct || q.Limit != nil || q.Core.Grouped {
		r = *tree.SelectAll(q.Source("q", ""))
	}
	c := *r.Core
	c.Items = append(append([]*tree.Node(nil), c.Items...), lvl)
	r.Core = &c
	r.Columns = append(append([]tree.ResultColumn(nil), r.Columns...), tree.ResultColumn{Type: types.IntType})
	return &r
}
