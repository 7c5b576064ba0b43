package dml

import (
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SelectInto compiles the INSERT of SELECT … INTO, after the table was created. database is
// the database of the table, 0 for a temporary one.
func SelectInto(binder *bind.Binder, q *syntax.Query, database int, table *catalog.Table) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	q, declared, err := IdentityOf(q)
	if err != nil {
		return d, err
	}
	r, err := b.Query(q, nil, scalar.QueryUse{Top: true})
	if err != nil {
		return d, err
	}
	t := target{table: table}
	if database != 0 {
		t.db = &catalog.Database{ID: database, Name: b.Place.DB.Name}
		b.NeedDatabase(database)
	}
	d = newDML("INSERT", t)
	identity := table.IdentityColumn()
	ins := &insertion{t: t, identity: identity, explicit: identity != nil, copied: true, hasList: true, listed: table.Columns,
		columns: table.Columns}
	if declared != nil {
		r = declared.without(r)
		ins.explicit = false
		ins.listed = slices.DeleteFunc(slices.Clone(table.Columns), func(c *catalog.Column) bool { return c == identity })
	}
	err = b.insertFrom(d, ins, r, nil, nil, nil)
	d.Needs = b.Needs
	return d, err
}

// IdentityItem is IDENTITY(type, seed, increment) in the select list of SELECT … INTO: a column of
// the new table ("IDENTITY (Function) (Transact-SQL)"). Its values come from the INSERT.
type IdentityItem struct {
	column string
	auto   *catalog.Identity
}

// IdentityOf returns a query whose select list has a constant of the type in the place of IDENTITY,
// and what IDENTITY declares; without IDENTITY, it returns q and nil.
func IdentityOf(q *syntax.Query) (*syntax.Query, *IdentityItem, error) {
	s, ok := names.Unparen(q.Body).(*syntax.Select)
	if !ok || s.Into == nil {
		return q, nil, nil
	}
	at := slices.IndexFunc(s.Items, isIdentity)
	if at < 0 {
		return q, nil, nil
	}
	if slices.ContainsFunc(s.Items[at+1:], isIdentity) {
		return nil, nil, mserr.Of(8109, s.Into.Last())
	}
	item := s.Items[at].(*syntax.SelectExpr)
	e, name := item.X.(*syntax.IdentityExpr), item.Alias.Name
	if name == "" {
		return nil, nil, mserr.MissingName()
	}
	seed, err1 := strconv.ParseInt(e.Seed, 10, 64)
	step, err2 := strconv.ParseInt(e.Increment, 10, 64)
	if err1 != nil || err2 != nil || step == 0 {
		return nil, nil, mserr.InvalidIdentityValue(e.Increment)
	}
	c, body, replaced := *q, *s, *item
	replaced.X = &syntax.CastExpr{X: &syntax.Literal{Kind: syntax.IntLit, Text: "0"}, Type: e.Type}
	body.Items = slices.Clone(s.Items)
	body.Items[at] = &replaced
	c.Body = &body
	return &c, &IdentityItem{name, &catalog.Identity{Seed: seed, Increment: step}}, nil
}

// isIdentity reports whether an item is a call of IDENTITY.
func isIdentity(item syntax.SelectItem) bool {
	e, ok := item.(*syntax.SelectExpr)
	if !ok {
		return false
	}
	_, ok = e.X.(*syntax.IdentityExpr)
	return ok
}

// Declare sets the identity of the column in the target of SELECT … INTO. Error 8108 if another
// column inherits one.
func (i *IdentityItem) Declare(into *plan.Into, q *tree.Query) error {
	for k, c := range q.Columns {
		switch {
		case c.Name == i.column:
			if ok := c.Type.IsInteger() && c.Type.ID != types.Bit || c.Type.ID == types.Decimal && c.Type.Scale == 0; !ok {
				return mserr.InvalidIdentityType(i.column)
			}
			if c.Type.IsDecimalText() {
				return mserr.NotSupported("IDENTITY on decimal columns of more than 18 digits")
			}
			into.Identity[k] = i.auto
		case into.Identity[k] != nil:
			return mserr.Of(8108, into.Name, c.Name)
		}
	}
	return nil
}

// without returns the query without the column of IDENTITY.
func (i *IdentityItem) without(q *tree.Query) *tree.Query {
	at := slices.IndexFunc(q.Columns, func(c tree.ResultColumn) bool { return c.Name == i.column })
	r, inner := *q, *q.Core
	inner.Items = slices.Delete(slices.Clone(inner.Items), at, at+1)
	r.Columns = slices.Delete(slices.Clone(r.Columns), at, at+1)
	r.Core = &inner
	return &r
}
