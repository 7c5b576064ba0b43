package compile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// cteScope is a common table expression, linked to those declared before it. A CTE is expanded at
// each reference, as in SQL Server.
type cteScope struct {
	parent *cteScope
	def    *syntax.CTE
	clause *cteClause
	number int   // position in the clause, from 0 on
	place  place // the place in which its names are resolved
	// self is set while the recursive members are bound; it is the source of the expression's own
	// rows.
	self *source
}

// cteClause is a WITH clause. It finds names without a walk over all expressions.
type cteClause struct {
	outer  *cteScope            // innermost expression of the clauses around this one
	byName map[string]*cteScope // by folded name
}

// find returns the CTE with a name, or nil if there is none or the name has several parts.
func (s *cteScope) find(name *syntax.ObjectName) *cteScope {
	if len(name.Parts) > 1 {
		return nil
	}
	folded := catalog.Fold(name.Last())
	for ; s != nil; s = s.clause.outer {
		// A recursive member has a copy of its expression, which the map does not hold.
		if catalog.Fold(s.def.Name.Name) == folded {
			return s
		}
		if found := s.clause.byName[folded]; found != nil && found.number <= s.number {
			return found
		}
	}
	return nil
}

// with declares the CTEs of a WITH clause. Error 239 for a duplicate name.
func (b *binder) with(ctes []*syntax.CTE) error {
	if len(ctes) == 0 {
		return nil
	}
	if len(ctes[0].Spaces) > 0 {
		b.declareSpaces(ctes[0].Spaces)
		if ctes = ctes[1:]; len(ctes) == 0 {
			return nil
		}
	}
	clause := &cteClause{outer: b.place.ctes, byName: make(map[string]*cteScope, len(ctes))}
	for i, c := range ctes {
		if err := b.charge(); err != nil {
			return err
		}
		folded := catalog.Fold(c.Name.Name)
		if clause.byName[folded] != nil {
			return mserr.DuplicateCTE(c.Name.Name)
		}
		s := &cteScope{parent: b.place.ctes, def: c, clause: clause, number: i}
		clause.byName[folded] = s
		s.place = b.place
		s.place.ctes = s
		b.place.ctes = s
	}
	return nil
}

// cte returns the source of a reference to a CTE.
func (b *binder) cte(s *cteScope) (src *source, err error) {
	name := s.def.Name.Name
	if s.self != nil {
		// A reference in a recursive member: the rows of the expression under another alias.
		r := *s.self
		r.alias, r.cols = b.alias("r"), append([]sourceColumn(nil), s.self.cols...)
		r.table = s.self.alias
		return &r, nil
	}
	err = b.within(s.place, func() error {
		var q *query
		var err error
		if anchors, steps := recursive(s.def); len(steps) > 0 {
			q, err = b.recursiveCTE(s, anchors, steps)
		} else {
			b.place.ctes = s.parent // a CTE that is not recursive cannot name itself
			if q, err = b.query(s.def.Query, nil, queryUse{}); err == nil {
				q, err = nameColumns(q, name, s.def.Columns)
			}
		}
		if err != nil {
			return err
		}
		if src, err = q.rows(b.alias("q"), name); err == nil {
			src.lineage = q.core
		}
		return err
	})
	return src, err
}

