package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/cursor"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Select compiles a query with the OPTION clause of its statement.
func (c *Compiler) Select(q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	return c.query(q, hints, false)
}

// Browse compiles a query for browse mode (SET NO_BROWSETABLE ON). In browse mode clients get the
// origin of each column, and also the key columns of the tables: key columns that the query does
// not select are added at the end as hidden columns. See the documentation of FOR BROWSE and of
// CommandBehavior.KeyInfo.
func (c *Compiler) Browse(q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	return c.query(q, hints, true)
}

// query implements Select, and Browse if browse is set.
func (c *Compiler) query(q *syntax.Query, hints []*syntax.Option, browse bool) (p *plan.Plan, err error) {
	err = c.bind(hints, func(b *bind.Binder) error {
		var assigned []scalar.Assignment
		q, identity, err := dml.IdentityOf(q)
		if err != nil {
			return err
		}
		r, err := b.Query(q, nil, scalar.QueryUse{Top: true, Assigned: &assigned, Browse: browse})
		if err != nil {
			return err
		}
		if err := expr.CheckColumnCollations(r); err != nil {
			return err
		}
		p = &plan.Plan{}
		if p.Into, err = into(b, q, r); err != nil {
			return err
		}
		if identity != nil {
			if err := identity.Declare(p.Into, r); err != nil {
				return err
			}
		}
		if len(assigned) > 0 && p.Into != nil {
			return mserr.SelectIntoAssigns()
		} else if len(assigned) > 0 {
			r = assign(p, r, assigned)
		} else if browse && p.Into == nil {
			p.Columns = bind.BrowseColumns(r)
		} else {
			p.Columns = r.ColumnTypes()
		}
		p.Chunks = r.Document != tree.DocumentNone && r.Columns[0].Type.ID != types.XML
		if err = lower.Plan(p, b.Needs, r); err == nil && len(p.ReadPast) > 0 && rewrite.NeedsPastRows(r) {
			p.PastPlan = p.EmptyPlan(len(r.Columns))
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
func into(b *bind.Binder, q *syntax.Query, r *tree.Query) (*plan.Into, error) {
	if intoLater(q.Body) {
		return nil, mserr.SelectIntoPlace()
	}
	name := bind.IntoName(q.Body)
	if name == nil {
		return nil, nil
	}
	into := &plan.Into{Schema: name.Schema(), Name: name.Last()}
	for _, c := range r.Columns {
		into.Identity = append(into.Identity, nil)
		if c.Auto != nil && c.Auto.Base.Auto != nil && r.Core != nil {
			if _, ok := r.Core.From.(*tree.Source); ok {
				into.Identity[len(into.Identity)-1] = c.Auto.Base.Auto
			}
		}
	}
	if name.Server() != "" {
		return nil, mserr.NoServer(name.Server())
	}
	if catalog.IsLocalTemp(name.Last()) {
		return into, nil
	}
	db, in := b.Place.DB, name.Database()
	if catalog.IsGlobalTemp(name.Last()) {
		in, into.Schema = names.TempDatabase, "dbo"
	}
	if in != "" {
		var err error
		if db, err = b.Scope.Database(in); err != nil {
			return nil, err
		}
	}
	into.DatabaseID = db.ID
	if into.Schema == "" {
		into.Schema = b.Place.Schemas[0]
	}
	return into, nil
}

// intoLater reports whether a query of a set operation other than the first one has an INTO.
func intoLater(body syntax.QueryBody) bool {
	s, ok := names.Unparen(body).(*syntax.SetOp)
	return ok && (bind.IntoName(s.Y) != nil || intoLater(s.X) || intoLater(s.Y))
}

// Scalar compiles an expression and converts it implicitly to a type; the zero type leaves the
// expression's own type. Character and binary values are cut to the length of the type, as in an
// assignment to a variable.
func (c *Compiler) Scalar(e syntax.Expr, to types.Type) (s *plan.Scalar, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		n, err := b.Expr(e, nil)
		if err != nil {
			return err
		}
		if to.ID != 0 {
			if n, err = expr.ConvertImplicit(n, to); err != nil {
				return err
			}
		}
		s, err = scalarOf(b, expr.ShareSequenceValues([]*tree.Node{n})[0])
		return err
	})
	if err == nil && s.Plan != nil && c.needsPastPlan(&s.Plan.Needs) {
		var past *plan.Scalar
		if past, err = c.forEmptyPast().Scalar(e, to); err == nil {
			s.Plan.PastPlan = past.Plan
		}
	}
	return s, err
}

// Condition compiles the condition of IF and WHILE. Its value is int64 1 or 0, or nil for unknown.
func (c *Compiler) Condition(e syntax.Cond) (s *plan.Scalar, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		n, err := b.Cond(e, nil)
		if err != nil {
			return err
		}
		s, err = scalarOf(b, n)
		return err
	})
	if err == nil && s.Plan != nil && c.needsPastPlan(&s.Plan.Needs) {
		var past *plan.Scalar
		if past, err = c.forEmptyPast().Condition(e); err == nil {
			s.Plan.PastPlan = past.Plan
		}
	}
	return s, err
}

