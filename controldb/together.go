package controldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/jobagent/jobagent/controldb/dberror"
	mssqldb "github.com/microsoft/go-mssqldb"
)

// togetherArguments bounds the arguments of one batch: a call takes 2100, and the caller and the
// text need some.
const togetherArguments = 2000

// errRecording is the error of a call that needs a result within [Store.Together].
var errRecording = errors.New("the call has a result set, and cannot be made together with others")

// Together makes all calls of fn in one transaction, or none of them. fn gets a store that only
// collects calls: their OUTPUT values (ids, revisions, versions) stay zero, reads fail, and errors
// of the database are returned by Together. If the connection breaks during the commit, the error
// says that the outcome is not known. The calls are sent in as few round trips as their
// arguments allow: one, and the two of the transaction.
func (s *Store) Together(ctx context.Context, op string, fn func(*Store) error) error {
	if s.recorded != nil {
		return fn(s)
	}
	return s.together(ctx, op, fn, (*sqlx.Tx).Commit, "the server did not confirm the changes: they were made together, or not at all")
}

// Rehearse makes all calls of fn in one transaction, as [Store.Together] does, and rolls it back:
// the procedures check what they are given, and nothing is changed.
func (s *Store) Rehearse(ctx context.Context, op string, fn func(*Store) error) error {
	return s.together(ctx, op, fn, (*sqlx.Tx).Rollback, "")
}

// together makes all calls of fn in one transaction, which end ends. unconfirmed is what it means
// that the connection breaks then; empty: nothing.
func (s *Store) together(ctx context.Context, op string, fn func(*Store) error, end func(*sqlx.Tx) error, unconfirmed string) error {
	batches, err := s.batches(ctx, fn)
	if err != nil || len(batches) == 0 {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.retry(ctx, op, func() (bool, error) {
		started := time.Now()
		ending, err := s.runTogether(ctx, batches, end)
		if err != nil {
			var answer mssqldb.Error
			var ended mssqldb.ServerError
			refused := errors.As(err, &answer) && !errors.As(err, &ended) // nothing was made; a server that ends the session may have committed
			unknown := ending && unconfirmed != "" && !refused
			if err = dberror.TranslateCall(ctx, op, err); unknown {
				err = fmt.Errorf("%w; %s", err, unconfirmed)
			}
		}
		s.observe(op, started, err)
		return true, err
	})
}

// Call is a call of a procedure, to be shown. A parameter that is not given has its default.
type Call struct {
	Procedure string // such as jobs.sp_add_job
	Args      []Arg
}

// Arg is an argument: a text, a number, a bool or a [uuid.UUID]. Instants are texts.
type Arg struct {
	Name  string // without @
	Value any
}

// Record returns the calls of fn, which are not made.
func (s *Store) Record(fn func(*Store) error) ([]Call, error) {
	calls, err := s.record(fn)
	if err != nil {
		return nil, err
	}
	var list []Call
	for _, c := range calls {
		one := Call{Procedure: c.proc}
		for _, a := range c.inputs() {
			switch v := a.Value.(type) {
			case mssqldb.UniqueIdentifier:
				a.Value = uuid.UUID(v)
			case mssqldb.NVarCharMax:
				a.Value = string(v)
			}
			one.Args = append(one.Args, Arg{a.Name, a.Value})
		}
		list = append(list, one)
	}
	return list, nil
}

// record collects the calls of fn.
func (s *Store) record(fn func(*Store) error) ([]*call, error) {
	recorder := &Store{serverName: s.serverName, recorded: &[]*call{}}
	if err := fn(recorder); err != nil {
		return nil, err
	}
	return *recorder.recorded, nil
}

// batches collects the calls of fn as batches.
func (s *Store) batches(ctx context.Context, fn func(*Store) error) ([]batch, error) {
	calls, err := s.record(fn)
	if err != nil {
		return nil, err
	}
	return textTogether(ctx, calls)
}

// runTogether runs batches in a transaction, and ends it. If ending, the error is one of the end.
func (s *Store) runTogether(ctx context.Context, batches []batch, end func(*sqlx.Tx) error) (ending bool, err error) {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return false, err
	}
	for _, b := range batches {
		if _, err := tx.ExecContext(ctx, b.text, b.args...); err != nil {
			_ = tx.Rollback() // the error has ended the transaction already, or the connection
			return false, err
		}
	}
	return true, end(tx)
}

// batch is a text with arguments.
type batch struct {
	text string
	args []any
}

// textTogether returns the batches of calls.
func textTogether(ctx context.Context, calls []*call) ([]batch, error) {
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
		inputs := c.inputs()
		if len(args)+len(inputs) > togetherArguments {
			flush()
			text.WriteString("SET XACT_ABORT ON;\n")
		}
		text.WriteString("EXECUTE " + c.proc)
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
	if caller, ok := callerOf(ctx); ok && caller.Role != "" && len(list) > 1 {
		return nil, errors.New("too many changes for one call of a caller with a role")
	}
	if caller, ok := callerOf(ctx); ok && caller.Role != "" {
		list[0].text += strings.TrimPrefix(callEpilogue, "\n")
	}
	return list, nil
}

// beginTogether writes the beginning of the first batch. The session context is set once: its keys
// are read-only until the connection is reset, which the pool does not do within a transaction.
func beginTogether(ctx context.Context, text *strings.Builder, args *[]any) error {
	caller, ok := callerOf(ctx)
	if !ok {
		text.WriteString("SET XACT_ABORT ON;\n")
		return nil
	}
	user, err := caller.user()
	if err != nil {
		return err
	}
	if user == "" && caller.Door != DoorCLI {
		text.WriteString("SET XACT_ABORT ON;\n")
		return nil
	}
	*args = append(*args, sql.Named("jobagent_correlation_id", correlation(caller.CorrelationID)),
		sql.Named("jobagent_traceparent", caller.TraceParent))
	if user == "" {
		text.WriteString(doorPrologue)
		return nil
	}
	text.WriteString(callPrologue)
	*args = append(*args, sql.Named("jobagent_user", mssqldb.NVarCharMax(user)),
		sql.Named("jobagent_caller", mssqldb.NVarCharMax(caller.Name)), sql.Named("jobagent_door", mssqldb.NVarCharMax(caller.Door)),
		sql.Named("jobagent_address", mssqldb.NVarCharMax(caller.Address)))
	return nil
}

// inputs returns the arguments of a call whose results nobody reads: an OUTPUT parameter is sent
// only if it has a value before the call.
func (c *call) inputs() []sql.NamedArg {
	list := make([]sql.NamedArg, 0, len(c.args))
	for _, a := range c.args {
		named := a.(sql.NamedArg) // in and out add no others
		if out, ok := named.Value.(sql.Out); ok {
			value, ok := out.Dest.(*sql.NullInt64)
			if !ok || !value.Valid {
				if dest := reflect.ValueOf(out.Dest).Elem(); !ok && !dest.IsZero() {
					panic(fmt.Sprintf("%s: the value of the OUTPUT parameter %s would be lost", c.proc, named.Name))
				}
				continue
			}
			named.Value = value.Int64
		}
		list = append(list, named)
	}
	return list
}
