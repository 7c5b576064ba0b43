package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// creatorOf returns the creator of a new table with a name: the session for a global temporary
// table, otherwise 0.
func (s *core) creatorOf(name string) int64 {
	if catalog.IsGlobalTemp(name) {
		s.globals = true
		return s.serial
	}
	return 0
}

// mayCreateTable checks the permission to create a table. All sessions may create global temporary
// tables.
func (s *core) mayCreateTable(d *catalog.Database, schema, name string) error {
	if catalog.IsGlobalTemp(name) {
		return nil
	}
	return s.mayCreate(d, "CREATE TABLE", schema)
}

// endGlobals drops the global temporary tables of the session, which ends or is reset.
func (s *core) endGlobals(ctx context.Context) error {
	if !s.globals {
		return nil
	}
	return s.dropGlobals(ctx, true)
}

// dropGlobals drops the global temporary tables of sessions that have ended; ended tells that this
// session ends, too. It does not wait for a transaction that uses tempdb: the first request that
// ends after that transaction drops the tables.
func (s *core) dropGlobals(ctx context.Context, ended bool) error {
	if s.tran.level > 0 || s.tran.begun {
		return nil
	}
	s.inst.orphans.Store(false)
	tempdb := s.inst.catalog.Snapshot().DatabaseByID(catalog.DatabaseTemp)
	if tempdb == nil || len(s.orphanGlobals(tempdb, ended)) == 0 {
		return nil
	}
	wait := s.opts.lockTimeout
	s.opts.lockTimeout = 0
	defer func() { s.opts.lockTimeout = wait }()
	s.now = 0 // no statement runs
	err := s.alter(context.WithoutCancel(ctx), tempdb, func(d *catalog.Database, e *catalog.Edit) error {
		for _, t := range s.orphanGlobals(d, ended) {
			e.Drop(t)
			s.inst.resetCounter(counterKey{database: d.ID, object: t.ObjectID})
		}
		return nil
	})
	if errors.Is(err, mserr.LockTimeout()) {
		s.inst.orphans.Store(true)
		return nil
	}
	return err
}

// orphanGlobals returns the global temporary tables of sessions that have ended.
func (s *core) orphanGlobals(tempdb *catalog.Database, ended bool) (out []*catalog.Table) {
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	alive := map[int64]bool{}
	for _, other := range s.inst.sessions {
		alive[other.serial] = other != s || !ended
	}
	for _, t := range tempdb.Tables() {
		if catalog.IsGlobalTemp(t.Name) && !alive[t.Creator] {
			out = append(out, t)
		}
	}
	return out
}

// hasGlobals reports whether there are global temporary tables that the session has created.
func (s *core) hasGlobals() bool {
	tempdb := s.inst.catalog.Snapshot().DatabaseByID(catalog.DatabaseTemp)
	return s.globals && tempdb != nil && slices.ContainsFunc(tempdb.Tables(), func(t *catalog.Table) bool {
		return catalog.IsGlobalTemp(t.Name) && t.Creator == s.serial
	})
}
