package exec

import (
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// alterFailed is what follows the reason why ALTER DATABASE changed nothing.
func alterFailed(reason *mserr.Error) error {
	return &failure{before: reason, err: mserr.New(5069, 16, "ALTER DATABASE statement failed.")}
}

// needsDatabaseAlone are the options whose change waits until no other session uses the database (documentation of ALTER
// DATABASE SET options: each of them needs exclusive access).
var needsDatabaseAlone = map[string]bool{
	"SINGLE_USER": true, "RESTRICTED_USER": true, "OFFLINE": true, "READ_ONLY": true, "READ_WRITE": true, "READ_COMMITTED_SNAPSHOT": true,
}

// isOn reports whether an option is turned on: it is, unless it says OFF.
func isOn(o *syntax.Option) bool { return o.Value == nil || !strings.EqualFold(wordOf(o.Value), "OFF") }

// needsAlone reports whether options change who may use a database, and how. They may be under way already.
func needsAlone(d *catalog.Database, opts []*syntax.Option) bool {
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

// clear waits until no other session uses a database, or ends them as WITH ROLLBACK says (documentation of ALTER DATABASE SET
// options, "WITH <termination>"). The caller has reserved the database.
func (r *run) clear(d *catalog.Database, st *syntax.AlterDatabaseStmt) error {
	var patience <-chan time.Time // until the others are ended
	switch st.Termination {
	case "ROLLBACK IMMEDIATE":
		return r.endSessions(r.s.inst.users(d.ID, r.s))
	case "ROLLBACK AFTER":
		timer := time.NewTimer(time.Duration(st.After) * time.Second)
		defer timer.Stop()
		patience = timer.C
	}
	var expired <-chan time.Time
	if wait := r.s.lockTimeout(); wait >= 0 && patience == nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		left := r.s.inst.nextDeparture()
		users := r.s.inst.users(d.ID, r.s)
		if len(users) == 0 {
			return nil
		}
		if st.Termination == "NO_WAIT" {
			return alterFailed(mserr.New(5070, 16, "Database state cannot be changed while other users are using the database '%s'", d.Name).WithState(2))
		}
		select {
		case <-left:
		case <-patience:
			return r.endSessions(users)
		case <-expired:
			return alterFailed(mserr.New(5061, 16, "ALTER DATABASE failed because a lock could not be placed on database '%s'. Try again later.", d.Name))
		case <-r.ctx.Done():
			return r.canceled()
		}
	}
}

// exclusively runs change while nobody else uses a database or comes to it.
func (r *run) exclusively(d *catalog.Database, st *syntax.AlterDatabaseStmt, change func() error) error {
	s := r.s
	release, ok := s.reserve(r.ctx, d.ID)
	if !ok {
		return alterFailed(mserr.New(5061, 16, "ALTER DATABASE failed because a lock could not be placed on database '%s'. Try again later.", d.Name))
	}
	defer release()
	if err := r.clear(d, st); err != nil {
		return err
	}
	return change()
}
