package exec

import (
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// killWait limits how long KILL waits for the end of the other session. SQL Server's KILL does not
// wait. With the wait, a session that ends at once is gone before the next statement runs. The
// limit bounds the delay caused by a session that rolls back or hangs.
const killWait = time.Second

// kill executes KILL. It returns when the other session has ended, or after killWait.
func (r *run) kill(st *syntax.KillStmt) error {
	v, t, err := r.eval(st.Session)
	if err != nil {
		return err
	}
	if uow, ok := v.(string); ok && t.IsCharacter() {
		return mserr.Of(6110, uow)
	}
	id, _ := v.(int64)
	switch {
	case !r.s.MayServer("ALTER ANY CONNECTION") && !r.s.ServerRole("processadmin"):
		return mserr.Of(6102)
	case r.s.Tran.Open():
		return mserr.Of(6115)
	case id == int64(r.s.SPID()) && !st.StatusOnly:
		return mserr.KillSelf()
	case id < 1 || id > 32767:
		return mserr.InvalidSPID(id)
	}
	other := r.s.inst.SessionByID(int(id))
	switch {
	case other == nil:
		return mserr.NoProcess(id)
	case st.StatusOnly && other.IsKilled():
		return r.info(mserr.Of(6109, id, 0, 0))
	case st.StatusOnly:
		return mserr.Of(6120, id)
	}
	other.Kill()
	other.WaitEnd(r.ctx, killWait)
	if r.ctx.Err() != nil {
		return r.s.Canceled(r.ctx)
	}
	return nil
}
