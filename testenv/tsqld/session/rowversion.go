package session

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// versionBlock is the number of rowversions that are reserved at once.
const versionBlock = 1000

// rowVersions issues the rowversions of one database. The caller must hold the database's writer
// lock.
type rowVersions struct {
	mu    sync.Mutex
	last  uint64 // last issued value
	limit uint64 // last reserved value, as stored in the file
}

// versionsOf returns the rowversions of a database.
func (i *Server) versionsOf(database int) *rowVersions {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := i.versions[database]
	if v == nil {
		v = &rowVersions{}
		i.versions[database] = v
	}
	return v
}

// forgetVersions ends the current reservations of rowversions of databases, because a rollback may
// have undone them.
func (i *Server) forgetVersions(databases map[int]bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id := range databases {
		if v := i.versions[id]; v != nil {
			v.mu.Lock()
			v.limit = v.last
			v.mu.Unlock()
		}
	}
}

// NextRowVersion returns a new rowversion: eight bytes, big-endian.
func (cs *Counters) NextRowVersion(ctx context.Context, database int) (types.Value, error) {
	v := cs.server.versionsOf(database)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last >= v.limit {
		if err := cs.reserveVersions(ctx, v, database); err != nil {
			return nil, err
		}
	}
	v.last++
	return binary.BigEndian.AppendUint64(nil, v.last), nil
}

// LastRowVersion returns the last rowversion that a database has used. After a start of the server
// that is the last one that was reserved.
func (cs *Counters) LastRowVersion(ctx context.Context, database int) ([]byte, error) {
	v := cs.server.versionsOf(database)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == 0 {
		if err := cs.conn.Use(ctx, database); err != nil {
			return nil, err
		}
		if err := cs.storedVersion(ctx, v, database); err != nil {
			return nil, err
		}
	}
	return binary.BigEndian.AppendUint64(nil, v.last), nil
}

// storedVersion reads the last rowversion that was reserved in the file of a database.
func (cs *Counters) storedVersion(ctx context.Context, v *rowVersions, database int) error {
	table := catalog.SQLName(database) + "." + catalog.MetaTable
	row, err := cs.conn.QueryRow(ctx, "SELECT value FROM "+table+" WHERE key = ?1",
		[]types.Value{catalog.MetaRowVersion})
	if IsMissingObject(err) { // a system database has the table from its first definition on
		v.last, err = max(v.last, catalog.InitialRowVersion), nil
	}
	if err != nil {
		return err
	}
	if len(row) == 1 {
		if n, ok := row[0].(int64); ok {
			v.last = max(v.last, uint64(n))
		}
	}
	return nil
}

// reserveVersions reserves a block of rowversions in the file.
func (cs *Counters) reserveVersions(ctx context.Context, v *rowVersions, database int) error {
	if database == 0 {
		v.limit = v.last + versionBlock
		return nil
	}
	if err := cs.storedVersion(ctx, v, database); err != nil {
		return err
	}
	v.limit = v.last + versionBlock
	table := catalog.SQLName(database) + "." + catalog.MetaTable
	_, err := cs.conn.Exec(ctx, "INSERT INTO "+table+"(key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		[]types.Value{catalog.MetaRowVersion, int64(v.limit)})
	return err
}

// IsMissingObject reports whether an error of SQLite may be due to a missing table or column.
func IsMissingObject(err error) bool {
	var se *store.Error
	return errors.As(err, &se) && se.Code&0xff == SQLiteError
}

// SQLiteError is SQLite's code for a missing table or column, and for other errors in a statement's
// text.
const SQLiteError = 1
