package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"
)

// errNothingLeft is the error of an object that is not there after it was set.
var errNothingLeft = errors.New("the procedure has succeeded, but the object is not in its view: compare the versions of program and schema (jobagent doctor)")

// Left runs a call whose first query reads the object that the procedure leaves, and returns the
// object. more are the functions for the rows of the other queries.
func Left[T any](ctx context.Context, conn *Conn, op string, c *Call, more ...func(*sqlx.Rows) error) (T, error) {
	var list []T
	if conn.Records() {
		var none T
		return none, conn.Exec(ctx, op, c)
	}
	err := conn.Query(ctx, op, c, append([]func(*sqlx.Rows) error{Into(&list)}, more...)...)
	return OnlyRow(list, err, op, errNothingLeft)
}

// OnlyRow returns the only row of a list, or an error that wraps missing.
func OnlyRow[T any](list []T, err error, op string, missing error) (T, error) {
	var row T
	switch {
	case err != nil:
		return row, err
	case len(list) == 0:
		return row, fmt.Errorf("%s: %w", op, missing)
	}
	return list[0], nil
}

// In adds the condition that a column has one of some values, of which there must be one.
func In[T ~string | int | uuid.UUID](w *Filter, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		switch v := any(v).(type) {
		case uuid.UUID:
			args[i] = mssqldb.UniqueIdentifier(v)
		case int:
			args[i] = v
		default:
			args[i] = fmt.Sprint(v)
		}
	}
	w.Add(column+" IN (%s"+strings.Repeat(", %s", len(args)-1)+")", args...)
}

// ClaimText returns the form of a claim in JSON; empty for none.
func ClaimText(claim uuid.UUID) string {
	if claim == uuid.Nil {
		return ""
	}
	return claim.String()
}

// SmallGrant bounds the memory that a list reserves for its sort, in percent of the most that a
// statement may have. SQL Server expects 4,000 bytes of each message, because its type is
// NVARCHAR(MAX), so a list would reserve a quarter of the memory of all, and claims would wait for
// it (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-query). A sort that needs
// more uses tempdb.
const SmallGrant = "MAX_GRANT_PERCENT = 5"

// NoMode is the condition that a run v of jobs.job_executions is no trial and no preflight, which
// say nothing about what the job does.
const NoMode = `NOT EXISTS (SELECT 1 FROM jobs.job_execution_origins AS m WHERE m.job_execution_id = v.job_execution_id AND m.mode IS NOT NULL)`
