package store

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// panicking is an aggregate and a rowset that panic.
type panicking struct{}

func (panicking) Step([]types.Value) error     { panic("in step") }
func (panicking) Value() (types.Value, error)  { return nil, nil }
func (panicking) Next() ([]types.Value, error) { panic("in next") }
func (panicking) Rewind()                      {}

// A panic in a function that SQLite calls passes through the store. The store works afterwards, and
// the connection is not reused.
func TestPanicsInFunctions(t *testing.T) {
	t.Parallel()
	s, err := Open(context.Background(), Config{Functions: &Functions{
		Scalar: func(key string) (Func, error) {
			return func(*meter.Meter, []types.Value) (types.Value, error) { panic("in " + key) }, nil
		},
		Aggregate: func(string) (func() Accumulator, error) { return func() Accumulator { return panicking{} }, nil },
		Rows: func(string) (RowsFunc, error) {
			return func(*meter.Meter, []types.Value) (RowSource, error) { return panicking{}, nil }, nil
		},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx := context.Background()
	for i, c := range []struct{ sql, value string }{
		{"SELECT fn('scalar', a) FROM d1.t", "in scalar"},
		{"SELECT fnv('local')", "in local"},
		{"SELECT fn('constant')", "in constant"},
		{"SELECT agg('k', a) FROM d1.t", "in step"},
		{"SELECT c1 FROM rowset('k', 1)", "in next"},
		{"UPDATE d1.t SET a = fn('update', a)", "in update"},
	} {
		conn := acquire(t, s, 1)
		if i == 0 {
			run(t, conn, "CREATE TABLE d1.t(a)")
			run(t, conn, "INSERT INTO d1.t VALUES (1), (2)")
		}
		require.NoError(t, conn.Begin(ctx))
		run(t, conn, "INSERT INTO d1.t VALUES (3)")
		func() {
			defer func() {
				p, ok := recover().(*Panic)
				require.True(t, ok, c.sql)
				require.Equal(t, c.value, p.Value)
				require.Contains(t, string(p.Stack), "TestPanicsInFunctions")
			}()
			_, _ = conn.QueryRow(ctx, c.sql, nil)
			_, _ = conn.Exec(ctx, c.sql, nil)
			t.Fatal("no panic: " + c.sql)
		}()
		require.True(t, conn.InTransaction())
		require.EqualValues(t, 3, value(t, conn, "SELECT count(*) FROM d1.t"), "the connection works")
		require.NoError(t, conn.Rollback())
		s.Release(conn)
		require.NotContains(t, s.idle, conn)
		again := acquire(t, s, 1)
		require.NotSame(t, conn, again)
		require.EqualValues(t, 2, value(t, again, "SELECT count(*) FROM d1.t"), "nothing was kept, and nothing is locked")
		s.Release(again)
	}
}
