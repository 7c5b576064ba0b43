package builtin

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Version is @@VERSION. It names tsqld, in a form in which clients find the version of SQL Server
// that it follows.
const Version = "Microsoft SQL Server 2022 compatible - 16.0.1000.6 (X64) tsqld, the embedded T-SQL server of jobagent"

// identityType is the type of @@IDENTITY and similar functions.
var identityType = types.Type{ID: types.Decimal, Precision: 38, Numeric: true}

// number makes a session function that returns an integer.
func number[P any](part func(Env) P, name string, result types.Type, f func(P) int64) *Func {
	fn := session(part, name, 0, 0, result, func(p P, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return f(p), nil
	})
	fn.NotNull = strings.HasPrefix(name, "@@")
	return fn
}

// word makes a session function that returns a text.
func word[P any](part func(Env) P, name string, result types.Type, f func(P) string) *Func {
	return session(part, name, 0, 0, result, func(p P, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return f(p), nil
	})
}

// sessionFuncs return the state of the session and the server ("System functions", "Configuration
// functions (Transact-SQL)").
var sessionFuncs = []*Func{
	number(ofState, "@@ROWCOUNT", types.IntType, State.RowCount),
	number(ofState, "ROWCOUNT_BIG", types.BigIntType, State.RowCount),
	number(ofState, "@@ERROR", types.IntType, func(s State) int64 { return int64(s.LastError()) }),
	number(ofState, "@@TRANCOUNT", types.IntType, func(s State) int64 { return int64(s.TranCount()) }),
	number(ofConnection, "@@SPID", types.SmallIntType, func(c Connection) int64 { return int64(c.SPID()) }),
	number(ofState, "@@NESTLEVEL", types.IntType, func(s State) int64 { return int64(s.NestLevel()) }),
	number(ofState, "@@PROCID", types.IntType, func(s State) int64 { return int64(s.ProcID()) }),
	session(ofState, "TRIGGER_NESTLEVEL", 0, 3, types.IntType, evalTriggerNestLevel),
	session(ofState, "COLUMNS_UPDATED", 0, 0, types.Type{ID: types.VarBinary, Length: 128}, evalColumnsUpdated),
	number(ofState, "@@OPTIONS", types.IntType, func(s State) int64 { return int64(s.Options()) }),
	number(ofState, "@@LOCK_TIMEOUT", types.IntType, func(s State) int64 { return int64(s.Option("LOCK_TIMEOUT")) }),
	number(ofState, "@@TEXTSIZE", types.IntType, func(s State) int64 { return int64(s.Option("TEXTSIZE")) }),
	number(ofState, "@@DATEFIRST", types.TinyIntType, func(s State) int64 { return int64(s.Option("DATEFIRST")) }),
	number(ofState, "@@FETCH_STATUS", types.IntType, func(s State) int64 { return int64(s.FetchStatus()) }),
	number(ofState, "@@CURSOR_ROWS", types.IntType, func(s State) int64 { return int64(s.CursorRows()) }),
	number(ofNothing, "@@MAX_CONNECTIONS", types.IntType, func(struct{}) int64 { return 32767 }),
	number(ofNothing, "@@MAX_PRECISION", types.TinyIntType, func(struct{}) int64 { return 38 }),
	number(ofNothing, "@@MICROSOFTVERSION", types.IntType, func(struct{}) int64 { return 15<<24 | 4000 }),
	number(ofState, "@@LANGID", types.SmallIntType, func(s State) int64 { return int64(s.Locale().Language) }),
	number(ofState, "XACT_STATE", types.SmallIntType, func(s State) int64 { return int64(s.XactState()) }),
	number(ofState, "CURRENT_TRANSACTION_ID", types.BigIntType, State.TransactionID),
	word(ofNothing, "@@VERSION", types.NVarCharOf(300), func(struct{}) string { return Version }),
	word(ofConnection, "@@SERVERNAME", types.SysName, Connection.ServerName),
	word(ofNothing, "@@SERVICENAME", types.SysName, func(struct{}) string { return "MSSQLSERVER" }),
	word(ofState, "@@LANGUAGE", types.SysName, func(s State) string { return types.LanguageOf(s.Locale()).Name }),
	word(ofNothing, "@@REMSERVER", types.SysName, func(struct{}) string { return "" }),
	// The documentation of CURRENT_TIMEZONE shows this form for a server in UTC.
	word(ofNothing, "CURRENT_TIMEZONE", types.VarCharOf(64), func(struct{}) string { return "(UTC) Coordinated Universal Time" }),
	word(ofNothing, "CURRENT_TIMEZONE_ID", types.VarCharOf(64), func(struct{}) string { return "UTC" }),
	word(ofConnection, "ORIGINAL_DB_NAME", types.SysName, Connection.OriginalDatabase),
	word(ofConnection, "HOST_ID", types.Type{ID: types.Char, Length: 10}, func(c Connection) string { return fmt.Sprintf("%-10d", c.HostProcess()) }),
	number(ofNothing, "CURRENT_REQUEST_ID", types.SmallIntType, func(struct{}) int64 { return 0 }),
	session(ofState, "MIN_ACTIVE_ROWVERSION", 0, 0, types.VarBinaryOf(8), evalMinActiveRowVersion),
	// These counters of the server are not measured.
	number(ofNothing, "@@CONNECTIONS", types.IntType, zero),
	number(ofNothing, "@@CPU_BUSY", types.IntType, zero),
	number(ofNothing, "@@IDLE", types.IntType, zero),
	number(ofNothing, "@@IO_BUSY", types.IntType, zero),
	number(ofNothing, "@@PACK_RECEIVED", types.IntType, zero),
	number(ofNothing, "@@PACK_SENT", types.IntType, zero),
	number(ofNothing, "@@PACKET_ERRORS", types.IntType, zero),
	number(ofNothing, "@@TOTAL_ERRORS", types.IntType, zero),
	number(ofNothing, "@@TOTAL_READ", types.IntType, zero),
	number(ofNothing, "@@TOTAL_WRITE", types.IntType, zero),
	number(ofNothing, "@@TIMETICKS", types.IntType, func(struct{}) int64 { return 31250 }),
	word(ofConnection, "HOST_NAME", types.SysName, Connection.HostName),
	word(ofConnection, "APP_NAME", types.SysName, Connection.AppName),
	session(ofState, "@@DBTS", 0, 0, types.VarBinaryOf(8), func(s State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return s.LastRowVersion()
	}),
	session(ofState, "@@IDENTITY", 0, 0, identityType, evalIdentity(false)),
	session(ofState, "SCOPE_IDENTITY", 0, 0, identityType, evalIdentity(true)),
	session(ofObjects, "IDENT_CURRENT", 1, 1, identityType, evalIdent(0)),
	session(ofObjects, "IDENT_SEED", 1, 1, identityType, evalIdent(1)),
	session(ofObjects, "IDENT_INCR", 1, 1, identityType, evalIdent(2)),
	unicodeKey(session(ofState, "SESSION_CONTEXT", 1, 1, types.VariantType, evalSessionContext)),
	session(ofState, "CONTEXT_INFO", 0, 0, types.VarBinaryOf(128), evalContextInfo),
	session(ofConnection, "SERVERPROPERTY", 1, 1, types.VariantType, evalServerProperty),
	session(ofConnection, "CONNECTIONPROPERTY", 1, 1, types.VariantType, evalConnectionProperty),
	session(ofState, "SESSIONPROPERTY", 1, 1, types.VariantType, evalSessionProperty),
	session(ofState, "CURSOR_STATUS", 2, 2, types.SmallIntType, evalCursorStatus),
	session(ofState, "APPLOCK_MODE", 3, 3, types.NVarCharOf(32), evalApplockMode),
	session(ofState, "APPLOCK_TEST", 4, 4, types.SmallIntType, evalApplockTest),
	session(ofNothing, "GETANSINULL", 0, 1, types.IntType, func(struct{}, []types.Type, types.Type, []types.Value) (types.Value, error) { return int64(1), nil }),
	ofVariant(pure("SQL_VARIANT_PROPERTY", 2, 2, fixed(types.VariantType), evalVariantProperty)),
}

