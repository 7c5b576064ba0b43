package session

import (
	"context"
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// CreatorOf returns the creator of a new table with a name: the session for a global temporary
// table, otherwise 0.
func (s *Session) CreatorOf(name string) int64 {
	if catalog.IsGlobalTemp(name) {
		s.globals = true
		return s.serial
	}
	return 0
}

// endGlobals drops the global temporary tables of the session, which ends or is reset.
func (s *Session) endGlobals(ctx context.Context) error {
	if !s.globals {
		return nil
	}
	return s.dropGlobals(ctx, true)
}

// dropGlobals drops the global temporary tables of sessions that have ended; ended tells that this
// session ends, too. It does not wait for a transaction that uses tempdb: the first request that
// ends after that transaction drops the tables.
func (s *Session) dropGlobals(ctx context.Context, ended bool) error {
	if s.Tran.Level > 0 || s.Tran.Begun {
		return nil
	}
	s.Server.orphans.Store(false)
	tempdb := s.Server.Catalog.Snapshot().DatabaseByID(catalog.DatabaseTemp)
	if tempdb == nil || len(s.orphanGlobals(tempdb, ended)) == 0 {
		return nil
	}
	wait := s.Options.LockTimeout
	s.Options.LockTimeout = 0
	defer func() { s.Options.LockTimeout = wait }()
	s.StatementTime = 0 // no statement runs
	err := s.Alter(context.WithoutCancel(ctx), tempdb, func(d *catalog.Database, e *catalog.Edit) error {
		for _, t := range s.orphanGlobals(d, ended) {
			e.Drop(t)
			s.Server.ResetCounter(CounterKey{Database: d.ID, Object: t.ObjectID})
		}
		return nil
	})
	if errors.Is(err, mserr.LockTimeout()) {
		s.Server.orphans.Store(true)
		return nil
	}
	return err
}

// orphanGlobals returns the global temporary tables of sessions that have ended.
func (s *Session) orphanGlobals(tempdb *catalog.Database, ended bool) (out []*catalog.Table) {
	s.Server.mu.Lock()
	defer s.Server.mu.Unlock()
	alive := map[int64]bool{}
	for _, other := range s.Server.sessions {
		alive[other.serial] = other != s || !ended
	}
	for _, t := range tempdb.Tables() {
		if catalog.IsGlobalTemp(t.Name) && !alive[t.Creator] {
			out = append(out, t)
		}
	}
	return out
}

// HasGlobals reports whether there are global temporary tables that the session has created.
func (s *Session) HasGlobals() bool {
	tempdb := s.Server.Catalog.Snapshot().DatabaseByID(catalog.DatabaseTemp)
	return s.globals && tempdb != nil && slices.ContainsFunc(tempdb.Tables(), func(t *catalog.Table) bool {
		return catalog.IsGlobalTemp(t.Name) && t.Creator == s.serial
	})
}

// DropOrphans drops the global temporary tables of sessions that have ended, if there may be any.
func (s *Session) DropOrphans(ctx context.Context) error {
	if !s.Server.orphans.Load() {
		return nil
	}
	return s.dropGlobals(ctx, false)
}
