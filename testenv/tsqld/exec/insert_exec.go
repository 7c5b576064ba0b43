package exec

import (
	"errors"
	"io"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// insertExec executes INSERT ... EXEC. The procedure runs first, inside a transaction as in SQL
// Server (@@TRANCOUNT is at least 1). Its rows are collected and inserted at the end.
func (r rowChanges) insertExec(st *syntax.InsertStmt, src *syntax.InsertExec) error {
	s := r.s
	if r.inserting {
		return mserr.InsertExecNested()
	}
	if st.Output != nil || st.OutputInto != nil {
		return mserr.OutputInInsertExec()
	}
	if st.Top != nil {
		return mserr.NotSupported("INSERT TOP ... EXEC")
	}
	if err := transactions(r).startImplicitly(); err != nil {
		return err
	}
	own := s.Tran.Level == 0
	if own {
		s.StartTransaction("")
	}
	rows := int64(0)
	err := func() error {
		sets, err := calls(r).collect(func() error { return calls(r).execStmt(src.Exec) })
		if err != nil {
			return err
		}
		for _, set := range sets {
			n, err := r.insertRows(st.Target, compile.Rows{Names: identNames(st.Columns), Columns: set.Columns},
				rowIterator(set.Rows))
			if err != nil {
				return err
			}
			rows += n
		}
		return nil
	}()
	if own && s.Tran.Level > 0 {
		if err != nil {
			return errors.Join(err, s.RollbackWork())
		}
		if err := s.CommitWork(); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return r.done(rows, answer.CommandInsert)
}

// identNames returns the names of identifiers.
func identNames(list []syntax.Ident) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = id.Name
	}
	return out
}

// rowIterator returns a function that returns the rows one by one, then io.EOF.
func rowIterator(rows [][]types.Value) func() ([]types.Value, error) {
	i := 0
	return func() ([]types.Value, error) {
		if i >= len(rows) {
			return nil, io.EOF
		}
		i++
		return rows[i-1], nil
	}
}

// insertRows inserts rows of another source atomically.
func (r rowChanges) insertRows(
	target syntax.TableSource, rows compile.Rows, next func() ([]types.Value, error),
) (int64, error) {
	dml, err := r.compiler().InsertRows(target, rows)
	if err != nil {
		return 0, failure.Compile(err)
	}
	if err := r.checkTarget(dml); err != nil {
		return 0, err
	}
	n := int64(0)
	do := func() error {
		n, err = r.applyRows(dml, next)
		return err
	}
	switch {
	case dml.Database == 0:
		err = queries(r).withSequences(&dml.Needs, func() error { return r.changeLocalRows(dml, do) })
	case dml.Fires:
		err = r.s.Atomic(r.ctx, dml.Databases, true, triggers(r).withTriggers(dml, func() (int64, error) {
			err := do()
			return n, err
		}))
	default:
		err = r.s.Atomic(r.ctx, dml.Databases, true, do)
	}
	return n, err
}

// applyRows executes a plan of [compile.Compiler.InsertRows] for each row and returns the number of
// inserted rows.
func (r rowChanges) applyRows(dml *compile.DML, next func() ([]types.Value, error)) (n int64, err error) {
	for tried := int64(0); ; tried++ {
		if err := r.s.Canceled(r.ctx); err != nil {
			return 0, err
		}
		row, err := next()
		if errors.Is(err, io.EOF) {
			if dml.IgnoreDups && n < tried {
				return n, r.ignoredDuplicates()
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		k, err := r.apply(dml, row)
		if err != nil {
			return 0, err
		}
		n += k
	}
}

// changeLocalRows is changeLocal for many rows.
func (r rowChanges) changeLocalRows(dml *compile.DML, do func() error) error {
	if dml.Target != nil && dml.Target.Name[0] == '@' && !r.s.Tran.Begun {
		return r.s.LocalTransaction(r.ctx, true, do)
	}
	return r.s.LocalChangeOf(r.ctx, true, do)
}
