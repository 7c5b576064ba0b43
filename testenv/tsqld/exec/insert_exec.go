package exec

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
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
	own := !s.Tran.Open()
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
			p, err := r.compiler().InsertRows(st.Target, compile.Rows{Names: identNames(st.Columns), Columns: set.Columns})
			if err != nil {
				return failure.Compile(err)
			}
			n, err := r.changes.Insert(p, set.Rows)
			if err != nil {
				return err
			}
			rows += n
		}
		return nil
	}()
	if own && s.Tran.Open() {
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
