package exec

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// Bulk loads the rows of an INSERT BULK. For errors see Batch.
func (s *Session) Bulk(ctx context.Context, load BulkLoad, sink answer.Sink) error {
	return s.serve(ctx, sink, "BULK INSERT", func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.DefaultSchema(), owner: -1, line: 1}
		return calls{r}.inFrame(f, func() error { return r.settle(nil, rowChanges{r}.bulk(load)) })
	})
}

// prepareBulk executes the statement INSERT BULK. The rows follow in a request of their own.
func (r rowChanges) prepareBulk(st *syntax.InsertBulkStmt) error {
	target, err := change.NewBulk(st)
	if err != nil {
		return err
	}
	if err := r.findBulkTable(st.Table); err != nil {
		return err
	}
	r.s.bulk = target
	return nil
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
		b, err := parser.Parse(load.Statement, parser.Options{QuotedIdentifier: r.s.Options.QuotedIdentifier})
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
		if target, err = change.NewBulk(st); err != nil {
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
	p, err := r.compiler().InsertRows(target.Target(), target.Rows(load.Columns))
	if err != nil {
		return failure.Compile(err)
	}
	n, err := r.changes.Load(target, p, load.Next)
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandBulkInsert)
}
