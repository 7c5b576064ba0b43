package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// parkTables is the layout of the tables of parker.
var parkTables = map[string]TableLayout{
	"t1": {Columns: []string{"id", "a", "name", "v"}, Key: 0},
	"t2": {Columns: []string{"a", "up"}, Key: -1},
	"t3": {Columns: []string{"id", "up"}, Key: 0},
}

// parker is a connection to a database whose transactions are parked.
type parker struct {
	testing.TB
	c    *Conn
	next int64 // key of the last row of t1
}

// newParker returns a parker of one of the connections of a store.
func newParker(t testing.TB, s *Store) *parker {
	t.Helper()
	c, err := s.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { s.Release(c) })
	require.NoError(t, c.Databases.Attach(t.Context(), 5))
	return &parker{TB: t, c: c}
}

// parkStore returns a store with the tables of parkTables.
func parkStore(t testing.TB) (*Store, *parker) {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), Functions: functions()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Create(5))
	p := newParker(t, s)
	p.exec("CREATE TABLE d5.t1 (id INTEGER NOT NULL PRIMARY KEY, a INTEGER NOT NULL, name TEXT, v REAL)")
	p.exec("CREATE INDEX d5.i ON t1 (a, name)")
	p.exec("CREATE TABLE d5.t2 (a INTEGER NOT NULL, up INTEGER REFERENCES t1(id) ON DELETE CASCADE)")
	p.exec("CREATE TABLE d5.t3 (id INTEGER NOT NULL PRIMARY KEY, up INTEGER REFERENCES t3(id))")
	return s, p
}

func (p *parker) exec(sql string, args ...types.Value) {
	p.Helper()
	_, err := p.c.Exec(context.Background(), sql, args)
	require.NoError(p, err, sql)
}

func (p *parker) begin()    { require.NoError(p, p.c.Begin(context.Background())) }
func (p *parker) rollback() { require.NoError(p, p.c.Rollback()) }

// record begins a recorded transaction.
func (p *parker) record() {
	p.begin()
	p.c.Recorder.Start(5, 100_000, nil)
}

// resume repeats the parked transaction.
func (p *parker) resume() error {
	return p.c.Recorder.Resume(context.Background(), Repeater{Layout: func(table string) (TableLayout, bool) {
		l, ok := parkTables[table]
		return l, ok
	}})
}

// value returns the only value of a query.
func (p *parker) value(sql string) types.Value {
	p.Helper()
	row, err := p.c.QueryRow(context.Background(), sql, nil)
	require.NoError(p, err)
	require.Len(p, row, 1)
	return row[0]
}

// insert inserts n rows whose keys in the index are scattered.
func (p *parker) insert(n int64) {
	for range n {
		p.next++
		p.exec("INSERT INTO d5.t1 (id, a, name, v) VALUES (?1, ?2, ?3, 1.5)", p.next, p.next*7919%10007, "a name of some length")
	}
}

// TestPark: a parked transaction is not in SQLite. Repeated, it has its changes and savepoints,
// beside those of another connection: rows without a key get other rowids, actions of foreign keys
// happen once, and a key may be missing until a later change.
func TestPark(t *testing.T) {
	s, p := parkStore(t)
	p.exec("INSERT INTO d5.t1 VALUES (1, 1, 'one', 1.5), (2, 2, NULL, -0.0), (3, 3, 'three', 3)")
	p.exec("INSERT INTO d5.t2 VALUES (1, 1), (2, 1), (3, 2)")
	other := newParker(t, s)
	p.record()
	p.exec("INSERT INTO d5.t2 VALUES (4, 3)")
	p.exec("UPDATE d5.t1 SET id = 12, name = x'00' || 'two' WHERE id = 2 AND 0")
	p.exec("DELETE FROM d5.t1 WHERE id = 1")
	require.NoError(t, p.c.Savepoint(t.Context(), "s"))
	p.exec("UPDATE d5.t2 SET a = 40 WHERE a = 4")
	p.exec("INSERT INTO d5.t3 VALUES (1, 2), (2, NULL)")
	_, err := p.c.Exec(t.Context(), "INSERT INTO d5.t1 VALUES (9, 9, NULL, 0), (3, 3, NULL, 0)", nil)
	var duplicate *ConstraintError
	require.ErrorAs(t, err, &duplicate)
	for range 2 {
		require.NoError(t, p.c.Recorder.Park())
		require.False(t, p.c.InTransaction())
		require.Equal(t, int64(1), p.value("SELECT COUNT(*) FROM d5.t1 WHERE id = 1"))
		other.exec("INSERT INTO d5.t2 VALUES (5, 3)")
		require.NoError(t, p.resume())
		require.Equal(t, int64(40), p.value("SELECT MAX(a) FROM d5.t2"))
		require.Equal(t, int64(2), p.value("SELECT COUNT(*) FROM d5.t3"))
	}
	require.NoError(t, p.c.RollbackTo("s"))
	require.NoError(t, p.c.Recorder.Park())
	require.NoError(t, p.resume())
	p.exec("DELETE FROM d5.t3") // all rows at once
	require.NoError(t, p.c.Commit())
	p.c.Recorder.Stop()
	require.Equal(t, "3,4,5,5", p.value("SELECT group_concat(a, ',') FROM (SELECT a FROM d5.t2 ORDER BY a)"))
	require.Equal(t, int64(0), p.value("SELECT COUNT(*) FROM d5.t3"))
	require.Equal(t, "2,3", p.value("SELECT group_concat(id, ',') FROM (SELECT id FROM d5.t1 ORDER BY id)"))
}

