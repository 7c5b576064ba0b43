package exec

import (
	"context"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// bulkTarget is a parsed INSERT BULK statement: the table and the options for its rows.
type bulkTarget struct {
	statement *syntax.InsertBulkStmt
	keepNulls bool // store NULL in columns with a default
	check     bool // check CHECK and foreign key constraints
	fire      bool // fire triggers
}

// Bulk loads the rows of an INSERT BULK. For errors see Batch.
func (s *Session) Bulk(ctx context.Context, load BulkLoad, sink answer.Sink) error {
	return s.serve(ctx, sink, "BULK INSERT", func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.DefaultSchema(), owner: -1, line: 1}
		return calls{r}.inFrame(f, func() error { return r.settle(nil, rowChanges{r}.bulk(load)) })
	})
}

// prepareBulk executes the statement INSERT BULK. The rows follow in a request of their own.
func (r rowChanges) prepareBulk(st *syntax.InsertBulkStmt) error {
	target, err := newBulkTarget(st)
	if err != nil {
		return err
	}
	if err := r.findBulkTable(st.Table); err != nil {
		return err
	}
	r.s.bulk = target
	return nil
}

// newBulkTarget parses the options of INSERT BULK. Batch sizes and row order are hints. TABLOCK has
// no effect, because every statement locks the database.
func newBulkTarget(st *syntax.InsertBulkStmt) (*bulkTarget, error) {
	t := &bulkTarget{statement: st}
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

// findBulkTable returns error 208 if there is no table with the name.
func (r rowChanges) findBulkTable(name *syntax.ObjectName) error {
	if r.localTable(name.Last()) != nil {
		return nil
	}
	o, _, err := r.object(name)
	if err == nil && o == nil {
		err = mserr.InvalidObject(name.String())
	}
	return err
}

// bulk executes the request of Bulk.
func (r rowChanges) bulk(load BulkLoad) error {
	target := r.s.bulk
	r.s.bulk = nil
	if load.Statement != "" {
		b, err := syntax.Parse(load.Statement, syntax.Options{QuotedIdentifier: r.s.Options.QuotedIdentifier})
		if err != nil {
			return err
		}
		if len(b.Stmts) != 1 {
			return mserr.Syntax("BULK")
		}
		st, ok := b.Stmts[0].(*syntax.InsertBulkStmt)
		if !ok {
			return mserr.Syntax("BULK")
		}
		if target, err = newBulkTarget(st); err != nil {
			return err
		}
	}
	if target == nil {
		return mserr.New(4002, 16,
			"The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended unexpectedly.")
	}
	if err := transactions(r).startImplicitly(); err != nil {
		return err
	}
	n, err := r.load(target, load)
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandBulkInsert)
}

// load inserts the rows of a bulk load atomically.
func (r rowChanges) load(target *bulkTarget, load BulkLoad) (n int64, err error) {
	st := target.statement
	rows := compile.Rows{
		Names: make([]string, len(load.Columns)), Columns: load.Columns, Bulk: true, Fire: target.fire, Defaults: !target.keepNulls,
	}
	for i, c := range load.Columns {
		rows.Names[i] = c.Name
		if i < len(st.Columns) {
			rows.Names[i] = st.Columns[i].Name.Name
		}
	}
	dml, err := r.compiler().InsertRows(&syntax.TableName{Name: st.Table}, rows)
	if err != nil {
		return 0, failure.Compile(err)
	}
	refuse := r.checkTargetWrite
	if target.fire {
		refuse = r.checkTarget
	}
	if err := refuse(dml); err != nil {
		return 0, err
	}
	unchecked := !target.check && hasConstraints(dml.Target)
	do := func() error {
		if !unchecked {
			n, err = r.applyRows(dml, load.Next)
			return err
		}
		return r.s.Conn.Unchecked(r.ctx, func() error {
			n, err = r.applyRows(dml, load.Next)
			return err
		})
	}
	if dml.Database == 0 {
		err = queries(r).withSequences(&dml.Needs, func() error { return r.changeLocalRows(dml, do) })
		return n, err
	}
	d := r.s.DatabaseByID(dml.Database)
	if (unchecked || !target.fire && len(dml.Target.Triggers) > 0) && !r.s.MayAlter(d, dml.Target) {
		return 0, mserr.NoObjectOrPermission(st.Table.String()) // documentation of bcp, "Permissions"
	}
	insert := func() error {
		if err := do(); err != nil || !unchecked {
			return err
		}
		return r.markUntrusted(d, dml.Target.ObjectID)
	}
	if !target.fire || !dml.Fires {
		err = r.s.Atomic(r.ctx, dml.Databases, true, insert)
		return n, err
	}
	fire := triggers(r).withTriggers(dml, func() (int64, error) {
		err := insert()
		return n, err
	})
	err = triggers(r).inTransaction(func() error { return r.s.Atomic(r.ctx, dml.Databases, true, fire) })
	return n, err
}

// hasConstraints reports whether a table has enabled CHECK or foreign key constraints.
func hasConstraints(t *catalog.Table) bool {
	return slices.ContainsFunc(t.Checks, func(c *catalog.Check) bool { return !c.Disabled }) ||
		slices.ContainsFunc(t.ForeignKeys, func(f *catalog.ForeignKey) bool { return !f.Disabled })
}

// markUntrusted marks the constraints of a table that rows may now violate (documentation of BULK
// INSERT, CHECK_CONSTRAINTS: without it "the constraint on the table is marked as not-trusted").
func (r rowChanges) markUntrusted(d *catalog.Database, table int32) error {
	return r.s.Edit(r.ctx, d, func(e *catalog.Edit) error {
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
