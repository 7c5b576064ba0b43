package compile

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Compiler compiles the statements of one scope. A Compiler keeps no state between calls. All
// errors are *mserr.Error without a line number.
type Compiler struct {
	scope     Scope
	deduction *Deduction // parameters without a declaration; nil for none
	emptyPast bool       // sources with READPAST are compiled as empty tables
}

// New returns a compiler for the statements of a scope.
func New(scope Scope) *Compiler { return &Compiler{scope: scope} }

// bind calls f with a new binder that has read the hints of OPTION.
func (c *Compiler) bind(hints []*syntax.Option, f func(*binder) error) error {
	b, err := newBinder(c.scope)
	if err == nil {
		b.emptyPast, b.needs.EmptyPast = c.emptyPast, c.emptyPast
		b.deduction = c.deduction
		if err = b.hints(hints); err == nil {
			err = f(b)
		}
	}
	return clientError(err)
}

// hints reads OPTION (...). Only MAXRECURSION has an effect; all other hints are for SQL Server's
// optimizer and are ignored. Error 310 for a MAXRECURSION out of range.
func (b *binder) hints(hints []*syntax.Option) error {
	for _, h := range hints {
		if h.Name != "MAXRECURSION" {
			continue
		}
		lit, ok := h.Value.(*syntax.Literal)
		if !ok {
			return mserr.Syntax("MAXRECURSION")
		}
		n, err := strconv.Atoi(lit.Text)
		if err != nil || n < 0 || n > 32767 {
			return mserr.New(310, 15,
				"The value %s specified for the MAXRECURSION option exceeds the allowed maximum of 32767.",
				lit.Text,
			)
		}
		b.maxRecursion = n
	}
	return nil
}

// Select compiles a query with the OPTION clause of its statement.
func (c *Compiler) Select(q *syntax.Query, hints []*syntax.Option) (*Plan, error) {
	return c.query(q, hints, false)
}

// query implements Select, and Browse if browse is set.
func (c *Compiler) query(q *syntax.Query, hints []*syntax.Option, browse bool) (p *Plan, err error) {
	err = c.bind(hints, func(b *binder) error {
		var assigned []assignment
		q, identity, err := identityOf(q)
		if err != nil {
			return err
		}
		r, err := b.query(q, nil, queryUse{top: true, assigned: &assigned, browse: browse})
		if err != nil {
			return err
		}
		if err := checkColumnCollations(r); err != nil {
			return err
		}
		p = &Plan{}
		if p.Into, err = b.into(q, r); err != nil {
			return err
		}
		if identity != nil {
			if err := identity.declare(p.Into, r); err != nil {
				return err
			}
		}
		if len(assigned) > 0 && p.Into != nil {
			return mserr.SelectIntoAssigns()
		} else if len(assigned) > 0 {
			r = p.assign(r, assigned)
		} else if browse && p.Into == nil {
			p.Columns = r.browseColumns()
		} else {
			p.Columns = r.columnTypes()
		}
		p.Chunks = r.document != documentNone && r.cols[0].typ.ID != types.XML
		if err = renderPlan(p, b.needs, r); err == nil && len(p.ReadPast) > 0 && r.needsPastRows() {
			p.PastPlan = p.emptyPlan(len(r.cols))
		}
		return err
	})
	if err == nil && p.PastPlan == nil && c.needsPastPlan(&p.Needs) {
		p.PastPlan, err = c.forEmptyPast().query(q, hints, browse)
	}
	return p, err
}

