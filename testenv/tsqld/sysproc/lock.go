package sysproc

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Return codes of sp_getapplock (documentation: sp_getapplock, "Return code values").
const (
	lockGranted    = 0
	lockWaited     = 1
	lockTimedOut   = -1
	lockVictim     = -3
	lockMisused    = -999
	maxAppLockName = 255 // number of significant characters of @Resource
)

// appLock evaluates the parameters that sp_getapplock and sp_releaseapplock share.
func (r *Executor) appLock(a Arguments) (owner *lock.Owner, res lock.Resource, err error) {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	principal := "public"
	if a["dbprincipal"] != nil {
		principal = a.text("dbprincipal")
	}
	p := d.Principals.Find(principal)
	if p == nil || !s.Sysadmin() && !s.OwnsDatabase(d) && !d.Principals.IsMember(s.Principal(d), p.ID) {
		return nil, res, mserr.Of(1202, principal)
	}
	name := a.text("resource")
	if utf8.RuneCountInString(name) > maxAppLockName {
		name = string([]rune(name)[:maxAppLockName])
	}
	if a["resource"] == nil { // an empty name is valid
		return nil, res, mserr.InvalidProcArgument("sys.xp_userlock")
	}
	res = lock.Resource{Kind: lock.AppKind, Database: s.DatabaseID, Principal: p.ID, Name: name}
	switch {
	case a["lockowner"] == nil, strings.EqualFold(a.text("lockowner"), "Transaction"):
		if !s.Tran.Open() {
			return nil, res, mserr.NeedsTransaction()
		}
		return s.Tran.Owner(), res, nil
	case strings.EqualFold(a.text("lockowner"), "Session"):
		return s.LockOwner, res, nil
	}
	return nil, res, mserr.InvalidProcArgument("sys.xp_userlock")
}

// appLockError sends an error of a procedure for application locks, as one of xp_userlock. The
// procedure returns -999 then.
func (r *Executor) appLockError(err error) (int32, error) {
	var e *mserr.Error
	if !errors.As(err, &e) {
		return lockMisused, err
	}
	c := *e
	c.Line, c.Proc = 1, "xp_userlock"
	return lockMisused, r.host.Report(&c)
}

// getAppLock executes sp_getapplock.
func (r *Executor) getAppLock(a Arguments) (int32, error) {
	owner, res, err := r.appLock(a)
	if err != nil {
		return r.appLockError(err)
	}
	mode, ok := lock.ParseMode(a.text("lockmode"))
	if !ok {
		return r.appLockError(mserr.InvalidProcArgument("sys.xp_userlock"))
	}
	timeout := r.s.LockTimeout()
	if ms, ok := a["locktimeout"].(int64); ok {
		switch {
		case ms == -1:
			timeout = lock.Forever
		case ms < -1:
			return r.appLockError(mserr.InvalidProcArgument("sys.xp_userlock"))
		default:
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	waited, err := r.s.Server.Locks.Lock(r.ctx, owner, res, mode, 0)
	if timeout != 0 && errors.Is(err, mserr.LockTimeout()) {
		err = r.s.Parking.Resting(r.ctx, func() error {
			waited, err = r.s.Server.Locks.Lock(r.ctx, owner, res, mode, timeout)
			return err
		})
	}
	switch {
	case err == nil && waited:
		return lockWaited, nil
	case err == nil:
		return lockGranted, nil
	case errors.Is(err, mserr.LockTimeout()):
		return lockTimedOut, nil
	case errors.Is(err, mserr.Deadlock(0, "")):
		return lockVictim, nil
	}
	return 0, err
}

// releaseAppLock executes sp_releaseapplock.
func (r *Executor) releaseAppLock(a Arguments) (int32, error) {
	owner, res, err := r.appLock(a)
	if err != nil {
		return r.appLockError(err)
	}
	err = r.s.Server.Locks.Unlock(owner, res)
	if errors.Is(err, lock.ErrNotHeld) {
		principal := "public"
		if a["dbprincipal"] != nil {
			principal = a.text("dbprincipal")
		}
		return r.appLockError(mserr.ApplockNotHeld(principal, res.Name))
	}
	return 0, err
}
