package change

import (
	"errors"
	"io"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Insert inserts rows of another source atomically and returns their number. p is a plan of
// compile.Compiler.InsertRows. The caller has begun a transaction.
func (x *Executor) Insert(p *plan.DML, rows [][]types.Value) (n int64, err error) {
	if err := x.checkTarget(p); err != nil {
		return 0, err
	}
	next := func() ([]types.Value, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
	do := func() error {
		n, err = x.applyRows(p, next)
		return err
	}
	switch {
	case p.Database == 0:
		err = x.Sequences.Around(&p.Needs, func() error { return x.changeLocal(p, true, do) })
	case p.Fires:
		err = x.s.Atomic(x.ctx, session.Scope{Databases: p.Databases, Several: true}, x.withTriggers(p, func() (int64, error) {
			err := do()
			return n, err
		}))
	default:
		err = x.s.Atomic(x.ctx, session.Scope{Databases: p.Databases, Several: true}, do)
	}
	return n, err
}

// applyRows executes a plan of compile.Compiler.InsertRows for each row and returns the number of
// inserted rows.
func (x *Executor) applyRows(p *plan.DML, next func() ([]types.Value, error)) (n int64, err error) {
	for tried := int64(0); ; tried++ {
		if err := x.s.Canceled(x.ctx); err != nil {
			return 0, err
		}
		row, err := next()
		if errors.Is(err, io.EOF) {
			if p.IgnoreDups && n < tried {
				return n, x.ignoredDuplicates()
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		k, err := x.Apply(p, row)
		if err != nil {
			return 0, err
		}
		n += k
	}
}
