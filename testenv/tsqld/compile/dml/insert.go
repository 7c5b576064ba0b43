package dml

import (
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// insertion is the part of an INSERT that does not depend on the source of the rows.
type insertion struct {
	t        target
	listed   []*catalog.Column // columns for which the statement has values
	columns  []*catalog.Column // columns that the SQL INSERT lists
	identity *catalog.Column   // nil if the table has none
	explicit bool              // IDENTITY_INSERT is ON
	copied   bool              // SELECT INTO, which copies rowversions
	instead  *plan.Instead     // trigger that runs in place of the INSERT, or nil
	defaults bool              // NULL in the rows means the column's default, if there is one
}

// insertColumns resolves the column list. names is nil if the statement has none; values is the
// number of values in a row. Errors: 207, 264, 271, 273, 544, 545, 8101.
func (b *builder) insertColumns(t target, names []syntax.Ident, values int) (*insertion, error) {
	return b.insertColumnsOf(t, names, values, b.Scope.IdentityInsert(t.table))
}

// insertColumnsOf implements insertColumns. explicit is set if the statement gives identity values.
func (b *builder) insertColumnsOf(t target, names []syntax.Ident, values int, explicit bool) (*insertion, error) {
	ins := &insertion{t: t, identity: t.table.IdentityColumn()}
	if b.instead != nil && b.instead.Shape == t.table {
		ins.instead = b.instead
	}
	ins.explicit = ins.identity != nil && explicit
	for _, c := range t.table.Columns {
		if isStored(c) {
			ins.columns = append(ins.columns, c)
		}
		if names == nil && isStored(c) && (c != ins.identity || ins.explicit) {
			ins.listed = append(ins.listed, c)
		}
	}
	if names == nil {
		if ins.explicit {
			return nil, mserr.IdentityColumnList(t.shortName())
		}
		if ins.identity != nil && !ins.explicit && values == len(ins.listed)+1 {
			return nil, mserr.IdentityColumnList(t.shortName())
		}
		return ins, nil
	}
	for _, name := range names {
		c := t.table.Column(name.Name)
		switch {
		case c == nil:
			return nil, mserr.InvalidColumn(name.Name)
		case ins.given(c):
			return nil, mserr.DuplicateSetColumn(c.Name)
		case c.Formula != nil:
			return nil, mserr.NotModifiable(c.Name)
		case c == ins.identity && !ins.explicit:
			return nil, mserr.IdentityInsertOff(t.shortName())
		}
		ins.listed = append(ins.listed, c)
	}
	if ins.explicit && !ins.given(ins.identity) {
		return nil, mserr.IdentityValueRequired(t.shortName())
	}
	return ins, nil
}

// given reports whether the statement has values for a column.
func (ins *insertion) given(c *catalog.Column) bool {
	return slices.Contains(ins.listed, c)
}

// check compares the number of values with the number of columns. Errors: 213 without a column
// list, 120 and 121 with one.
func (ins *insertion) check(list bool, values int) error {
	switch {
	case values == len(ins.listed):
		return nil
	case !list:
		return mserr.ColumnCount()
	case values < len(ins.listed):
		return mserr.SelectFewerThanInsert()
	}
	return mserr.SelectMoreThanInsert()
}

// generates reports whether the server generates the identity values.
func (ins *insertion) generates() bool { return ins.identity != nil && !ins.given(ins.identity) }

// row returns the values of all columns of a row. given are the values of the statement, nil for
// DEFAULT; identity is the node of a generated identity value.
func (ins *insertion) row(b *builder, statement string, given []*tree.Node, identity *tree.Node) ([]*tree.Node, error) {
	out := make([]*tree.Node, len(ins.columns))
	for i, c := range ins.columns {
		var n *tree.Node
		var err error
		at := -1
		for k, x := range ins.listed {
			if x == c {
				at = k
			}
		}
		switch {
		case c.Type.ID == types.RowVersion && !ins.copied:
			if at >= 0 && given[at] != nil && !given[at].IsNullConst() {
				return nil, mserr.InsertRowVersion()
			}
			n = newRowVersion(ins.t)
		case at < 0 && c == ins.identity:
			n = identity
		case c == ins.identity && (given[at] == nil || given[at].IsNullConst()):
			return nil, mserr.NoIdentityValue()
		case at < 0 || given[at] == nil:
			n, err = b.defaultValue(ins.t, statement, c)
		case ins.defaults && c.Default != nil:
			n, err = b.valueOrDefault(ins.t, statement, c, given[at])
		default:
			n, err = b.storeValue(ins.t, statement, c, given[at])
			if err == nil && c == ins.identity {
				n = reportIdentity(n)
			}
		}
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return expr.ShareSequenceValues(out), nil
}

// head writes INSERT INTO t(columns).
func (ins *insertion) head(r *lower.Renderer) {
	r.WriteString("INSERT INTO " + ins.t.sql() + "(")
	for i, c := range ins.columns {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(c.SQLName)
	}
	if len(ins.columns) == 0 { // only computed columns
		r.WriteString("rowid")
	}
	r.WriteString(") ")
}

// tail writes the ON CONFLICT clauses of indexes that ignore duplicates.
func (ins *insertion) tail(r *lower.Renderer, d *plan.DML) {
	for _, ix := range ins.t.table.Indexes {
		if !ix.IgnoreDups || ix.Disabled {
			continue
		}
		d.IgnoreDups = true
		for _, conflictTarget := range ins.t.table.Conflicts(ix) {
			r.WriteString(" ON CONFLICT " + conflictTarget + " DO NOTHING")
		}
	}
}

// ignoresDups reports whether an index of the target ignores duplicates.
func (ins *insertion) ignoresDups() bool {
	return slices.ContainsFunc(
		ins.t.table.Indexes,
		func(ix *catalog.Index) bool { return ix.IgnoreDups && !ix.Disabled },
	)
}

// errIgnoredOutput refuses an OUTPUT clause that would return rows that the statement skips.
var errIgnoredOutput = mserr.NotSupported("this OUTPUT clause of an INSERT into a table with IGNORE_DUP_KEY = ON")

// runIdentity returns the identity value of the i-th row of a statement with a known number of
// rows.
func (ins *insertion) runIdentity(i int) (*tree.Node, error) {
	step := ins.identity.Auto.Increment * int64(i)
	n := &tree.Node{
		Op:     tree.OpRun,
		Type:   types.BigIntType,
		Traits: tree.HasRun,
		Run:    func(r *tree.Run) types.Value { return r.Identity + step },
	}
	return fromIdentity(n, ins.identity)
}

// fromIdentity converts an identity value to the column's type.
func fromIdentity(n *tree.Node, c *catalog.Column) (*tree.Node, error) {
	if c.Type.IsInteger() {
		r := *n
		r.Type = c.Type
		return &r, nil
	}
	return expr.Convert(n, c.Type, types.NoStyle, false)
}

// countedIdentity returns the identity value of a row. number is SQL for the row's number, from 1.
func (ins *insertion) countedIdentity(number string) (*tree.Node, error) {
	return ins.identityFrom(number, func(r *tree.Run) types.Value { return r.Identity })
}

// identityFrom returns the identity value of a row. number is SQL for the row's number, from 1;
// first returns the value of the first row.
func (ins *insertion) identityFrom(number string, first func(*tree.Run) types.Value) (*tree.Node, error) {
	base := &tree.Node{Op: tree.OpRun, Type: types.BigIntType, Traits: tree.HasRun, Run: first}
	n := tree.Build(tree.OpSQL, types.BigIntType, base)
	n.Traits |= tree.HasColumn
	n.Name = " + (" + number + " - 1) * " + strconv.Itoa(int(ins.identity.Auto.Increment))
	return fromIdentity(n, ins.identity)
}

// reportIdentity wraps an explicit identity value in a call that reports the value to the
// interpreter.
func reportIdentity(n *tree.Node) *tree.Node {
	r := tree.Build(tree.OpLocal, n.Type, n)
	r.Key = keys.LocalIdentity
	r.Traits |= r.Own()
	return r
}

// noteIdentity records how many identity values the statement takes. rows is -1 for one per
// inserted row.
func (ins *insertion) noteIdentity(d *plan.DML, rows int) {
	if ins.generates() {
		d.Identity = &plan.IdentityNeed{Column: ins.identity, Identity: *ins.identity.Auto, Rows: rows}
	} else if ins.identity != nil && ins.explicit {
		d.IdentityGiven = true
	}
}

// Insert compiles an INSERT other than INSERT … EXEC.
func Insert(binder *bind.Binder, s *syntax.InsertStmt) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	if err := b.With(s.With); err != nil {
		return d, err
	}
	t, instead, through, err := b.insertTarget(s.Target, s.Columns)
	if err != nil {
		return d, err
	}
	if through != nil && hasCheckOption(through.src) {
		b.checked = through.src
	}
	if instead != nil && s.Output != nil {
		return d, mserr.OutputTargetTriggers(t.table.Name)
	}
	b.instead = instead
	d = newDML("INSERT", t)
	switch src := s.Source.(type) {
	case *syntax.InsertValues:
		st, verr := through.throughView(s, len(src.Rows[0]))
		if verr != nil {
			return d, verr
		}
		err = b.insertValues(d, t, st, src.Rows)
	case *syntax.InsertDefaults:
		err = b.insertValues(d, t, s, [][]syntax.Expr{{}})
	case *syntax.InsertQuery:
		var q *tree.Query
		var assigned []scalar.Assignment
		if q, err = b.Query(
			src.Query,
			nil,
			scalar.QueryUse{Ordered: true, Assigned: &assigned},
		); err == nil &&
			len(assigned) > 0 {
			err = mserr.InsertAssigns()
		} else if err == nil {
			d.NeedsPastRows = rewrite.NeedsPastRows(q)
			var st *syntax.InsertStmt
			if st, err = through.throughView(s, len(q.Columns)); err == nil {
				err = b.insertRowsOf(d, t, st, q)
			}
		}
	default:
		err = mserr.NotSupported("INSERT with this kind of source")
	}
	d.Needs = b.Needs
	return d, err
}

// insertValues compiles INSERT with VALUES and DEFAULT VALUES. Errors: 109, 110 and 213 for a wrong
// number of values, 10709 for rows of different lengths.
func (b *builder) insertValues(d *plan.DML, t target, s *syntax.InsertStmt, rows [][]syntax.Expr) error {
	if s.Top != nil {
		return mserr.NotSupported("INSERT TOP ... VALUES")
	}
	_, defaults := s.Source.(*syntax.InsertDefaults)
	var ins *insertion
	var err error
	if defaults {
		ins, err = b.insertColumns(t, []syntax.Ident{}, 0)
	} else {
		ins, err = b.insertColumns(t, s.Columns, len(rows[0]))
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch {
		case len(row) != len(rows[0]):
			return mserr.RowConstructorCount()
		case defaults || len(row) == len(ins.listed):
		case s.Columns == nil:
			return mserr.ColumnCount()
		case len(row) > len(ins.listed):
			return mserr.FewerInsertColumns()
		default:
			return mserr.MoreInsertColumns()
		}
	}
	given := make([][]*tree.Node, len(rows))
	for i, row := range rows {
		given[i] = make([]*tree.Node, len(row))
		for k, e := range row {
			if _, ok := e.(*syntax.Default); ok {
				continue
			}
			n, err := b.Expr(e, &names.Level{NoColumns: true})
			if err != nil {
				return err
			}
			given[i][k] = n
		}
	}
	var returned *tree.Query
	if s.Output != nil && s.OutputInto == nil {
		returned = b.returning(t, s.Output, map[string]func(*catalog.Column) bool{"inserted": always})
	}
	if s.Output != nil && returned == nil || s.OutputInto != nil || ins.instead != nil || b.checked != nil {
		if ins.ignoresDups() {
			return errIgnoredOutput
		}
		return b.spoolValues(d, ins, s, given)
	}
	d.Tried = len(given)
	r := &lower.Renderer{}
	ins.head(r)
	r.WriteString("VALUES ")
	for i := range given {
		var identity *tree.Node
		if ins.generates() {
			if identity, err = ins.runIdentity(i); err != nil {
				return err
			}
		}
		row, err := ins.row(b, "INSERT", given[i], identity)
		if err != nil {
			return err
		}
		if i > 0 {
			r.WriteString(", ")
		}
		r.Tuple(row)
	}
	ins.tail(r, d)
	ins.noteIdentity(d, len(given))
	return emitChange(d, r, returned)
}

// spoolValues compiles INSERT ... VALUES with OUTPUT.
func (b *builder) spoolValues(d *plan.DML, ins *insertion, s *syntax.InsertStmt, given [][]*tree.Node) error {
	sp := b.newSpool()
	identity, err := ins.spoolIdentity(sp)
	if err != nil {
		return err
	}
	var rows [][]*tree.Node
	for _, g := range given {
		row, err := ins.row(b, "INSERT", g, identity)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	// The spool has one column for each filled column of the target. Its expressions are those of
	// the first row.
	held := map[*catalog.Column]*tree.Node{}
	for i, c := range ins.columns {
		if c == ins.identity && ins.generates() {
			held[c] = identity
			continue
		}
		sp.exprs = append(sp.exprs, rows[0][i])
		sp.src.Columns = append(
			sp.src.Columns,
			tree.SourceColumn{Type: c.Type, Null: c.Nullable, Label: tree.LabelImplicit, SQL: "s" + strconv.Itoa(len(sp.exprs))},
		)
		held[c] = tree.ColumnNode(sp.src, len(sp.exprs)-1)
	}
	out, err := b.finishInserted(d, ins, s.OutputInto, s.Output, sp, held)
	if err != nil {
		return err
	}
	r := &lower.Renderer{}
	sp.into(r)
	r.WriteString("VALUES ")
	for i, row := range rows {
		if i > 0 {
			r.WriteString(", ")
		}
		var vals []*tree.Node
		for k, c := range ins.columns {
			if c != ins.identity || !ins.generates() {
				vals = append(vals, row[k])
			}
		}
		r.Tuple(vals)
	}
	st, err := r.Statement()
	if err != nil {
		return err
	}
	d.Prepare = append(d.Prepare, st)
	return b.insertFromSpool(d, ins, sp, held, out, nil)
}

// spoolIdentity returns the identity value of a row of the spool, or nil if the server generates
// none.
func (ins *insertion) spoolIdentity(sp *spool) (*tree.Node, error) {
	if !ins.generates() {
		return nil, nil
	}
	if ins.instead != nil {
		return expr.Convert(tree.Constant(int64(0), types.BigIntType), ins.identity.Type, types.NoStyle, false)
	}
	return ins.countedIdentity(sp.src.Alias + "." + rowNumber)
}

// finishInserted compiles OUTPUT of an INSERT, and the check of WITH CHECK OPTION, over the rows of
// a spool, and creates the spool. held are the values of the columns.
func (b *builder) finishInserted(
	d *plan.DML, ins *insertion, into, client *syntax.Output, sp *spool, held map[*catalog.Column]*tree.Node,
) (*outputs, error) {
	value := func(c *catalog.Column) (*tree.Node, error) { return held[c], nil }
	level := &names.Level{Sources: []*tree.Source{b.pseudo("inserted", ins.t, value)}}
	out, err := b.output(into, client, level, sp)
	if err != nil {
		return nil, err
	}
	var check *tree.Node
	if b.checked != nil {
		if check, err = viewCheck(b.checked, b.pseudo("inserted", ins.t, value)); err != nil {
			return nil, err
		}
	}
	sp.finish(b, d)
	return out, sp.emitCheck(d, check)
}

// insertFromSpool adds the statement that inserts the rows of a filled spool, and the statements of
// OUTPUT.
func (b *builder) insertFromSpool(
	d *plan.DML,
	ins *insertion,
	sp *spool,
	held map[*catalog.Column]*tree.Node,
	out *outputs,
	returned *tree.Query,
) error {
	q := &tree.Query{Core: &tree.Core{From: sp.src}, Order: []tree.OrderTerm{{Node: sp.number()}}}
	for _, c := range ins.columns {
		q.Core.Items = append(q.Core.Items, held[c])
	}
	if ins.instead != nil {
		if err := sp.emitInstead(d, ins.instead, transitionRows{inserted: append([]*tree.Node{}, q.Core.Items...)}, nil); err != nil {
			return err
		}
		return out.emit(b, d)
	}
	if len(q.Core.Items) == 0 {
		q.Core.Items = []*tree.Node{tree.NullOf(types.IntType)}
	}
	r := &lower.Renderer{}
	ins.head(r)
	q.Core.Where = alwaysTrue
	r.Query(q)
	ins.tail(r, d)
	ins.noteIdentity(d, -1)
	if len(d.Apply) == 0 || returned != nil {
		if err := emitChange(d, r, returned); err != nil || returned != nil {
			return err
		}
		return out.emit(b, d)
	}
	st, err := r.Statement()
	if err != nil {
		return err
	}
	d.Apply = append(d.Apply, st)
	return out.emit(b, d)
}

// alwaysTrue is a true condition. SQLite's parser requires a WHERE in INSERT ... SELECT ... ON
// CONFLICT.
var alwaysTrue = tree.Constant(int64(1), types.BitType)

// insertRowsOf compiles INSERT ... SELECT.
func (b *builder) insertRowsOf(d *plan.DML, t target, s *syntax.InsertStmt, q *tree.Query) error {
	ins, err := b.insertColumns(t, s.Columns, len(q.Columns))
	if err != nil {
		return err
	}
	if err := ins.check(s.Columns != nil, len(q.Columns)); err != nil {
		return err
	}
	return b.insertFrom(d, ins, q, s.Top, s.OutputInto, s.Output)
}

// wrapped returns a query over the rows of q, in their order. Expressions added to the outer query
// are evaluated in that order.
func (b *builder) wrapped(q *tree.Query) *tree.Query {
	if len(q.Order) == 0 && q.Limit == nil && q.Offset == nil {
		return tree.SelectAll(q.Source(b.Alias("q"), ""))
	}
	o := *q
	if q.Percent || q.Ties { // the SQL of these does not end with LIMIT
		o = *tree.SelectAll(q.Source(b.Alias("q"), ""))
	}
	// OFFSET keeps SQLite from merging the two SELECTs, which would evaluate all expressions before
	// the sort.
	if o.Limit == nil {
		o.Limit = tree.Constant(int64(-1), types.BigIntType)
	}
	if o.Offset == nil {
		o.Offset = tree.Constant(int64(0), types.BigIntType)
	}
	return tree.SelectAll(o.Source(b.Alias("q"), ""))
}

// insertFrom compiles the INSERT of a query's rows.
func (b *builder) insertFrom(d *plan.DML, ins *insertion, q *tree.Query, top *syntax.Top, into, client *syntax.Output) error {
	if q.Core == nil || q.Core.Distinct || q.Core.Grouped || q.Limit != nil || q.Offset != nil ||
		q.Document != tree.DocumentNone ||
		top != nil {
		q = b.wrapped(q)
		if top != nil {
			if top.Percent {
				return mserr.NotSupported("INSERT TOP ... PERCENT")
			}
			n, err := b.TopCount(top, &names.Level{})
			if err != nil {
				return err
			}
			q.Limit = n
		}
	}
	var returned *tree.Query
	if client != nil && into == nil {
		returned = b.returning(ins.t, client, map[string]func(*catalog.Column) bool{"inserted": always})
	}
	if into != nil || client != nil && returned == nil || ins.instead != nil || b.checked != nil {
		if ins.ignoresDups() {
			return errIgnoredOutput
		}
		return b.spoolRows(d, ins, q, into, client, nil)
	}
	if ins.ignoresDups() { // the number of rows tried must be known
		return b.spoolRows(d, ins, q, nil, nil, returned)
	}
	var identity *tree.Node
	var err error
	if ins.identity != nil && len(q.Order) > 0 {
		q = b.wrapped(q)
	}
	if ins.generates() {
		if identity, err = fromIdentity(
			&tree.Node{Op: tree.OpSQL, Type: types.BigIntType, Name: store.CounterFunc + "()", Traits: tree.HasColumn | tree.HasPerRow},
			ins.identity,
		); err != nil {
			return err
		}
	}
	row, err := ins.row(b, "INSERT", q.Core.Items, identity)
	if err != nil {
		return err
	}
	c := *q.Core
	c.Items = row
	if c.Where == nil {
		c.Where = alwaysTrue
	}
	if len(row) == 0 {
		c.Items = []*tree.Node{tree.NullOf(types.IntType)}
	}
	r := &lower.Renderer{}
	ins.head(r)
	f := *q
	f.Core = &c
	r.Query(&f)
	ins.tail(r, d)
	ins.noteIdentity(d, -1)
	if d.Identity != nil {
		d.Identity.Counted = true
	}
	return emitChange(d, r, returned)
}

// spoolRows compiles an INSERT ... SELECT with a spool. OUTPUT is read from the spool, or, if
// returned is set, from RETURNING.
func (b *builder) spoolRows(d *plan.DML, ins *insertion, q *tree.Query, into, client *syntax.Output, returned *tree.Query) error {
	sp := b.newSpool()
	identity, err := ins.spoolIdentity(sp)
	if err != nil {
		return err
	}
	row, err := ins.row(b, "INSERT", q.Core.Items, identity)
	if err != nil {
		return err
	}
	held := map[*catalog.Column]*tree.Node{}
	for i, c := range ins.columns {
		if held[c] = row[i]; row[i] != identity {
			held[c] = sp.capture(row[i])
		}
	}
	out, err := b.finishInserted(d, ins, into, client, sp, held)
	if err != nil {
		return err
	}
	st, err := sp.fill(q, false)
	if err != nil {
		return err
	}
	d.Prepare = append(d.Prepare, st)
	return b.insertFromSpool(d, ins, sp, held, out, returned)
}

// Rows describes the rows of [InsertRows].
type Rows struct {
	// Names are the columns of the target to fill; nil means all columns that can be inserted.
	Names []string
	// Columns are the types of the values in a row.
	Columns []types.Column
	// Bulk is set for a bulk load: an identity column among Names gets its values from the rows.
	Bulk bool
	// Fire is set for a bulk load that fires triggers.
	Fire bool
	// Defaults is set if NULL means the column's default, where there is one.
	Defaults bool
}

// InsertRows compiles an INSERT whose rows come from the interpreter.
func InsertRows(binder *bind.Binder, ts syntax.TableSource, rows Rows) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	names, columns := rows.Names, rows.Columns
	var idents []syntax.Ident
	for _, n := range names {
		idents = append(idents, syntax.Ident{Name: n})
	}
	t, instead, through, err := b.insertTarget(ts, idents)
	if err != nil {
		return d, err
	}
	if through != nil {
		if hasCheckOption(through.src) {
			return d, mserr.NotSupported("INSERT ... EXEC or a bulk load into a view under WITH CHECK OPTION")
		}
		idents = through.names
	}
	if instead != nil && rows.Bulk && !rows.Fire {
		instead = nil
		if t, err = b.tableTarget(ts); err != nil {
			return d, err
		}
	}
	b.instead = instead
	explicit := b.Scope.IdentityInsert(t.table)
	if id := t.table.IdentityColumn(); rows.Bulk && id != nil {
		explicit = slices.ContainsFunc(
			idents,
			func(name syntax.Ident) bool { return t.table.Names().Equal(name.Name, id.Name) },
		)
	}
	ins, err := b.insertColumnsOf(t, idents, len(columns), explicit)
	if err != nil {
		return d, err
	}
	ins.defaults = rows.Defaults
	if err := ins.check(false, len(columns)); err != nil {
		return d, err
	}
	given := make([]*tree.Node, len(columns))
	for i, col := range columns {
		given[i] = &tree.Node{
			Op:     tree.OpRun,
			Type:   col.Type,
			Null:   true,
			Traits: tree.HasRun,
			Run:    func(r *tree.Run) types.Value { return r.Row[i] },
		}
	}
	var identity *tree.Node
	switch {
	case ins.generates() && instead != nil:
		identity, err = ins.spoolIdentity(nil)
	case ins.generates():
		identity, err = ins.runIdentity(0)
	}
	if err != nil {
		return d, err
	}
	row, err := ins.row(b, "INSERT", given, identity)
	if err != nil {
		return d, err
	}
	d = newDML("INSERT", t)
	r := &lower.Renderer{}
	if instead != nil {
		d.Needs = b.Needs
		r.WriteString("SELECT ")
		r.List(row)
		instead.Inserted, err = r.Statement()
		setInstead(d, instead)
		return d, err
	}
	ins.head(r)
	r.WriteString("VALUES ")
	r.Tuple(row)
	ins.tail(r, d)
	ins.noteIdentity(d, 1)
	st, err := r.Statement()
	d.Apply = []plan.Statement{st}
	d.Needs = b.Needs
	return d, err
}
