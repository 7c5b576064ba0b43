package change

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Bulk is a parsed INSERT BULK statement: the table and the options for its rows.
type Bulk struct {
	statement *syntax.InsertBulkStmt
	keepNulls bool // store NULL in columns with a default
	check     bool // check CHECK and foreign key constraints
	fire      bool // fire triggers
}

// NewBulk parses the options of INSERT BULK. Batch sizes and row order are hints. TABLOCK has no
// effect, because every statement locks the database. Error 40517 for an unknown option.
func NewBulk(st *syntax.InsertBulkStmt) (*Bulk, error) {
	t := &Bulk{statement: st}
	for _, o := range st.Options {
		switch strings.ToUpper(o.Name) {
		case "KEEP_NULLS":
			t.keepNulls = true
		case "CHECK_CONSTRAINTS":
			t.check = true
		case "FIRE_TRIGGERS":
			t.fire = true
		case "KEEP_IDENTITY", "TABLOCK", "ROWS_PER_BATCH", "KILOBYTES_PER_BATCH", "ORDER":
		default:
			return nil, failure.Compile(mserr.NotSupported("the option %s of INSERT BULK", strings.ToUpper(o.Name)))
		}
	}
	return t, nil
}

// Target returns the table.
func (b *Bulk) Target() *syntax.TableName { return &syntax.TableName{Name: b.statement.Table} }

// Rows describes the rows of a stream with the given columns, for compile.Compiler.InsertRows.
func (b *Bulk) Rows(columns []types.Column) compile.Rows {
	rows := compile.Rows{
		Names: make([]string, len(columns)), Columns: columns, Bulk: true, Fire: b.fire, Defaults: !b.keepNulls,
	}
	for i, c := range columns {
		rows.Names[i] = c.Name
		if i < len(b.statement.Columns) {
			rows.Names[i] = b.statement.Columns[i].Name.Name
		}
	}
	return rows
}

// Load inserts the rows of a bulk load atomically, fires its triggers, and returns the number of
// rows. p is the plan for the rows of target. next returns the next row, and io.EOF after the last.
func (x *Executor) Load(target *Bulk, p *plan.DML, next func() ([]types.Value, error)) (n int64, err error) {
	refuse := x.checkTargetWrite
	if target.fire {
		refuse = x.checkTarget
	}
	if err := refuse(p); err != nil {
		return 0, err
	}
	unchecked := !target.check && hasConstraints(p.Target)
	do := func() error {
		if !unchecked {
			n, err = x.applyRows(p, next)
			return err
		}
		return x.s.Conn.Unchecked(x.ctx, func() error {
			n, err = x.applyRows(p, next)
			return err
		})
	}
	if p.Database == 0 {
		err = x.Sequences.Around(&p.Needs, func() error { return x.changeLocal(p, true, do) })
		return n, err
	}
	d := x.s.DatabaseByID(p.Database)
	if (unchecked || !target.fire && len(p.Target.Triggers) > 0) && !x.s.MayAlter(d, p.Target) {
		return 0, mserr.NoObjectOrPermission(target.statement.Table.String()) // documentation of bcp, "Permissions"
	}
	insert := func() error {
		if err := do(); err != nil || !unchecked {
			return err
		}
		return x.markUntrusted(d, p.Target.ObjectID)
	}
	if !target.fire || !p.Fires {
		err = x.s.Atomic(x.ctx, session.Scope{Databases: p.Databases, Several: true}, insert)
		return n, err
	}
	fire := x.withTriggers(p, func() (int64, error) {
		err := insert()
		return n, err
	})
	err = x.inTransaction(func() error { return x.s.Atomic(x.ctx, session.Scope{Databases: p.Databases, Several: true}, fire) })
	return n, err
}

// hasConstraints reports whether a table has enabled CHECK or foreign key constraints.
func hasConstraints(t *catalog.Table) bool {
	return slices.ContainsFunc(t.Checks, func(c *catalog.Check) bool { return !c.Disabled }) ||
		slices.ContainsFunc(t.ForeignKeys, func(f *catalog.ForeignKey) bool { return !f.Disabled })
}

// markUntrusted marks the constraints of a table that rows may now violate (documentation of BULK
// INSERT, CHECK_CONSTRAINTS: without it "the constraint on the table is marked as not-trusted").
func (x *Executor) markUntrusted(d *catalog.Database, table int32) error {
	return x.s.Edit(x.ctx, d, func(e *catalog.Edit) error {
		t := e.Database().TableByID(table).Clone()
		for _, c := range t.Checks {
			c.NotTrusted = true
		}
		for _, f := range t.ForeignKeys {
			f.NotTrusted = true
		}
		return e.ReplaceTable(t, nil)
	})
}
