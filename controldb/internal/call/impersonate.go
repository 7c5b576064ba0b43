package call

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/caller"
)

// The parts of the batch of a call with a caller. The driver sends it to sp_executesql, because it
// has arguments; so the impersonation ends with it, however it ends, and SET and DECLARE are its
// own. begin_call refuses to go on if EXECUTE AS did not change the user.
//
// The pool resets a connection before its next use. That clears SESSION_CONTEXT; keys are
// Read-only, so that a connection without a reset fails instead of naming the last caller. The
// server drops a connection that is reset under impersonation (error 18059).
const (
	callPrologue   = impersonate + beginCall
	callEpilogue   = "\nREVERT;"
	selectPrologue = impersonate + "EXECUTE jobs_internal.begin_call @user = @jobagent_user;\n"
	// impersonate gives EXECUTE AS a variable of the type of a name; the argument is of type MAX.
	impersonate = "SET XACT_ABORT ON;\nDECLARE @jobagent_as NVARCHAR(128) = @jobagent_user;\nEXECUTE AS USER = @jobagent_as;\n"
	beginCall   = "EXECUTE jobs_internal.begin_call @user = @jobagent_user, @caller = @jobagent_caller, @door = @jobagent_door," +
		" @address = @jobagent_address, @correlation_id = @jobagent_correlation_id, @traceparent = @jobagent_traceparent;\n"
	// doorPrologue is for the login's own calls. They have no other caller than the login.
	doorPrologue = "SET XACT_ABORT ON;\nEXECUTE sys.sp_set_session_context N'jobagent.door', N'CLI', 1;\n" +
		"EXECUTE sys.sp_set_session_context N'jobagent.correlation_id', @jobagent_correlation_id, 1;\n" +
		"IF LEN(@jobagent_traceparent) = 55 EXECUTE sys.sp_set_session_context N'jobagent.traceparent', @jobagent_traceparent, 1;\n"
)

// textFor returns the text of the call for the caller of ctx, and its arguments. Without a caller
// and readings, the text is the name of the procedure, which the driver calls by RPC.
func (c *Call) textFor(ctx context.Context) (text string, args []any, err error) {
	who, _ := caller.Of(ctx)
	user, err := who.User()
	if err != nil {
		return "", nil, err
	}
	door := user == "" && who.Door == caller.DoorCLI && strings.HasPrefix(c.Proc, "jobs.")
	if user == "" && !door && len(c.reads) == 0 {
		return c.Proc, c.Args, nil
	}
	var b strings.Builder
	args = make([]any, 0, len(c.Args)+6)
	if user != "" || door {
		args = append(args, sql.Named("jobagent_correlation_id", correlation(who.CorrelationID)),
			sql.Named("jobagent_traceparent", who.TraceParent))
	}
	switch {
	case user != "":
		b.WriteString(callPrologue)
		args = append(args, sql.Named("jobagent_user", mssqldb.NVarCharMax(user)),
			sql.Named("jobagent_caller", mssqldb.NVarCharMax(who.Name)), sql.Named("jobagent_door", mssqldb.NVarCharMax(who.Door)),
			sql.Named("jobagent_address", mssqldb.NVarCharMax(who.Address)))
	case door:
		b.WriteString(doorPrologue)
	default:
		b.WriteString("SET XACT_ABORT ON;\n")
	}
	if len(c.reads) > 0 {
		b.WriteString("BEGIN TRANSACTION;\n")
	}
	b.WriteString("EXECUTE ")
	b.WriteString(c.Proc)
	for i, a := range c.Args {
		named := a.(sql.NamedArg) // in and out add no others
		if i > 0 {
			b.WriteByte(',')
		}
		variable := "p_" + named.Name // tsqlcheck (.ci/bind) binds no variable of the same name
		b.WriteString(" @" + named.Name + " = @" + variable)
		a = sql.Named(variable, named.Value)
		switch v := named.Value.(type) {
		case sql.Out:
			b.WriteString(" OUTPUT")
		case string:
			// The type of a sized string has its length, so each length would have its own plan.
			a = sql.Named(variable, mssqldb.NVarCharMax(v))
		}
		args = append(args, a)
	}
	b.WriteByte(';')
	for i, r := range c.reads {
		query, named := r.named(fmt.Sprintf("read%d_", i+1))
		b.WriteString("\n" + query)
		args = append(args, named...)
	}
	if len(c.reads) > 0 {
		b.WriteString("\nCOMMIT TRANSACTION;")
	}
	if user != "" {
		b.WriteString(callEpilogue)
	}
	return b.String(), args, nil
}

// positional matches the name that the driver gives to an argument without a name.
var positional = regexp.MustCompile(`@p(\d+)\b`)

// sizedText is the length of the longest text that NVARCHAR(4000) holds.
const sizedText = 4000

// oneType returns a query whose texts have the same types, whatever their lengths: the driver
// declares a string with its length, so the plan cache would have a plan for each length. Only MAX
// is declared without one. The query converts it, because a predicate with a text of MAX is not as
// good a seek of a column that has a size.
func oneType(query string, args []any) (string, []any) {
	sized := map[string]bool{}
	args = slices.Clone(args)
	for i, a := range args {
		v := reflect.ValueOf(a)
		if a == nil || v.Kind() != reflect.String {
			continue
		}
		args[i] = mssqldb.NVarCharMax(v.String())
		if len(v.String()) <= sizedText { // no text has more UTF-16 code units than bytes
			sized[fmt.Sprint("@p", i+1)] = true
		}
	}
	if len(sized) == 0 {
		return query, args
	}
	return positional.ReplaceAllStringFunc(query, func(name string) string {
		if sized[name] {
			return fmt.Sprintf("CAST(%s AS NVARCHAR(%d))", name, sizedText)
		}
		return name
	}), args
}

// selectFor returns a SELECT as the database user of the caller of ctx, and its arguments.
func selectFor(ctx context.Context, query string, args []any) (string, []any, error) {
	query, args = oneType(query, args)
	who, ok := caller.Of(ctx)
	if !ok {
		return query, args, nil
	}
	user, err := who.User()
	if err != nil || user == "" {
		return query, args, err
	}
	// The last arguments: the driver numbers those without a name by their positions.
	args = append(append(make([]any, 0, len(args)+6), args...), sql.Named("jobagent_user", mssqldb.NVarCharMax(user)))
	if ctx.Value(namedReads{}) == nil {
		return selectPrologue + query + callEpilogue, args, nil
	}
	args = append(args, sql.Named("jobagent_caller", mssqldb.NVarCharMax(who.Name)), sql.Named("jobagent_door", mssqldb.NVarCharMax(who.Door)),
		sql.Named("jobagent_address", mssqldb.NVarCharMax(who.Address)),
		sql.Named("jobagent_correlation_id", correlation(who.CorrelationID)), sql.Named("jobagent_traceparent", who.TraceParent))
	return callPrologue + query + callEpilogue, args, nil
}

// namedReads is the key of [WithName].
type namedReads struct{}

// WithName returns a context whose queries tell the control database who reads, for views that show
// each person something else.
func WithName(ctx context.Context) context.Context { return context.WithValue(ctx, namedReads{}, true) }

// correlation returns the argument for id; nil if it is not set.
func correlation(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil // the driver sends a NullUniqueIdentifier without a value as a type that no server knows
	}
	return mssqldb.UniqueIdentifier(id)
}
