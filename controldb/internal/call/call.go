package call

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// Call is a procedure call with named arguments. Parameters without an argument are not sent, so
// their defaults apply.
type Call struct {
	Proc  string
	Args  []any // of [sql.Named]
	reads []reading
}

// reading is a query that follows a procedure in its transaction.
type reading struct {
	query string
	args  []any // positional
}

// New returns a call of a procedure, such as jobs.sp_start_job.
func New(proc string) *Call { return &Call{Proc: proc} }

// In adds an argument.
func (c *Call) In(name string, value any) *Call {
	switch v := value.(type) {
	case uuid.UUID:
		value = mssqldb.UniqueIdentifier(v)
	case time.Time:
		value = Datetime2(v)
	}
	c.Args = append(c.Args, sql.Named(name, value))
	return c
}

// Opt adds an argument unless it is nil.
func Opt[T any](c *Call, name string, value *T) *Call {
	if value != nil {
		c.In(name, any(*value))
	}
	return c
}

// Given adds the fields that spec gives of an object.
func Given[S, V any](c *Call, fields []model.Field[S, V], spec *S) *Call {
	for i := range fields {
		if v, ok := fields[i].Given(spec); ok {
			c.In(fields[i].Name, v)
		}
	}
	return c
}

// OptText adds a string unless it is empty.
func (c *Call) OptText(name, value string) *Call {
	if value != "" {
		c.In(name, value)
	}
	return c
}

// OptTime adds an instant unless it is zero.
func (c *Call) OptTime(name string, t time.Time) *Call {
	if !t.IsZero() {
		c.In(name, t)
	}
	return c
}

// Out adds an OUTPUT parameter. *dest is the argument before the call and the result after it.
func (c *Call) Out(name string, dest any) *Call {
	c.Args = append(c.Args, sql.Named(name, sql.Out{Dest: dest, In: true}))
	return c
}

// Read adds a query to a procedure without result sets. Both run in one transaction, so that the
// query returns what the procedure left, and not what another session has done since.
func (c *Call) Read(query string, args ...any) *Call {
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

// Exec runs the procedure and discards its result sets.
func (conn *Conn) Exec(ctx context.Context, op string, c *Call) error {
	if conn.recorded != nil {
		*conn.recorded = append(*conn.recorded, c)
		return nil
	}
	ctx, cancel := conn.Bounded(ctx)
	defer cancel()
	text, args, err := c.textFor(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return conn.Retry(ctx, op, func() (bool, error) {
		started := time.Now()
		defer conn.tellSlow(op)()
		_, err := conn.db.ExecContext(ctx, text, args...)
		if err != nil {
			err = dberror.TranslateCall(ctx, op, err)
		}
		conn.observe(c.Proc, started, err)
		return true, err
	})
}

// Query runs the procedure and passes each of its result sets to the next function of sets, row by
// row. A missing result set is an error: the installed schema is not the one of this program.
func (conn *Conn) Query(ctx context.Context, op string, c *Call, sets ...func(*sqlx.Rows) error) error {
	if conn.recorded != nil {
		return fmt.Errorf("%s: %w", op, ErrRecording)
	}
	ctx, cancel := conn.Bounded(ctx)
	defer cancel()
	read := false
	for i, set := range sets {
		sets[i] = func(rows *sqlx.Rows) error {
			read = true
			return set(rows)
		}
	}
	return conn.Retry(ctx, op, func() (bool, error) {
		started := time.Now()
		defer conn.tellSlow(op)()
		err := conn.queryOnce(ctx, op, c, sets)
		conn.observe(c.Proc, started, err)
		return !read, err // a retry would deliver the rows twice
	})
}

// queryOnce is query without retries.
func (conn *Conn) queryOnce(ctx context.Context, op string, c *Call, sets []func(*sqlx.Rows) error) error {
	text, args, err := c.textFor(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rows, err := conn.db.QueryxContext(ctx, text, args...)
	if err != nil {
		return dberror.TranslateCall(ctx, op, err)
	}
	defer rows.Close()
	for i, set := range sets {
		if i > 0 && !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return dberror.TranslateCall(ctx, op, err)
			}
			return fmt.Errorf("%s: %s returned %d result sets, want %d", op, c.Proc, i, len(sets))
		}
		for rows.Next() {
			if err := set(rows); err != nil {
				return fmt.Errorf("%s: read result set %d of %s: %w", op, i+1, c.Proc, err)
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

// Datetime2 formats a time in UTC with seven fractional digits. SQL Server converts this text to
// DATETIME2(7) without loss, also before the year 1753.
func Datetime2(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000") }

// Seconds returns d in whole seconds, rounded up, at least 1.
func Seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