// ofVariant marks a function whose first argument is an sql_variant.
func ofVariant(f *Func) *Func {
	f.Variant = true
	return f
}

// zero is the value of a counter that is not measured.
func zero(struct{}) int64 { return 0 }

// evalMinActiveRowVersion returns the rowversion after the last committed one. A transaction that
// has not committed holds the writer lock of the database, and its values follow that one.
func evalMinActiveRowVersion(s State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
	last, err := s.LastRowVersion()
	if err != nil || len(last) != 8 {
		return nil, err
	}
	return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(last)+1), nil
}

// errorFuncs return the error that a CATCH block handles; NULL outside of CATCH blocks.
var errorFuncs = []*Func{
	caught("ERROR_NUMBER", types.IntType, func(c *Caught) types.Value { return int64(c.Number) }),
	caught("ERROR_SEVERITY", types.IntType, func(c *Caught) types.Value { return int64(c.Severity) }),
	caught("ERROR_STATE", types.IntType, func(c *Caught) types.Value { return int64(c.State) }),
	caught("ERROR_LINE", types.IntType, func(c *Caught) types.Value { return int64(c.Line) }),
	caught("ERROR_MESSAGE", types.NVarCharOf(4000), func(c *Caught) types.Value { return types.Left(c.Message, 4000) }),
	caught("ERROR_PROCEDURE", types.SysName, func(c *Caught) types.Value {
		if c.Procedure == "" {
			return nil
		}
		return c.Procedure
	}),
}

