package compile

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Compiler compiles the statements of one scope. A Compiler keeps no state between calls. All
// errors are *mserr.Error without a line number.
type Compiler struct {
	scope     Scope
	deduction *tree.Deduction // parameters without a declaration; nil for none
	emptyPast bool            // sources with READPAST are compiled as empty tables
}

// New returns a compiler for the statements of a scope.
func New(scope Scope) *Compiler { return &Compiler{scope: scope} }

// bind calls f with a new binder that has read the hints of OPTION.
func (c *Compiler) bind(hints []*syntax.Option, f func(*binder) error) error {
	b, err := newBinder(c.scope, hints, c.emptyPast, c.deduction)
	if err == nil {
		err = f(b)
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
func (c *Compiler) Select(q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	return c.query(q, hints, false)
}

// query implements Select, and Browse if browse is set.
func (c *Compiler) query(q *syntax.Query, hints []*syntax.Option, browse bool) (p *plan.Plan, err error) {
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
		if err := expr.CheckColumnCollations(r); err != nil {
			return err
		}
		p = &plan.Plan{}
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
			r = assign(p, r, assigned)
		} else if browse && p.Into == nil {
			p.Columns = browseColumns(r)
		} else {
			p.Columns = r.ColumnTypes()
		}
		p.Chunks = r.Document != tree.DocumentNone && r.Columns[0].Type.ID != types.XML
		if err = lower.Plan(p, b.needs, r); err == nil && len(p.ReadPast) > 0 && rewrite.NeedsPastRows(r) {
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
func (b *binder) into(q *syntax.Query, r *tree.Query) (*plan.Into, error) {
	if intoLater(q.Body) {
		return nil, mserr.SelectIntoPlace()
	}
	name := intoName(q.Body)
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

// Scalar compiles an expression and converts it implicitly to a type; the zero type leaves the
// expression's own type. Character and binary values are cut to the length of the type, as in an
// assignment to a variable.
func (c *Compiler) Scalar(e syntax.Expr, to types.Type) (s *plan.Scalar, err error) {
	err = c.bind(nil, func(b *binder) error {
		n, err := b.expr(e, nil)
		if err != nil {
			return err
		}
		if to.ID != 0 {
			if n, err = expr.ConvertImplicit(n, to); err != nil {
				return err
			}
		}
		s, err = b.scalar(expr.ShareSequenceValues([]*tree.Node{n})[0])
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
	err = c.bind(nil, func(b *binder) error {
		n, err := b.cond(e, nil)
		if err != nil {
			return err
		}
		s, err = b.scalar(n)
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

// scalar wraps a bound expression. It adds a plan only to expressions that contain subqueries.
func (b *binder) scalar(n *tree.Node) (*plan.Scalar, error) {
	t := n.Type
	if t.ID == types.Null {
		t = types.IntType
	}
	s := &plan.Scalar{Type: t, Node: n}
	if n.Traits&tree.HasSubquery == 0 {
		s.Uses, s.Snapshots = b.needs.Uses, b.needs.Snapshots
		return s, nil
	}
	q := &tree.Query{Core: &tree.Core{}}
	q.Add(n, tree.ResultColumn{Type: t, Null: true})
	s.Plan = &plan.Plan{Columns: q.ColumnTypes()}
	return s, lower.Plan(s.Plan, b.needs, q)
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
		b.place.params = map[string]*tree.Node{}
		for _, p := range params {
			b.place.params[catalog.Fold(p.Name)] = &tree.Node{
				Op:     tree.OpVar,
				Type:   p.Type,
				Null:   true,
				Name:   p.Name,
				Traits: tree.HasVar,
			}
		}
		r, err := b.query(q, nil, queryUse{})
		if err != nil {
			return err
		}
		if names == nil {
			for i, col := range r.Columns {
				if col.Name == "" {
					return mserr.ViewUnnamed(i + 1)
				}
			}
		}
		if err := expr.CheckColumnCollations(r); err != nil {
			return err
		}
		if r, err = nameColumns(r, name, names); err != nil {
			return err
		}
		if err := lower.Plan(&plan.Plan{}, b.needs, r); err != nil {
			return err
		}
		cols = r.ColumnTypes()
		return nil
	})
	return cols, err
}
