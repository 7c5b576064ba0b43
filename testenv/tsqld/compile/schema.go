package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SystemColumns returns the columns of a system view that is defined in T-SQL, as
// sys.system_columns lists them.
func (c *Compiler) SystemColumns(db *catalog.Database, v *sysviews.SystemView) ([]types.Column, error) {
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
		r, err := b.Query(q, nil, scalar.QueryUse{})
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
		if r, err = b.NameColumns(r, name, names); err != nil {
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

// Check compiles a condition on the columns of one table for a CHECK constraint: SQLite text over
// the table's columns, without parameters. Errors: 1046 for subqueries, and those of other
// expressions that a constraint cannot contain.
func (c *Compiler) Check(table *catalog.Table, e syntax.Cond) (sql string, err error) {
	return c.condition(table, e, lower.Check)
}

// Filter compiles the WHERE of an index in the form that conditions in queries have, because SQLite
// compares the two texts to decide whether a query can use the index.
func (c *Compiler) Filter(table *catalog.Table, e syntax.Cond) (sql string, err error) {
	return c.condition(table, e, lower.Schema)
}

// condition compiles a condition on the columns of one table.
func (c *Compiler) condition(table *catalog.Table, e syntax.Cond, write func(*tree.Node) (string, error)) (sql string, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		src := &tree.Source{Name: table.Name, Base: table, Names: table.Names()}
		b.TableColumns(src, nil, table)
		b.Locale = types.Locale{}
		n, err := b.Cond(e, &names.Level{Sources: []*tree.Source{src}, NoSubquery: true})
		if err != nil {
			return err
		}
		sql, err = write(n)
		return err
	})
	return sql, err
}

// Formula compiles the expression of a computed column. sql is the text for a generated column; it
// is "" for an expression that is not deterministic and must be expanded where the column is used.
// Error 1759 for a computed column that reads another one.
func (c *Compiler) Formula(table *catalog.Table, e syntax.Expr) (t types.Type, nullable bool, sql string, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		src := &tree.Source{Name: table.Name, Base: table, Names: table.Names()}
		b.TableColumns(src, nil, table)
		b.Locale = types.Locale{}
		for i := range src.Columns {
			if base := src.Columns[i].Base; base.Formula != nil || base.Computed {
				src.Columns[i].Expand = func() (*tree.Node, error) {
					return nil, mserr.Of(1759, base.Name, table.Name)
				}
			}
		}
		n, err := b.Expr(e, &names.Level{Sources: []*tree.Source{src}, NoSubquery: true})
		if err != nil {
			return err
		}
		if n.Type.ID == types.Null {
			if n, err = expr.Convert(n, types.IntType, types.NoStyle, false); err != nil {
				return err
			}
		}
		t, nullable = n.Type, n.Null
		if n.Traits&(tree.HasEnv|tree.HasPerRow|tree.HasLocal|tree.HasVar) != 0 {
			return nil
		}
		sql, err = lower.Schema(n)
		return err
	})
	return t, nullable, sql, err
}

// Default compiles the expression of a DEFAULT for a column of a type. sql is the SQLite text of a
// constant, "" for other expressions.
func (c *Compiler) Default(e syntax.Expr, to types.Type) (sql string, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		n, err := b.Expr(e, nil)
		if err != nil {
			return err
		}
		if n, err = expr.ConvertImplicit(n, to); err != nil {
			return err
		}
		if n.Traits&(tree.HasEnv|tree.HasPerRow|tree.HasLocal|tree.HasVar) != 0 {
			return nil
		}
		sql, err = lower.Schema(n)
		return err
	})
	return sql, err
}

// CheckOption returns an error if a view cannot have WITH CHECK OPTION. Error 4510.
func (c *Compiler) CheckOption(st *syntax.CreateViewStmt) error {
	return c.bind(nil, func(b *bind.Binder) error { return dml.CheckOption(b, st) })
}
