package session

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// View is the session's view of the catalog, with the uncommitted definitions of its transaction,
// and what else all layers of a session use.
type View struct {
	Server *Server
	Conn   *store.Conn
	Locks  *lock.Client
	id     int
	meter  *meter.Meter

	Counters Counters

	DatabaseID    int // current database
	Options       Options
	Tran          Transaction
	StatementTime int64 // time of the statement in ticks; 0 until needed

	contextKeys map[string]contextValue
	contextSize int // size of keys and values, in bytes
}

// DatabaseByID returns a database as this session sees it, with the uncommitted definitions of this
// session.
func (s *View) DatabaseByID(id int) *catalog.Database {
	if d := s.Tran.drafts[id]; d != nil {
		return d
	}
	return s.Server.Catalog.Snapshot().DatabaseByID(id)
}

// DatabaseByName returns the database with a name, or nil. An empty name means the current
// database.
func (s *View) DatabaseByName(name string) *catalog.Database {
	if name == "" {
		return s.DatabaseByID(s.DatabaseID)
	}
	for _, d := range s.Tran.drafts {
		if catalog.EqualNames(d.Name, name) {
			return d
		}
	}
	d := s.Server.Catalog.Snapshot().Database(name)
	if d != nil && s.Tran.drafts[d.ID] != nil {
		return nil // renamed by this session
	}
	return d
}

// Database returns the name of the current database.
func (s *View) Database() string {
	if d := s.DatabaseByID(s.DatabaseID); d != nil {
		return d.Name
	}
	return "master"
}

// Collation returns the default collation of the current database.
func (s *View) Collation() types.Collation { return s.DatabaseByID(s.DatabaseID).Collation() }

// Master returns the database that stores logins.
func (s *View) Master() *catalog.Database { return s.DatabaseByID(catalog.DatabaseMaster) }

// SPID returns the session ID (@@SPID).
func (s *View) SPID() int { return s.id }

// Meter returns the memory account of the session.
func (s *View) Meter() *meter.Meter { return s.meter }

// Descriptor returns the descriptor of the open transaction, or 0.
func (s *View) Descriptor() uint64 {
	if s.Tran.level == 0 {
		return 0
	}
	return s.Tran.id
}

// Now returns the time of the statement in ticks. All calls during a statement return the same
// time.
func (s *View) Now() int64 {
	if s.StatementTime == 0 {
		s.StatementTime = s.Server.Ticks()
	}
	return s.StatementTime
}

// Datetime returns the time of the statement, rounded for create_date and modify_date.
func (s *View) Datetime() int64 { return types.RoundDateTime(s.Now()) }

// LockTimeout returns the value of SET LOCK_TIMEOUT for package lock.
func (s *View) LockTimeout() time.Duration {
	if s.Options.LockTimeout < 0 {
		return lock.Forever
	}
	return time.Duration(s.Options.LockTimeout) * time.Millisecond
}

// Canceled returns the cancellation cause if the context of the request has ended.
func (s *View) Canceled(ctx context.Context) error {
	if err := s.meter.Err(); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Assign converts a value for an assignment.
func (s *View) Assign(v types.Value, from, to types.Type) (types.Value, error) {
	return types.ConvertIn(v, from, to, types.NoStyle, s.Options.Locale)
}

// Language returns the name of the session's language.
func (s *View) Language() string { return types.LanguageOf(s.Options.Locale).Name }

// SetPriority sets the priority of the session in deadlocks, from -10 to 10.
func (s *View) SetPriority(priority int) {
	s.Options.deadlockPriority = priority
	s.Server.Locks.SetPriority(s.Locks, priority)
}

// contextValue is a value of SESSION_CONTEXT.
type contextValue struct {
	val      types.Value // sql_variant
	readOnly bool
}

// maxContextSize limits the size of all keys and values of a session's context, in bytes
// (documentation of sp_set_session_context).
const maxContextSize = 1 << 20

// ContextValue returns the value of SESSION_CONTEXT for a key, a sql_variant.
func (s *View) ContextValue(key string) types.Value { return s.contextKeys[catalog.Fold(key)].val }

// HasContext reports whether SESSION_CONTEXT has keys.
func (s *View) HasContext() bool { return len(s.contextKeys) > 0 }

// SetContextValue sets a value of SESSION_CONTEXT. Errors: 15664 for a key that is read-only, 15665
// if the values need too much memory.
func (s *View) SetContextValue(key string, v types.Value, readOnly bool) error {
	folded := catalog.Fold(key)
	if s.contextKeys[folded].readOnly {
		return mserr.SessionContextReadOnly(key)
	}
	if s.contextKeys == nil {
		s.contextKeys = map[string]contextValue{}
	}
	grow := len(folded) + PayloadSize(v)
	if old, ok := s.contextKeys[folded]; ok {
		grow = PayloadSize(v) - PayloadSize(old.val)
	}
	if grow > 0 && s.contextSize+grow > maxContextSize {
		return mserr.SessionContextFull(key)
	}
	s.contextSize += grow
	s.contextKeys[folded] = contextValue{val: v, readOnly: readOnly}
	return nil
}
