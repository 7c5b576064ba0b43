package sysfunc

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// State has the functions that show the state of a session.
type State struct{ s *session.Session }

// RowCount implements [builtin.State].
func (e State) RowCount() int64 { return e.s.RowCount }

// LastError implements [builtin.State].
func (e State) LastError() int32 { return e.s.LastError }

// TranCount implements [builtin.State].
func (e State) TranCount() int { return e.s.Tran.Level() }

// XactState implements [builtin.State].
func (e State) XactState() int {
	switch {
	case !e.s.Tran.Open():
		return 0
	case e.s.Tran.Doomed():
		return -1
	}
	return 1
}

// TransactionID implements [builtin.State].
func (e State) TransactionID() int64 { return int64(e.s.Descriptor()) }

// FetchStatus implements [builtin.State].
func (e State) FetchStatus() int { return e.s.FetchStatus }

// CursorRows implements [builtin.State].
func (e State) CursorRows() int { return e.s.CursorRows }

// Options implements [builtin.State].
func (e State) Options() int { return e.s.Options.Mask() }

// Option implements [builtin.State].
func (e State) Option(name string) int {
	switch name {
	case "LOCK_TIMEOUT":
		return e.s.Options.LockTimeout
	case "TEXTSIZE":
		return e.s.Options.TextSize
	case "DATEFIRST":
		return e.s.Options.DateFirst
	}
	return 0
}

// Locale implements [builtin.State].
func (e State) Locale() types.Locale { return e.s.Options.Locale }

// SessionContext implements [builtin.State].
func (e State) SessionContext(key string) types.Value {
	return e.s.ContextValue(key)
}

// ContextInfo implements [builtin.State].
func (e State) ContextInfo() []byte { return e.s.Options.ContextInfo }

// applockOwner returns the owner of application locks and the resource. ok is false for unknown
// principals.
func (e State) applockOwner(principal, resource, owner string) (*lock.Owner, lock.Resource, bool) {
	s := e.s
	d := s.DatabaseByID(s.DatabaseID)
	if d == nil {
		return nil, lock.Resource{}, false
	}
	p := d.Principals.Find(principal)
	if p == nil {
		return nil, lock.Resource{}, false
	}
	o := s.Tran.Owner()
	if strings.EqualFold(owner, "Session") {
		o = s.LockOwner
	}
	return o, lock.Resource{Kind: lock.AppKind, Database: s.DatabaseID, Principal: p.ID, Name: resource}, true
}

// ApplockMode implements [builtin.State].
func (e State) ApplockMode(principal, resource, owner string) string {
	o, res, ok := e.applockOwner(principal, resource, owner)
	if !ok {
		return lock.None.String()
	}
	return e.s.Server.Locks.Held(o, res).String()
}

// ApplockTest implements [builtin.State].
func (e State) ApplockTest(principal, resource, mode, owner string) bool {
	o, res, ok := e.applockOwner(principal, resource, owner)
	if !ok {
		return false
	}
	m, ok := lock.ParseMode(mode)
	return ok && e.s.Server.Locks.Test(o, res, m)
}
