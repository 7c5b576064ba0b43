package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Databases are the T-SQL databases that a connection sees, attached to SQLite's connection.
type Databases struct {
	conn     *Conn
	attached []attachment // least recently used first
}

// attachment is a database that is attached as d<id>.
type attachment struct {
	id, generation int
	configured     bool // its PRAGMAs are set, which is impossible inside a transaction
}

const (
	// MaxAttached is how many databases a connection can see at once (the limit of this build of
	// SQLite).
	MaxAttached = 10
	// cacheKiB limits SQLite's page cache per connection and database. The cache grows with use, so
	// small databases never fill it. A transaction that changes more pages than fit writes them to
	// disk one by one.
	cacheKiB = 8192
)

// alias is the schema name of an attached database.
func alias(id int) string { return "d" + strconv.Itoa(id) }

// Attach attaches databases as d<id>, all of them at once for the next statement. It works inside a
// transaction too: databases that the transaction has touched stay attached. The store must know
// the ids, otherwise the error matches os.ErrNotExist.
func (d *Databases) Attach(ctx context.Context, ids ...int) error {
	for i, id := range ids {
		if n := len(d.attached); n > 0 && d.attached[n-1].id == id && d.attached[n-1].configured {
			if in, ok := d.conn.store.fileState(id); ok && in.generation == d.attached[n-1].generation {
				continue // the usual case: the same database as before
			}
		}
		if err := d.attach(ctx, id, ids[:i]); err != nil {
			return err
		}
	}
	return nil
}

// attach attaches one database and makes it the most recently used one. The databases in keep must
// stay attached.
func (d *Databases) attach(ctx context.Context, id int, keep []int) error {
	in, ok := d.conn.store.fileState(id)
	gen := in.generation
	if !ok {
		return fmt.Errorf("database %d: %w", id, os.ErrNotExist)
	}
	i := slices.IndexFunc(d.attached, func(a attachment) bool { return a.id == id })
	var a attachment
	switch {
	case i >= 0 && d.attached[i].generation == gen:
		a = d.attached[i]
		d.attached = slices.Delete(d.attached, i, i+1)
	default:
		if i >= 0 { // dropped and created again
			if err := d.detach(ctx, i); err != nil {
				return err
			}
		}
		if len(d.attached) >= MaxAttached {
			if err := d.evict(ctx, keep); err != nil {
				return err
			}
		}
		if _, err := d.conn.Exec(ctx, "ATTACH ?1 AS "+alias(id), []types.Value{d.conn.store.Path(id)}); err != nil {
			return err
		}
		a = attachment{id: id, generation: gen}
	}
	var err error
	if !a.configured && !d.conn.InTransaction() {
		err = d.configure(ctx, id, in.fresh)
		a.configured = err == nil
	}
	d.attached = append(d.attached, a)
	return err
}

// configure sets SQLite's settings per connection and database, and the journal mode of a fresh
// file.
func (d *Databases) configure(ctx context.Context, id int, fresh bool) error {
	if fresh {
		switch _, err := d.conn.Exec(ctx, "PRAGMA "+alias(id)+".journal_mode=WAL", nil); {
		case err == nil:
			d.conn.store.markReady(id)
		case !errors.Is(err, ErrBusy): // another connection uses the new file; the next Use tries again
			return err
		}
	}
	mode := "NORMAL"
	if d.conn.store.temporary {
		mode = "OFF"
	}
	if _, err := d.conn.Exec(ctx, "PRAGMA "+alias(id)+".synchronous="+mode, nil); err != nil {
		return err
	}
	_, err := d.conn.Exec(ctx, fmt.Sprintf("PRAGMA %s.cache_size=-%d", alias(id), cacheKiB), nil)
	return err
}

// evict detaches the least recently used database that is not in keep.
func (d *Databases) evict(ctx context.Context, keep []int) error {
	var last error
	for i := range d.attached {
		if slices.Contains(keep, d.attached[i].id) {
			continue
		}
		if last = d.detach(ctx, i); last == nil {
			return nil
		}
	}
	if last == nil {
		return ErrManyDatabases
	}
	return fmt.Errorf("%w: %w", ErrManyDatabases, last)
}

// detach detaches the i-th attachment. SQLite refuses while a transaction or open rows use it.
func (d *Databases) detach(ctx context.Context, i int) error {
	if _, err := d.conn.Exec(ctx, "DETACH "+alias(d.attached[i].id), nil); err != nil {
		return err
	}
	d.attached = slices.Delete(d.attached, i, i+1)
	return nil
}

// detachUnknown detaches databases that were dropped. The caller owns c and holds the store's lock.
func (d *Databases) detachUnknown(known map[int]fileState) error {
	for i := len(d.attached) - 1; i >= 0; i-- {
		a := d.attached[i]
		if in, ok := known[a.id]; !ok || in.generation != a.generation {
			if err := d.detach(context.Background(), i); err != nil {
				return err
			}
		}
	}
	return nil
}
