package change

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// changePositioned is changeRows for WHERE CURRENT OF. It reads the new identity of the row into
// rt.Row; the rowid is nil if it is unknown. Error 16947 if the row is not found, after message
// 16934 if the row may have changed.
func (x *Executor) changePositioned(p *plan.DML, rt *tree.Run) (int64, error) {
	at := p.Position
	rowID := []types.Value{rt.Row[0]}
	if at.NewRowID.SQL != "" {
		rows, err := x.collect(&at.NewRowID, rt)
		if err != nil {
			return 0, err
		}
		if len(rows) > 0 {
			rowID = rows[0]
		}
	}
	n, err := x.changeRows(p, rt)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		f := &failure.Error{Err: mserr.CursorRowGone(), From: failure.AtRun}
		if at.Checked {
			f.Before = mserr.CursorRowChanged()
		}
		return 0, f
	}
	if p.Kind == "DELETE" {
		return n, nil
	}
	rt.Row[0] = rowID[0]
	rows, err := x.collect(&at.Read, rt)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		rt.Row[0] = nil
		return n, nil
	}
	copy(rt.Row, rows[0])
	return n, nil
}