// into resolves the target of SELECT ... INTO; it returns nil for a query without INTO. Error 196
// for an INTO in a later query of a set operation.
func (b *binder) into(q *syntax.Query, r *query) (*Into, error) {
	if intoLater(q.Body) {
		return nil, mserr.SelectIntoPlace()
	}
	name := intoName(q.Body)
	if name == nil {
		return nil, nil
	}
	into := &Into{Schema: name.Schema(), Name: name.Last()}
	for _, c := range r.cols {
		into.Identity = append(into.Identity, nil)
		if c.auto != nil && c.auto.base.Auto != nil && r.core != nil {
			if _, ok := r.core.from.(*source); ok {
				into.Identity[len(into.Identity)-1] = c.auto.base.Auto
			}
		}
	}
	if name.Server() != "" {
		return nil, mserr.NoServer(name.Server())
	}
	if catalog.IsLocalTemp(name.Last()) {
		return into, nil
	}
	db, in := b.place.db, name.Database()
	if catalog.IsGlobalTemp(name.Last()) {
		in, into.Schema = tempDatabase, "dbo"
	}
	if in != "" {
		var err error
		if db, err = b.scope.Database(in); err != nil {
			return nil, err
		}
	}
	into.DatabaseID = db.ID
	if into.Schema == "" {
		into.Schema = b.place.schemas[0]
	}
	return into, nil
}

// intoName returns the INTO target of a query's first SELECT, or nil.
func intoName(body syntax.QueryBody) *syntax.ObjectName {
	for {
		switch q := unparen(body).(type) {
		case *syntax.SetOp:
			body = q.X
		case *syntax.Select:
			return q.Into
		default:
			return nil
		}
	}
}

// intoLater reports whether a query of a set operation other than the first one has an INTO.
func intoLater(body syntax.QueryBody) bool {
	s, ok := unparen(body).(*syntax.SetOp)
	return ok && (intoName(s.Y) != nil || intoLater(s.X) || intoLater(s.Y))
}

// assign prepares SELECT @a = ...: the query computes the operands that do not depend on the
// assigned variables, and [Assign.Value] computes the rest from each row. Each row therefore sees
// the assignments of the rows before it.
func (p *Plan) assign(q *query, assigned []assignment) *query {
	names := map[string]bool{}
	for _, a := range assigned {
		names[catalog.Fold(a.variable)] = true
	}
	r := *q
	c := *q.core
	r.core, c.items, r.cols = &c, nil, nil
	if c.distinct {
		// DISTINCT compares whole rows, so the query has to compute all items.
		names = nil
		c.items = q.core.items
		r.cols = q.cols
		for i, a := range assigned {
			p.Assign = append(
				p.Assign,
				Assign{Variable: a.variable, Type: a.n.typ, node: &node{op: opField, typ: a.n.typ, col: i}},
			)
		}
		return &r
	}
	for _, a := range assigned {
		n := a.n.replace(func(x *node) *node {
			if x.readsAny(names) && x.sub == nil && x.agg == nil {
				return nil
			}
			if x.op == opConst || x.op == opVar {
				return x
			}
			for i, item := range c.items {
				if sameNode(item, x) {
					return &node{op: opField, typ: x.typ, col: i}
				}
			}
			c.items = append(c.items, x)
			r.cols = append(r.cols, outColumn{typ: x.typ})
			return &node{op: opField, typ: x.typ, col: len(c.items) - 1}
		})
		p.Assign = append(p.Assign, Assign{Variable: a.variable, Type: a.n.typ, node: n})
	}
	if len(c.items) == 0 { // the query must still return one row per assignment
		c.items = append(c.items, constant(int64(1), types.IntType))
		r.cols = append(r.cols, outColumn{typ: types.IntType})
	}
	return &r
}

// readsAny reports whether a node outside subqueries reads one of the variables. The keys of names
// are folded variable names.
func (n *node) readsAny(names map[string]bool) bool {
	found := false
	n.walk(func(x *node) bool {
		found = found || x.op == opVar && names[catalog.Fold(x.name)]
		return !found
	})
	return found
}