// recursive splits the UNION ALL of a CTE into the members that do not name the CTE and those that
// do.
func recursive(c *syntax.CTE) (anchors, steps []syntax.QueryBody) {
	members := []syntax.QueryBody{c.Query.Body}
	for {
		s, ok := unparen(members[0]).(*syntax.SetOp)
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
	switch q := unparen(body).(type) {
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
func (b *binder) recursiveCTE(s *cteScope, anchors, steps []syntax.QueryBody) (*query, error) {
	name := s.def.Name.Name
	set, ok := unparen(s.def.Query.Body).(*syntax.SetOp)
	switch {
	case !ok || set.Kind != syntax.UnionAll:
		return nil, mserr.RecursiveUnionAll(name)
	case len(anchors) == 0:
		return nil, mserr.NoAnchor(name)
	}
	b.place.ctes = s.parent
	var anchor *query
	for _, a := range anchors {
		q, err := b.query(&syntax.Query{Body: a}, nil, queryUse{})
		if err != nil {
			return nil, err
		}
		if anchor == nil {
			anchor = q
		} else if anchor, err = setOf("UNION ALL", anchor, q); err != nil {
			return nil, err
		}
	}
	anchor, err := nameColumns(anchor, name, s.def.Columns)
	if err != nil {
		return nil, err
	}
	ts := make([]types.Type, len(anchor.cols))
	for i, c := range anchor.cols {
		if ts[i] = c.typ; c.typ.ID == types.Null {
			ts[i] = types.IntType
		}
	}
	if anchor, err = anchor.converted(ts); err != nil {
		return nil, err
	}
	src, err := anchor.rows(b.alias("r"), name)
	if err != nil {
		return nil, err
	}
	src.query = nil
	for i := range src.cols {
		src.cols[i].null = true
	}
	src.cols = append(src.cols, sourceColumn{name: "", typ: types.IntType, sql: levelColumn, hidden: true})
	rec := &recursion{src: src, limit: b.maxRecursion}
	rec.anchor = anchor.withLevel(constant(int64(0), types.IntType))
	inner := *s
	inner.self = src
	b.place.ctes = &inner
	for _, body := range steps {
		q, err := b.recursiveStep(name, body, rec, anchor)
		if err != nil {
			return nil, err
		}
		rec.steps = append(rec.steps, q)
	}
	// "All columns returned by the recursive CTE are nullable" (documentation of WITH
	// common_table_expression).
	r := &query{recursive: rec}
	for _, c := range anchor.cols {
		r.cols = append(r.cols, outColumn{name: c.name, typ: c.typ, null: true, label: c.label})
	}
	return r, nil
}

// levelColumn is the name of the column that counts the levels of a recursion.
const levelColumn = "lvl"

// recursiveStep binds one recursive member.
func (b *binder) recursiveStep(name string, body syntax.QueryBody, rec *recursion, anchor *query) (*query, error) {
	q, err := b.query(&syntax.Query{Body: body}, nil, queryUse{})
	if err != nil {
		return nil, err
	}
	switch {
	case q.core == nil:
		return nil, mserr.NotSupported("set operations in the recursive part of a common table expression")
	case q.core.distinct:
		return nil, mserr.RecursiveDistinct(name)
	case q.limit != nil:
		return nil, mserr.RecursiveTop(name)
	case outerJoined(body):
		return nil, mserr.RecursiveOuterJoin(name)
	case q.core.grouped:
		return nil, mserr.RecursiveGroupBy(name)
	case len(q.cols) != len(anchor.cols):
		return nil, mserr.SetOperationCount()
	}
	ts := make([]types.Type, len(q.cols))
	for i, c := range q.cols {
		ts[i] = anchor.cols[i].typ
		x, y := c.typ, ts[i]
		x.Collation, x.Numeric = y.Collation, y.Numeric
		if c.typ.ID != types.Null && x != y {
			return nil, mserr.RecursiveTypes(anchor.cols[i].name, name)
		}
	}
	if q, err = q.converted(ts); err != nil {
		return nil, err
	}
	own := map[*source]bool{}
	fromSources(q.core.from, own)
	var self *source
	for src := range own {
		if src.table != rec.src.alias {
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
	return rec.next(q, self)
}

// outerJoined reports whether the FROM clause of a SELECT has an outer join.
func outerJoined(body syntax.QueryBody) bool {
	s, ok := unparen(body).(*syntax.Select)
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
func (r *recursion) next(q *query, from *source) (*query, error) {
	lvl, err := arith(types.Add, columnNode(from, len(from.cols)-1), constant(int64(1), types.IntType))
	if err != nil {
		return nil, err
	}
	if r.limit > 0 {
		if lvl, err = call(keys.Make(keys.Recursion, strconv.Itoa(r.limit)), types.IntType, lvl); err != nil {
			return nil, err
		}
	}
	return q.withLevel(lvl), nil
}

// withLevel returns the query with a level column added at the end.
func (q *query) withLevel(lvl *node) *query {
	r := *q
	if q.core == nil || q.core.distinct || q.limit != nil || q.core.grouped {
		r = *selectAll(q.source("q", ""))
	}
	c := *r.core
	c.items = append(append([]*node(nil), c.items...), lvl)
	r.core = &c
	r.cols = append(append([]outColumn(nil), r.cols...), outColumn{typ: types.IntType})
	return &r
}
