package ddl

import (
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// alterFailed adds message 5069 to the reason why ALTER DATABASE failed.
func alterFailed(reason *mserr.Error) error {
	return &failure.Error{Before: reason, Err: mserr.Of(5069)}
}

// lockFailed returns the error of an ALTER DATABASE that does not get exclusive access to a
// database.
func lockFailed(d *catalog.Database) error {
	return alterFailed(mserr.Of(5061, d.Name))
}

// exclusiveOptions are the options that need exclusive access to the database (documentation of
// ALTER DATABASE SET options).
var exclusiveOptions = map[string]bool{
	"SINGLE_USER": true, "RESTRICTED_USER": true, "OFFLINE": true, "READ_ONLY": true, "READ_WRITE": true,
	"READ_COMMITTED_SNAPSHOT": true,
}

// isOn reports whether an option is set to a value other than OFF.
func isOn(o *syntax.Option) bool { return o.Value == nil || !strings.EqualFold(wordOf(o.Value), "OFF") }

// needsExclusive reports whether options change the access to a database. Options that have their
// new value already do not count.
func needsExclusive(d *catalog.Database, opts []*syntax.Option) bool {
	return slices.ContainsFunc(opts, func(o *syntax.Option) bool {
		switch o.Name {
		case "SINGLE_USER":
			return !d.Options.SingleUser
		case "RESTRICTED_USER":
			return !d.Options.RestrictedUser
		case "OFFLINE":
			return !d.Options.Offline
		case "READ_ONLY":
			return !d.Options.ReadOnly
		case "READ_WRITE":
			return d.Options.ReadOnly
		case "READ_COMMITTED_SNAPSHOT":
			return d.Options.ReadCommittedSnapshot != isOn(o)
		}
		return false
	})
}

// waitForOthers waits until no other session uses a database, or ends the other sessions according
// to WITH ROLLBACK (documentation of ALTER DATABASE SET options, "WITH <termination>"). The caller
// must have reserved the database.
func (r databases) waitForOthers(d *catalog.Database, st *syntax.AlterDatabaseStmt) error {
	var deadline <-chan time.Time // fires when the other sessions are to be ended
	switch st.Termination {
	case "ROLLBACK IMMEDIATE":
		return r.s.EndSessions(r.ctx, r.s.Server.Users(d.ID, r.s))
	case "ROLLBACK AFTER":
		timer := time.NewTimer(time.Duration(st.After) * time.Second)
		defer timer.Stop()
		deadline = timer.C
	}
	var expired <-chan time.Time
	if wait := r.s.LockTimeout(); wait >= 0 && deadline == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		leave := r.s.Server.NextLeave()
		users := r.s.Server.Users(d.ID, r.s)
		if len(users) == 0 {
			return nil
		}
		if st.Termination == "NO_WAIT" {
			return alterFailed(mserr.Of(5070, d.Name))
		}
		select {
		case <-leave:
		case <-deadline:
			return r.s.EndSessions(r.ctx, users)
		case <-expired:
			return lockFailed(d)
		case <-r.ctx.Done():
			return r.s.Canceled(r.ctx)
		}
	}
}

// exclusively calls change while no other session uses a database or can enter it.
func (r databases) exclusively(d *catalog.Database, st *syntax.AlterDatabaseStmt, change func() error) error {
	s := r.s
	release, ok := s.Reserve(r.ctx, d.ID)
	if !ok {
		return lockFailed(d)
	}
	defer release()
	if err := r.waitForOthers(d, st); err != nil {
		return err
	}
	return change()
}
