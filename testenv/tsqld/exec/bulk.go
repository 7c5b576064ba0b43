package exec

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Bulk loads the rows of an INSERT BULK. See Batch for what an error means.
func (s *Session) Bulk(ctx context.Context, load BulkLoad, sink Sink) error {
	return s.serve(ctx, sink, "BULK INSERT", func(r *run) error {
		f := &frame{kind: batchFrame, unit: rootUnit, schema: s.defaultSchema(), owner: -1, line: 1}
		return r.within(f, func() error { return r.settle(nil, r.bulk(load)) })
	})
}

// bulk is the body of Bulk.
func (r *run) bulk(load BulkLoad) error {
	s := r.s
	target := s.bulk
	s.bulk = nil
	if load.Statement != "" {
		b, err := syntax.Parse(load.Statement, syntax.Options{QuotedIdentifier: s.opts.quotedIdentifier})
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
		target = &bulkTarget{st}
	}
	if target == nil {
		return mserr.New(4002, 16, "The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended unexpectedly.")
	}
	st := target.statement
	names := make([]string, len(load.Columns))
	for i, c := range load.Columns {
		names[i] = c.Name
		if i < len(st.Columns) {
			names[i] = st.Columns[i].Name.Name
		}
	}
	keep := false
	for _, o := range st.Options {
		switch strings.ToUpper(o.Name) {
		case "KEEP_IDENTITY", "KEEPIDENTITY":
			keep = true
		case "CHECK_CONSTRAINTS", "KEEP_NULLS", "TABLOCK", "ROWS_PER_BATCH", "KILOBYTES_PER_BATCH", "ORDER", "FIRE_TRIGGERS":
			// Constraints are always checked, and a NULL that is sent is kept.
		}
	}
	before := s.opts.identityInsert
	defer func() { s.opts.identityInsert = before }()
	// Drivers that do not keep identities leave the column out; one that is there is to be kept.
	if keep || len(names) > 0 {
		if err := r.identityOption(st.Table, names); err != nil {
			return err
		}
	}
	n, err := r.insertRows(st, tableOf(st.Table), names, load.Columns, load.Next)
	if err != nil {
		return err
	}
	return r.done(n, false)
}