// caught makes one of errorFuncs.
func caught(name string, result types.Type, f func(*Caught) types.Value) *Func {
	return session(ofState, name, 0, 0, result, func(state State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		if c := state.Caught(); c != nil {
			return f(c), nil
		}
		return nil, nil
	})
}

func evalIdentity(scope bool) partEval[State] {
	return func(state State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
		return state.Identity(scope), nil
	}
}

// evalIdent returns a property of a table's identity column: 0 the last value, 1 the seed, 2 the
// increment.
func evalIdent(which int) partEval[Objects] {
	return func(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		_, schema, name, err := objectName(args[0], ts[0])
		if err != nil || name == "" {
			return nil, err
		}
		last, seed, increment, ok := objects.IdentCurrent(schema, name)
		if !ok {
			return nil, nil
		}
		return [...]types.Value{last, seed, increment}[which], nil
	}
}

// unicodeKey lets the first argument of a function be nchar or nvarchar only (error 8116).
func unicodeKey(f *Func) *Func {
	result := f.Result
	f.Result = func(args []types.Type, consts []types.Value) (types.Type, error) {
		if !args[0].IsString() || !args[0].IsUnicode() {
			name := args[0].MessageName()
			if args[0].ID == types.Null {
				name = "NULL"
			}
			return types.Type{}, mserr.InvalidArgumentType(name, 1, strings.ToLower(f.Name))
		}
		return result(args, consts)
	}
	return f
}

// evalSessionContext returns a value that sp_set_session_context has set.
func evalSessionContext(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	key, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return state.SessionContext(key), nil
}

func evalContextInfo(state State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
	if b := state.ContextInfo(); b != nil {
		return b, nil
	}
	return nil, nil
}

// property packs the result of one of Env's property methods.
func property(v types.Value, t types.Type, ok bool) (types.Value, error) {
	if !ok || v == nil {
		return nil, nil
	}
	return types.VariantPack(v, t)
}

