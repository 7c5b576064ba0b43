package controldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/jobagent/jobagent/controldb/dberror"
	mssqldb "github.com/microsoft/go-mssqldb"
)

// call is a procedure call with named arguments. Parameters without an argument are not sent, so
// their defaults apply.
type call struct {
	proc  string
	args  []any
	reads []reading
}

// reading is a query that follows a procedure in its transaction.
type reading struct {
	query string
	args  []any // positional
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

// optText adds a string unless it is empty.
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

// out adds an OUTPUT parameter. *dest is the argument before the call and the result after it.
func (c *call) out(name string, dest any) *call {
	c.args = append(c.args, sql.Named(name, sql.Out{Dest: dest, In: true}))
	return c
}

// read adds a query to a procedure without result sets. Both run in one transaction, so that the
// query returns what the procedure left, and not what another session has done since.
func (c *call) read(query string, args ...any) *call {
	c.reads = append(c.reads, reading{query, args})
	return c
}

// named returns the query with named arguments that begin with a prefix.
func (r reading) named(prefix string) (string, []any) {
	query, args := oneType(r.query, r.args)
	named := make([]any, len(args))
	for i, a := range args {
		named[i] = sql.Named(fmt.Sprint(prefix, i+1), a)
	}
	return positional.ReplaceAllString(query, "@"+prefix+"${1}"), named
}

// exec runs the procedure and discards its result sets.
func (s *Store) exec(ctx context.Context, op string, c *call) error {
	if s.recorded != nil {
		*s.recorded = append(*s.recorded, c)
		return nil
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	text, args, err := c.textFor(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return s.retry(ctx, op, func() (bool, error) {
		started := time.Now()
		defer s.tellSlow(op)()
		_, err := s.db.ExecContext(ctx, text, args...)
		if err != nil {
			err = dberror.TranslateCall(ctx, op, err)
		}
		s.observe(c.proc, started, err)
		return true, err
	})
}

// query runs the procedure and passes each of its result sets to the next function of sets, row by
// row. A missing result set is an error: the installed schema is not the one of this program.
func (s *Store) query(ctx context.Context, op string, c *call, sets ...func(*sqlx.Rows) error) error {
	if s.recorded != nil {
		return fmt.Errorf("%s: %w", op, errRecording)
	}
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
		started := time.Now()
		defer s.tellSlow(op)()
		err := s.queryOnce(ctx, op, c, sets)
		s.observe(c.proc, started, err)
		return !read, err // a retry would deliver the rows twice
	})
}

// queryOnce is query without retries.
func (s *Store) queryOnce(ctx context.Context, op string, c *call, sets []func(*sqlx.Rows) error) error {
	text, args, err := c.textFor(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rows, err := s.db.QueryxContext(ctx, text, args...)
	if err != nil {
		return dberror.TranslateCall(ctx, op, err)
	}
	defer rows.Close()
	for i, set := range sets {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return dberror.TranslateCall(ctx, op, err)
			}
			return fmt.Errorf("%s: %s returned %d result sets, want %d", op, c.proc, i, len(sets))
		}
		for rows.Next() {
			if err := set(rows); err != nil {
				return fmt.Errorf("%s: read result set %d of %s: %w", op, i+1, c.proc, err)
			}
		}
		if err := rows.Err(); err != nil {
			return dberror.TranslateCall(ctx, op, err)
		}
	}
	for rows.NextResultSet() {
	}
	if err := rows.Err(); err != nil {
		return dberror.TranslateCall(ctx, op, err)
	}
	return nil
}

// datetime2 formats a time in UTC with seven fractional digits. SQL Server converts this text to
// DATETIME2(7) without loss, also before the year 1753.
func datetime2(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000") }

// seconds returns d in whole seconds, rounded up, at least 1.
func seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
