package controldb_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/testenv"
)

// TestMain limits the number of rapid's checks, unless the long tests run or the command line sets
// it.
func TestMain(m *testing.M) {
	if !testenv.IsLong() {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m) // VerifyTestMain parses the command line, which overrides the limit
}

// control is an installed control database, with the store and a connection pool for T-SQL.
type control struct {
	*controldb.Store
	env  *testenv.Env
	name string
	db   *sql.DB
}

// each runs fn on a new control database on every available server, and checks the invariants
// afterwards.
func each(t *testing.T, fn func(t *testing.T, c *control)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		store, name := env.Control(t)
		fn(t, &control{Store: store, env: env, name: name, db: env.DB(t, name)})
		if !t.Failed() {
			env.CheckInvariants(t, name, false)
		}
	})
}

// exec runs a batch that must succeed.
func (c *control) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := c.db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

// fails runs a batch that must throw number, and returns the message.
func (c *control) fails(t *testing.T, number int32, query string, args ...any) string {
	t.Helper()
	_, err := c.db.ExecContext(t.Context(), query, args...)
	var e mssqldb.Error
	require.Error(t, err, query)
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, number, e.Number, "%s: %s", query, e.Message)
	return e.Message
}

// get reads one value.
func get[T any](t *testing.T, c *control, query string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, c.db.QueryRowContext(t.Context(), query, args...).Scan(&v), query)
	return v
}

// rows returns a result as text: one string a row, values separated by "|", NULL as "NULL".
func (c *control) rows(t *testing.T, query string, args ...any) []string {
	t.Helper()
	list, err := readRows(t.Context(), c.db, query, args...)
	require.NoError(t, err, query)
	return list
}

func readRows(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	list := []string{}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		line := ""
		for i, v := range values {
			if i > 0 {
				line += "|"
			}
			switch v := (*v.(*any)).(type) {
			case nil:
				line += "NULL"
			case []byte:
				line += string(v)
			default:
				line += fmt.Sprint(v)
			}
		}
		list = append(list, line)
	}
	return list, rows.Err()
}

// ptr returns a pointer to v, for optional fields.
func ptr[T any](v T) *T { return &v }
