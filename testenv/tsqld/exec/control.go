package exec

import (
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// ifStmt executes IF. After an error in the condition no branch runs.
func (r *run) ifStmt(st *syntax.IfStmt) (ctl, error) {
	if r.gotoLabel != "" {
		if holdsLabel(st.Then, r.gotoLabel) {
			return r.stmt(st.Then)
		}
		return r.stmt(st.Else)
	}
	if r.executionDisabled() {
		return ctl{}, nil
	}
	ok, err := r.condition(st.Cond)
	if err != nil {
		return ctl{}, r.settle(st, err)
	}
	r.s.RowCount, r.s.LastError = 0, 0
	if err := r.endWithoutCount(answer.CommandCondition); err != nil {
		return ctl{}, err
	}
	switch {
	case ok:
		return r.stmt(st.Then)
	case st.Else != nil:
		return r.stmt(st.Else)
	}
	return ctl{}, nil
}

// executionDisabled reports whether SET NOEXEC or SET PARSEONLY is ON. Conditions are not evaluated
// then.
func (r *run) executionDisabled() bool { return r.s.Options.NoExec || r.s.Options.ParseOnly }

// whileStmt executes WHILE.
func (r *run) whileStmt(st *syntax.WhileStmt) (ctl, error) {
	if r.executionDisabled() {
		return ctl{}, nil
	}
	for {
		if r.gotoLabel == "" {
			if err := r.s.Canceled(r.ctx); err != nil {
				return ctl{}, err
			}
			r.f.line = st.Pos().Line
			r.s.StatementTime = 0
			r.changes.Sequences.Forget()
			ok, err := r.condition(st.Cond)
			if err != nil {
				return ctl{}, r.settle(st, err)
			}
			r.s.RowCount, r.s.LastError = 0, 0
			if err := r.endWithoutCount(answer.CommandCondition); err != nil {
				return ctl{}, err
			}
			if !ok {
				return ctl{}, nil
			}
		}
		c, err := r.stmt(st.Body)
		if err != nil {
			return c, err
		}
		switch c.kind {
		case ctlBreak:
			return ctl{}, nil
		case ctlReturn:
			return c, nil
		case ctlGoto:
			// A GOTO to a label outside the body ends the loop. The list of the body handles a GOTO
			// inside it, unless the body is a single statement.
			if !holdsLabel(st.Body, c.label) {
				return c, nil
			}
			r.gotoLabel = c.label
		}
	}
}

// returnStmt executes RETURN.
func (r *run) returnStmt(st *syntax.ReturnStmt) error {
	if st.Value == nil {
		r.s.RowCount = 0 // SQL Server 2025, recorded
		return nil
	}
	switch r.f.kind {
	case procFrame:
		v, err := r.value(st.Value, types.IntType)
		if err != nil {
			return err
		}
		if v == nil {
			// Documentation of RETURN: a procedure that would return NULL warns and returns 0.
			m := mserr.Of(282, r.f.name)
			r.f.status, r.f.returned = 0, true
			return r.info(m)
		}
		r.f.status, r.f.returned = int32(v.(int64)), true
		return nil
	case functionFrame:
		v, err := r.value(st.Value, r.f.unit.Returns)
		r.f.result = v
		return err
	}
	return mserr.ReturnWithValue()
}

// waitFor executes WAITFOR. It uses the clock of package time and ends early if the request is
// canceled.
func (r *run) waitFor(st *syntax.WaitForStmt) error {
	v, t, err := r.eval(st.Value)
	if err != nil {
		return err
	}
	if v == nil {
		return nil
	}
	var wait time.Duration
	switch {
	case t.IsCharacter():
		ok := false
		if wait, ok = syntax.Delay(v.(string)); !ok || t.IsMax() {
			return mserr.DateConversion()
		}
	case t.ID == types.Int, t.ID == types.SmallInt: // seconds
		wait = time.Duration(v.(int64)) * time.Second
	case t.ID == types.DateTime:
		ticks, err := types.Convert(v, t, types.Type{ID: types.Time, Scale: 7}, 0)
		if err != nil {
			return err
		}
		wait = time.Duration(ticks.(int64)) * 100
	default:
		return mserr.WaitForType(t.Name())
	}
	if st.Time {
		now := r.s.inst.Now()
		midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
		if wait = midnight.Add(wait).Sub(now); wait < 0 {
			wait += 24 * time.Hour
		}
	}
	r.s.RowCount = 0
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	return r.s.Parking.Resting(r.ctx, func() error {
		select {
		case <-timer.C:
			return nil
		case <-r.ctx.Done():
			return r.s.Canceled(r.ctx)
		}
	})
}