// Scalar compiles an expression and converts it implicitly to a type; the zero type leaves the
// expression's own type. Character and binary values are cut to the length of the type, as in an
// assignment to a variable.
func (c *Compiler) Scalar(e syntax.Expr, to types.Type) (s *Scalar, err error) {
	err = c.bind(nil, func(b *binder) error {
		n, err := b.expr(e, nil)
		if err != nil {
			return err
		}
		if to.ID != 0 {
			if n, err = convertImplicit(n, to); err != nil {
				return err
			}
		}
		s, err = b.scalar(shareSequenceValues([]*node{n})[0])
		return err
	})
	if err == nil && s.Plan != nil && c.needsPastPlan(&s.Plan.Needs) {
		var past *Scalar
		if past, err = c.forEmptyPast().Scalar(e, to); err == nil {
			s.Plan.PastPlan = past.Plan
		}
	}
	return s, err
}

// Condition compiles the condition of IF and WHILE. Its value is int64 1 or 0, or nil for unknown.
func (c *Compiler) Condition(e syntax.Cond) (s *Scalar, err error) {
	err = c.bind(nil, func(b *binder) error {
		n, err := b.cond(e, nil)
		if err != nil {
			return err
		}
		s, err = b.scalar(n)
		return err
	})
	if err == nil && s.Plan != nil && c.needsPastPlan(&s.Plan.Needs) {
		var past *Scalar
		if past, err = c.forEmptyPast().Condition(e); err == nil {
			s.Plan.PastPlan = past.Plan
		}
	}
	return s, err
}

// scalar wraps a bound expression. It adds a plan only to expressions that contain subqueries.
func (b *binder) scalar(n *node) (*Scalar, error) {
	t := n.typ
	if t.ID == types.Null {
		t = types.IntType
	}
	s := &Scalar{Type: t, node: n}
	if n.traits&hasSubquery == 0 {
		s.Uses, s.Snapshots = b.needs.Uses, b.needs.Snapshots
		return s, nil
	}
	q := &query{core: &core{}}
	q.add(n, outColumn{typ: t, null: true})
	s.Plan = &Plan{Columns: q.columnTypes()}
	return s, renderPlan(s.Plan, b.needs, q)
}

// Type resolves a type as written. The result is a system type, an alias type (also in the second
// result) or a table type (the third result; the first is then zero). Missing lengths have the
// defaults of a declaration.
func (c *Compiler) Type(
	ref *syntax.TypeRef,
) (t types.Type, alias *catalog.AliasType, table *catalog.TableType, err error) {
	err = c.bind(nil, func(b *binder) error {
		t, alias, table, err = b.anyType(ref, types.Named)
		return err
	})
	return t, alias, table, err
}

// namesTemporary reports whether a query names a temporary table.
func namesTemporary(q *syntax.Query) bool {
	found := false
	syntax.Inspect(q, func(n syntax.Node) bool {
		if t, ok := n.(*syntax.TableName); ok {
			name := t.Name.Last()
			found = found || catalog.IsLocalTemp(name) || catalog.IsGlobalTemp(name)
		}
		return !found
	})
	return found
}

// View binds the query of a view or inline function and returns its columns, for CREATE VIEW and
// CREATE FUNCTION. names is the view's column list, nil if the statement has none; params are the
// parameters of the function.
func (c *Compiler) View(
	name string,
	q *syntax.Query,
	names []syntax.Ident,
	params []catalog.Param,
) (cols []types.Column, err error) {
	err = c.bind(nil, func(b *binder) error {
		if namesTemporary(q) {
			return mserr.TemporaryInView()
		}
		b.place.params = map[string]*node{}
		for _, p := range params {
			b.place.params[catalog.Fold(p.Name)] = &node{
				op:     opVar,
				typ:    p.Type,
				null:   true,
				name:   p.Name,
				traits: hasVar,
			}
		}
		r, err := b.query(q, nil, queryUse{})
		if err != nil {
			return err
		}
		if names == nil {
			for i, col := range r.cols {
				if col.name == "" {
					return mserr.ViewUnnamed(i + 1)
				}
			}
		}
		if err := checkColumnCollations(r); err != nil {
			return err
		}
		if r, err = nameColumns(r, name, names); err != nil {
			return err
		}
		if err := renderPlan(&Plan{}, b.needs, r); err != nil {
			return err
		}
		cols = r.columnTypes()
		return nil
	})
	return cols, err
}
