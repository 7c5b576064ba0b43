package controldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"
)

// call collects the arguments of a procedure by name. Those that are not added are not sent.
type call struct {
	proc string
	args []any
}

func newCall(proc string) *call { return &call{proc: proc} }

// in adds an argument.
func (c *call) in(name string, value any) *call {
	switch v := value.(type) {
	case uuid.UUID:
		value = mssqldb.UniqueIdentifier(v)
	case time.Time:
		value = datetime2(v)
	}
	c.args = append(c.args, sql.Named(name, value))
	return c
}

// opt adds an argument unless it is nil.
func opt[T any](c *call, name string, value *T) *call {
	if value != nil {
		c.in(name, any(*value))
	}
	return c
}

// optText adds a text unless it is empty.
func (c *call) optText(name, value string) *call {
	if value != "" {
		c.in(name, value)
	}
	return c
}

// optTime adds an instant unless it is zero.
func (c *call) optTime(name string, t time.Time) *call {
	if !t.IsZero() {
		c.in(name, t)
	}
	return c
}

// out adds an OUTPUT parameter; dest holds the argument before and the answer after the call.
func (c *call) out(name string, dest any) *call {
	c.args = append(c.args, sql.Named(name, sql.Out{Dest: dest, In: true}))
	return c
}

// exec runs the procedure and drops its result sets.
func (s *Store) exec(ctx context.Context, op string, c *call) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.retry(ctx, op, func() (bool, error) {
		if _, err := s.db.ExecContext(ctx, c.proc, c.args...); err != nil {
			return true, translateCall(ctx, op, err)
		}
		return true, nil
	})
}

// query runs the procedure and gives each of its result sets to the next of sets. A result set that is
// missing is an error: the schema is not what this program was built with.
func (s *Store) query(ctx context.Context, op string, c *call, sets ...func(*sqlx.Rows) error) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	read := false
	for i, set := range sets {
		sets[i] = func(rows *sqlx.Rows) error {
			read = true
			return set(rows)
		}
	}
	return s.retry(ctx, op, func() (bool, error) {
		err := s.queryOnce(ctx, op, c, sets)
		return !read, err // rows that were handed over would be again
	})
}

// queryOnce is query without retries.
func (s *Store) queryOnce(ctx context.Context, op string, c *call, sets []func(*sqlx.Rows) error) error {
	rows, err := s.db.Unsafe().QueryxContext(ctx, c.proc, c.args...) // unsafe: columns of a later schema are passed over
	if err != nil {
		return translateCall(ctx, op, err)
	}
	defer rows.Close()
	// Rows of its own for each result set: sqlx keeps the columns of the first one that it scanned.
	fresh := *rows
	for i, set := range sets {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return translateCall(ctx, op, err)
			}
			return fmt.Errorf("%s: %s answered with %d result sets instead of %d", op, c.proc, i, len(sets))
		}
		scanner := fresh
		for scanner.Next() {
			if err := set(&scanner); err != nil {
				return fmt.Errorf("%s: read result set %d of %s: %w", op, i+1, c.proc, err)
			}
		}
		if err := rows.Err(); err != nil {
			return translateCall(ctx, op, err)
		}
	}
	for rows.NextResultSet() {
	}
	if err := rows.Err(); err != nil {
		return translateCall(ctx, op, err)
	}
	return nil
}

// datetime2 is an instant as text in UTC with all seven digits: SQL Server converts it to DATETIME2(7)
// without loss, also below the year 1753.
func datetime2(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000") }

// seconds is a duration in whole seconds, rounded up, at least 1.
func seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
