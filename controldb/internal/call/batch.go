package call

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// togetherArguments bounds the arguments of one batch: a call takes 2100, and the caller and the
// text need some.
const togetherArguments = 2000

// ErrRecording is the error of a call that needs a result within controldb.Store.Together.
var ErrRecording = errors.New("the call has a result set, and cannot be made together with others")

// Commit makes calls in one transaction. If the connection breaks during the commit, the error says
// that the outcome is not known.
func (conn *Conn) Commit(ctx context.Context, op string, calls []*Call) error {
	return conn.together(ctx, op, calls, (*sqlx.Tx).Commit, "the server did not confirm the changes: they were made together, or not at all")
}

// Rehearse makes calls in one transaction, and rolls it back.
func (conn *Conn) Rehearse(ctx context.Context, op string, calls []*Call) error {
	return conn.together(ctx, op, calls, (*sqlx.Tx).Rollback, "")
}

// together makes calls in one transaction, which end ends. unconfirmed is what it means that the
// connection breaks then; empty: nothing.
func (conn *Conn) together(ctx context.Context, op string, calls []*Call, end func(*sqlx.Tx) error, unconfirmed string) error {
	batches, err := textTogether(ctx, calls)
	if err != nil || len(batches) == 0 {
		return err
	}
	ctx, cancel := conn.Bounded(ctx)
	defer cancel()
	return conn.Retry(ctx, op, func() (bool, error) {
		started := time.Now()
		ending, err := conn.runTogether(ctx, batches, end)
		if err != nil {
			var answer mssqldb.Error
			var ended mssqldb.ServerError
			refused := errors.As(err, &answer) && !errors.As(err, &ended) // nothing was made; a server that ends the session may have committed
			unknown := ending && unconfirmed != "" && !refused
			if err = dberror.TranslateCall(ctx, op, err); unknown {
				err = fmt.Errorf("%w; %s", err, unconfirmed)
			}
		}
		conn.observe(op, started, err)
		return true, err
	})
}

// runTogether runs batches in a transaction, and ends it. If ending, the error is one of the end.
func (conn *Conn) runTogether(ctx context.Context, batches []batch, end func(*sqlx.Tx) error) (ending bool, err error) {
	tx, err := conn.db.BeginTxx(ctx, nil)
	if err != nil {
		return false, err
	}
	for _, b := range batches {
		if _, err := tx.ExecContext(ctx, b.text, b.Args...); err != nil {
			_ = tx.Rollback() // the error has ended the transaction already, or the connection
			return false, err
		}
	}
	return true, end(tx)
}

// batch is a text with arguments.
type batch struct {
	text string
	Args []any
}

// textTogether returns the batches of calls.
func textTogether(ctx context.Context, calls []*Call) ([]batch, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	var list []batch
	var text strings.Builder
	var args []any
	flush := func() {
		list = append(list, batch{text.String(), args})
		text.Reset()
		args = nil
	}
	if err := beginTogether(ctx, &text, &args); err != nil {
		return nil, err
	}
	for i, c := range calls {
		inputs := c.Inputs()
		if len(args)+len(inputs) > togetherArguments {
			flush()
			text.WriteString("SET XACT_ABORT ON;\n")
		}
		text.WriteString("EXECUTE " + c.Proc)
		for k, a := range inputs {
			if k > 0 {
				text.WriteByte(',')
			}
			variable := fmt.Sprintf("p%d_%s", i, a.Name)
			text.WriteString(" @" + a.Name + " = @" + variable)
			if v, ok := a.Value.(string); ok {
				a.Value = mssqldb.NVarCharMax(v) // as in textFor
			}
			args = append(args, sql.Named(variable, a.Value))
		}
		text.WriteString(";\n")
	}
	flush()
	if who, ok := caller.Of(ctx); ok && who.Role != "" && len(list) > 1 {
		return nil, errors.New("too many changes for one call of a caller with a role")
	}
	if who, ok := caller.Of(ctx); ok && who.Role != "" {
		list[0].text += strings.TrimPrefix(callEpilogue, "\n")
	}
	return list, nil
}

// beginTogether writes the beginning of the first batch. The session context is set once: its keys
// are read-only until the connection is reset, which the pool does not do within a transaction.
func beginTogether(ctx context.Context, text *strings.Builder, args *[]any) error {
	who, ok := caller.Of(ctx)
	if !ok {
		text.WriteString("SET XACT_ABORT ON;\n")
		return nil
	}
	user, err := who.User()
	if err != nil {
		return err
	}
	if user == "" && who.Door != caller.DoorCLI {
		text.WriteString("SET XACT_ABORT ON;\n")
		return nil
	}
	*args = append(*args, sql.Named("jobagent_correlation_id", correlation(who.CorrelationID)),
		sql.Named("jobagent_traceparent", who.TraceParent))
	if user == "" {
		text.WriteString(doorPrologue)
		return nil
	}
	text.WriteString(callPrologue)
	*args = append(*args, sql.Named("jobagent_user", mssqldb.NVarCharMax(user)),
		sql.Named("jobagent_caller", mssqldb.NVarCharMax(who.Name)), sql.Named("jobagent_door", mssqldb.NVarCharMax(who.Door)),
		sql.Named("jobagent_address", mssqldb.NVarCharMax(who.Address)))
	return nil
}

// Inputs returns the arguments of a call whose results nobody reads: an OUTPUT parameter is sent
// only if it has a value before the call.
func (c *Call) Inputs() []sql.NamedArg {
	list := make([]sql.NamedArg, 0, len(c.Args))
	for _, a := range c.Args {
		named := a.(sql.NamedArg) // in and out add no others
		if out, ok := named.Value.(sql.Out); ok {
			value, ok := out.Dest.(*sql.NullInt64)
			if !ok || !value.Valid {
				if dest := reflect.ValueOf(out.Dest).Elem(); !ok && !dest.IsZero() {
					panic(fmt.Sprintf("%s: the value of the OUTPUT parameter %s would be lost", c.Proc, named.Name))
				}
				continue
			}
			named.Value = value.Int64
		}
		list = append(list, named)
	}
	return list
}