// scalarOf wraps a bound expression. It adds a plan only to expressions that contain subqueries.
func scalarOf(b *bind.Binder, n *tree.Node) (*plan.Scalar, error) {
	t := n.Type
	if t.ID == types.Null {
		t = types.IntType
	}
	s := &plan.Scalar{Type: t, Node: n}
	if n.Traits&tree.HasSubquery == 0 {
		s.Uses, s.Snapshots = b.Needs.Uses, b.Needs.Snapshots
		return s, nil
	}
	q := &tree.Query{Core: &tree.Core{}}
	q.Add(n, tree.ResultColumn{Type: t, Null: true})
	s.Plan = &plan.Plan{Columns: q.ColumnTypes()}
	return s, lower.Plan(s.Plan, b.Needs, q)
}

// Cursor compiles the query of a cursor. Errors: 154 for assignments, 16907 for INTO.
func (c *Compiler) Cursor(q *syntax.Query, hints []*syntax.Option, use plan.CursorUse) (p *plan.CursorPlan, err error) {
	err = c.bind(hints, func(b *bind.Binder) error {
		switch s, _ := names.Unparen(q.Body).(*syntax.Select); {
		case s != nil && slices.ContainsFunc(s.Items, isAssignment):
			return mserr.NotAllowedIn("variable assignment", "cursor declaration")
		case bind.IntoName(q.Body) != nil:
			return mserr.NotInCursor("SELECT INTO")
		}
		r, err := b.Query(q, nil, scalar.QueryUse{Top: true})
		if err != nil {
			return err
		}
		if err := expr.CheckColumnCollations(r); err != nil {
			return err
		}
		p = &plan.CursorPlan{}
		p.Columns = r.ColumnTypes()
		if use.Kind != plan.CursorStatic {
			if r, err = cursor.Navigate(b, r, use, p); err != nil {
				return err
			}
		}
		if err = lower.Plan(&p.Plan, b.Needs, r); err == nil && len(p.ReadPast) > 0 && rewrite.NeedsPastRows(r) {
			p.PastPlan = p.EmptyPlan(len(r.Columns))
		}
		return err
	})
	if err == nil && p.PastPlan == nil && c.needsPastPlan(&p.Needs) {
		var past *plan.CursorPlan
		if past, err = c.forEmptyPast().Cursor(q, hints, use); err == nil {
			p.PastPlan = &past.Plan
		}
	}
	return p, err
}

// isAssignment reports whether an item of a select list is @v = x.
func isAssignment(item syntax.SelectItem) bool {
	_, is := item.(*syntax.SelectAssign)
	return is
}

// assign prepares SELECT @a = ...: the query computes the operands that do not depend on the
// assigned variables, and [plan.Assign.Value] computes the rest from each row. Each row therefore
// sees the assignments of the rows before it.
func assign(p *plan.Plan, q *tree.Query, assigned []scalar.Assignment) *tree.Query {
	names := map[string]bool{}
	for _, a := range assigned {
		names[catalog.Fold(a.Variable)] = true
	}
	r := *q
	c := *q.Core
	r.Core, c.Items, r.Columns = &c, nil, nil
	if c.Distinct {
		// DISTINCT compares whole rows, so the query has to compute all items.
		names = nil
		c.Items = q.Core.Items
		r.Columns = q.Columns
		for i, a := range assigned {
			p.Assign = append(
				p.Assign,
				plan.Assign{Variable: a.Variable, Type: a.Value.Type, Node: &tree.Node{Op: tree.OpField, Type: a.Value.Type, Column: i}},
			)
		}
		return &r
	}
	for _, a := range assigned {
		n := a.Value.Replace(func(x *tree.Node) *tree.Node {
			if x.ReadsAny(names) && x.Query == nil && x.Aggregate == nil {
				return nil
			}
			if x.Op == tree.OpConst || x.Op == tree.OpVar {
				return x
			}
			for i, item := range c.Items {
				if tree.SameNode(item, x) {
					return &tree.Node{Op: tree.OpField, Type: x.Type, Column: i}
				}
			}
			c.Items = append(c.Items, x)
			r.Columns = append(r.Columns, tree.ResultColumn{Type: x.Type})
			return &tree.Node{Op: tree.OpField, Type: x.Type, Column: len(c.Items) - 1}
		})
		p.Assign = append(p.Assign, plan.Assign{Variable: a.Variable, Type: a.Value.Type, Node: n})
	}
	if len(c.Items) == 0 { // the query must still return one row per assignment
		c.Items = append(c.Items, tree.Constant(int64(1), types.IntType))
		r.Columns = append(r.Columns, tree.ResultColumn{Type: types.IntType})
	}
	return &r
}