func evalServerProperty(connection Connection, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return property(connection.ServerProperty(types.TrimBlanks(name)))
}

func evalConnectionProperty(connection Connection, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return property(connection.ConnectionProperty(types.TrimBlanks(name)))
}

// optionBits are the bits of @@OPTIONS that SESSIONPROPERTY shows ("user options").
var optionBits = map[string]int{
	"ANSI_NULLS": 32, "ANSI_PADDING": 16, "ANSI_WARNINGS": 8, "ARITHABORT": 64, "CONCAT_NULL_YIELDS_NULL": 4096,
	"NUMERIC_ROUNDABORT": 8192, "QUOTED_IDENTIFIER": 256,
}

func evalSessionProperty(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	bit, ok := optionBits[strings.ToUpper(types.TrimBlanks(name))]
	if !ok {
		return nil, nil
	}
	return types.VariantPack(types.BitOf(state.Options()&bit != 0), types.IntType)
}

func evalCursorStatus(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return int64(state.CursorStatus(strings.ToLower(a[0]), a[1])), nil
}

func evalApplockMode(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return state.ApplockMode(a[0], a[1], a[2]), nil
}

func evalApplockTest(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return types.BitOf(state.ApplockTest(a[0], a[1], a[2], a[3])), nil
}

// texts reads all arguments as texts; nil if one of them is NULL.
func texts(ts []types.Type, args []types.Value) ([]string, error) {
	out := make([]string, len(args))
	for i, a := range args {
		if a == nil {
			return nil, nil
		}
		s, err := convert.Text(a, ts[i])
		if err != nil {
			return nil, err
		}
		out[i] = types.TrimBlanks(s)
	}
	return out, nil
}

// evalVariantProperty returns a property of the base type of a sql_variant, or of another value's
// type.
func evalVariantProperty(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	t, v := ts[0], args[0]
	if t.ID == types.Variant {
		var err error
		if t, v, err = types.VariantUnpack(v); err != nil {
			return nil, err
		}
	}
	name, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(types.TrimBlanks(name)) {
	case "basetype":
		return types.VariantPack(t.Name(), types.SysName)
	case "precision":
		return types.VariantPack(int64(t.SysPrecision()), types.IntType)
	case "scale":
		return types.VariantPack(int64(t.SysScale()), types.IntType)
	case "maxlength":
		return types.VariantPack(int64(t.MaxLength()), types.IntType)
	case "totalbytes":
		return types.VariantPack(int64(types.DataLength(v, t)+2), types.IntType)
	case "collation":
		if t.IsCharacter() {
			return types.VariantPack(t.Collation.String(), types.SysName)
		}
	}
	return nil, nil
}

// evalTriggerNestLevel evaluates TRIGGER_NESTLEVEL. Unknown types and categories, and NULL, return
// NULL (documentation of TRIGGER_NESTLEVEL).
func evalTriggerNestLevel(state State, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	object, kind := 0, ""
	for i, a := range args {
		if a == nil {
			return nil, nil
		}
		switch i {
		case 0:
			n, err := convert.Integer(a, ts[i])
			if err != nil {
				return nil, err
			}
			object = n
		case 1:
			kind, _ = a.(string)
			if !strings.EqualFold(kind, "AFTER") && !strings.EqualFold(kind, "IOT") {
				return nil, nil
			}
		case 2:
			if category, _ := a.(string); !strings.EqualFold(category, "DML") {
				return int64(0), nil // there are no DDL triggers
			}
		}
	}
	return int64(state.TriggerNestLevel(int32(object), strings.EqualFold(kind, "IOT"), strings.EqualFold(kind, "AFTER"))), nil
}

// evalColumnsUpdated evaluates COLUMNS_UPDATED.
func evalColumnsUpdated(state State, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
	bits, ok := state.ColumnsUpdated()
	if !ok {
		return nil, mserr.UpdateOutsideTrigger()
	}
	return bits, nil
}