// TestResumeFails: a transaction whose changes cannot be repeated is rolled back as a whole.
func TestResumeFails(t *testing.T) {
	s, p := parkStore(t)
	other := newParker(t, s)
	p.record()
	p.exec("INSERT INTO d5.t1 VALUES (1, 1, 'one', 1), (2, 2, 'two', 2)")
	require.NoError(t, p.c.Recorder.Park())
	other.exec("INSERT INTO d5.t1 VALUES (2, 0, 'other', 0)")
	var duplicate *ConstraintError
	require.ErrorAs(t, p.resume(), &duplicate)
	require.False(t, p.c.InTransaction())
	p.c.Recorder.Stop()
	require.Equal(t, int64(1), p.value("SELECT COUNT(*) FROM d5.t1"))
}

// TestCheckOfChanges: the error of a check is that of the statement, also if SQLite has refused a
// later row. Try finds changes of rows that only a parked transaction has.
func TestCheckOfChanges(t *testing.T) {
	s, p := parkStore(t)
	other := newParker(t, s)
	other.record()
	other.exec("INSERT INTO d5.t2 VALUES (7, NULL)")
	require.NoError(t, other.c.Recorder.Park())
	defer other.c.Recorder.Stop()
	locked := errors.New("locked")
	p.begin()
	p.c.Recorder.Start(5, 0, func(ch *RowChange) error {
		if ch.Op == RowInserted && ch.After == 2 {
			return locked
		}
		return nil
	})
	require.True(t, p.c.Recorder.Checking())
	require.NoError(t, p.c.Savepoint(t.Context(), "s"))
	_, err := p.c.Exec(t.Context(), "INSERT INTO d5.t1 VALUES (1, 1, '', 1), (2, 2, '', 2), (1, 1, '', 1)", nil)
	require.ErrorIs(t, err, locked)
	_, err = p.c.Exec(t.Context(), "INSERT INTO d5.t1 VALUES (2, 2, '', 2)", nil)
	require.ErrorIs(t, err, locked)
	require.NoError(t, p.c.RollbackTo("s"))
	require.Empty(t, p.c.Recorder.Record().Changes())
	try := func(sql string) (owner int) {
		owner = -2
		err := p.c.Recorder.Try(t.Context(), []*Record{other.c.Recorder.Record()}, Repeater{Layout: func(table string) (TableLayout, bool) {
			l, ok := parkTables[table]
			return l, ok
		}}, func() error {
			_, err := p.c.Exec(t.Context(), sql, nil)
			return err
		}, func(_ *RowChange, by int, _ int64) error {
			owner = by
			return nil
		})
		require.NoError(t, err)
		return owner
	}
	require.Equal(t, 0, try("UPDATE d5.t2 SET a = a + 1"))
	require.Equal(t, 0, try("DELETE FROM d5.t2"))
	require.Equal(t, -1, try("INSERT INTO d5.t2 VALUES (1, NULL)"))
	require.Equal(t, -2, try("DELETE FROM d5.t2 WHERE a = 6"))
	require.Equal(t, int64(0), p.value("SELECT COUNT(*) FROM d5.t2"))
	p.rollback()
	p.c.Recorder.Stop()
}

// BenchmarkPark measures what recording a transaction's changes costs, and what it costs to put a
// transaction aside and to take it up again.
func BenchmarkPark(b *testing.B) {
	_, p := parkStore(b)
	p.insert(10_000)
	for _, rows := range []int64{1, 10, 1000} {
		b.Run(fmt.Sprintf("insert/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.begin()
				p.insert(rows)
				p.rollback()
			}
		})
		b.Run(fmt.Sprintf("recorded/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.record()
				p.insert(rows)
				p.rollback()
				p.c.Recorder.Stop()
			}
		})
		b.Run(fmt.Sprintf("parked/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.record()
				p.insert(rows)
				require.NoError(b, p.c.Recorder.Park())
				require.NoError(b, p.resume())
				require.Equal(b, p.next, p.value("SELECT MAX(id) FROM d5.t1"))
				p.rollback()
				p.c.Recorder.Stop()
			}
		})
	}
}
