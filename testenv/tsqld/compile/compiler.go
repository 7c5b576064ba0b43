package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SystemColumns returns the columns of a system view that is defined in T-SQL, as
// sys.system_columns lists them.
func (c *Compiler) SystemColumns(db *catalog.Database, v *catalog.SystemView) ([]types.Column, error) {
	cols, err := v.Shape.Get(func() (any, error) {
		var cols []types.Column
		err := c.bind(nil, func(b *bind.Binder) error {
			src, err := b.SystemView(db, v)
			if err != nil {
				return err
			}
			for _, c := range src.Columns {
				cols = append(cols, types.Column{Name: c.Name, Type: c.Type, Nullable: c.Null})
			}
			return nil
		})
		return cols, err
	})
	if err != nil {
		return nil, err
	}
	return cols.([]types.Column), nil
}

// Browse compiles a query for browse mode (SET NO_BROWSETABLE ON). In browse mode clients get the
// origin of each column, and also the key columns of the tables: key columns that the query does
// not select are added at the end as hidden columns. See the documentation of FOR BROWSE and of
// CommandBehavior.KeyInfo.
func (c *Compiler) Browse(q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	return c.query(q, hints, true)
}

// Compiler compiles the statements of one scope. A Compiler keeps no state between calls. All
// errors are *mserr.Error without a line number.
type Compiler struct {
	scope     bind.Scope
	deduction *tree.Deduction // parameters without a declaration; nil for none
	emptyPast bool            // sources with READPAST are compiled as empty tables
}

// New returns a compiler for the statements of a scope.
func New(scope bind.Scope) *Compiler { return &Compiler{scope: scope} }

// bind calls f with a new binder that has read the hints of OPTION.
func (c *Compiler) bind(hints []*syntax.Option, f func(*bind.Binder) error) error {
	b, err := bind.New(c.scope, hints, c.emptyPast, c.deduction)
	if err == nil {
		err = f(b)
	}
	return clientError(err)
}

// Select compiles a query with the OPTION clause of its statement.
func (c *Compiler) Select(q *syntax.Query, hints []*syntax.Option) (*plan.Plan, error) {
	return c.query(q, hints, false)
}

// query implements Select, and Browse if browse is set.
func (c *Compiler) query(q *syntax.Query, hints []*syntax.Option, browse bool) (p *plan.Plan, err error) {
	err = c.bind(hints, func(b *bind.Binder) error {
		var assigned []bind.Assignment
		q, identity, err := identityOf(q)
		if err != nil {
			return err
		}
		r, err := b.Query(q, nil, bind.QueryUse{Top: true, Assigned: &assigned, Browse: browse})
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
			if err := identity.declare(p.Into, r); err != nil {
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
		in, into.Schema = bind.TempDatabase, "dbo"
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
	s, ok := bind.Unparen(body).(*syntax.SetOp)
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
		s, err = scalar(b, expr.ShareSequenceValues([]*tree.Node{n})[0])
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
		s, err = scalar(b, n)
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
func scalar(b *bind.Binder, n *tree.Node) (*plan.Scalar, error) {
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

// Type resolves a type as written. The result is a system type, an alias type (also in the second
// result) or a table type (the third result; the first is then zero). Missing lengths have the
// defaults of a declaration.
func (c *Compiler) Type(
	ref *syntax.TypeRef,
) (t types.Type, alias *catalog.AliasType, table *catalog.TableType, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		t, alias, table, err = b.AnyType(ref, types.Named)
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
	err = c.bind(nil, func(b *bind.Binder) error {
		if namesTemporary(q) {
			return mserr.TemporaryInView()
		}
		b.Place.Params = map[string]*tree.Node{}
		for _, p := range params {
			b.Place.Params[catalog.Fold(p.Name)] = &tree.Node{
				Op:     tree.OpVar,
				Type:   p.Type,
				Null:   true,
				Name:   p.Name,
				Traits: tree.HasVar,
			}
		}
		r, err := b.Query(q, nil, bind.QueryUse{})
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
		if r, err = bind.NameColumns(r, name, names); err != nil {
			return err
		}
		if err := lower.Plan(&plan.Plan{}, b.Needs, r); err != nil {
			return err
		}
		cols = r.ColumnTypes()
		return nil
	})
	return cols, err
}

// Deducing returns a compiler that accepts the parameters of d and notes their types. Its plans
// must not run.
func (c *Compiler) Deducing(d *tree.Deduction) *Compiler {
	r := *c
	r.deduction = d
	return &r
}

// forEmptyPast returns a compiler of plans in which sources with READPAST are empty.
func (c *Compiler) forEmptyPast() *Compiler {
	r := *c
	r.emptyPast = true
	return &r
}

// needsPastPlan reports whether a second plan is needed: a source has READPAST, and no other source
// asks for locks, which the second plan would not take.
func (c *Compiler) needsPastPlan(n *plan.Needs) bool {
	return !c.emptyPast && len(n.ReadPast) > 0 && !n.OtherLocks
}

// addPastPlan compiles the second plan of a statement that changes temporary tables or table
// variables. Statements that change other tables always wait for the lock to write.
func (c *Compiler) addPastPlan(d *plan.DML, again func(*Compiler) (*plan.DML, error)) (err error) {
	if d.NeedsPastRows || d.Database != 0 || d.IntoDatabase != 0 || !c.needsPastPlan(&d.Needs) {
		return nil
	}
	d.PastPlan, err = again(c.forEmptyPast())
	return err
}
