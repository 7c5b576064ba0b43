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
	fn := of0(part, name, result, func(p P) (types.Value, error) { return f(p), nil })
	fn.NotNull = strings.HasPrefix(name, "@@")
	return fn
}

// word makes a session function that returns a text.
func word[P any](part func(Env) P, name string, result types.Type, f func(P) string) *Func {
	return of0(part, name, result, func(p P) (types.Value, error) { return f(p), nil })
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
	of0(ofState, "COLUMNS_UPDATED", types.VarBinaryOf(128), evalColumnsUpdated),
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
	of0(ofState, "MIN_ACTIVE_ROWVERSION", types.VarBinaryOf(8), evalMinActiveRowVersion),
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
	of0(ofState, "@@DBTS", types.VarBinaryOf(8), func(s State) (types.Value, error) { return s.LastRowVersion() }),
	of0(ofState, "@@IDENTITY", identityType, func(s State) (types.Value, error) { return s.Identity(false), nil }),
	of0(ofState, "SCOPE_IDENTITY", identityType, func(s State) (types.Value, error) { return s.Identity(true), nil }),
	of1(ofObjects, "IDENT_CURRENT", identityType, aName, evalIdent(0)),
	of1(ofObjects, "IDENT_SEED", identityType, aName, evalIdent(1)),
	of1(ofObjects, "IDENT_INCR", identityType, aName, evalIdent(2)),
	unicodeKey(of1(ofState, "SESSION_CONTEXT", types.VariantType, aKey, func(s State, key string) (types.Value, error) { return s.SessionContext(key), nil })),
	of0(ofState, "CONTEXT_INFO", types.VarBinaryOf(128), evalContextInfo),
	of1(ofConnection, "SERVERPROPERTY", types.VariantType, aText, evalServerProperty),
	of1(ofConnection, "CONNECTIONPROPERTY", types.VariantType, aText, evalConnectionProperty),
	of1(ofState, "SESSIONPROPERTY", types.VariantType, aText, evalSessionProperty),
	of2(ofState, "CURSOR_STATUS", types.SmallIntType, aText, aText, evalCursorStatus),
	of3(ofState, "APPLOCK_MODE", types.NVarCharOf(32), aText, aText, aText, evalApplockMode),
	session(ofState, "APPLOCK_TEST", 4, 4, types.SmallIntType, evalApplockTest),
	upTo(1, number(ofNothing, "GETANSINULL", types.IntType, func(struct{}) int64 { return 1 })),
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
func evalMinActiveRowVersion(s State) (types.Value, error) {
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
	return of0(ofState, name, result, func(state State) (types.Value, error) {
		if c := state.Caught(); c != nil {
			return f(c), nil
		}
		return nil, nil
	})
}

// evalIdent returns a property of a table's identity column: 0 the last value, 1 the seed, 2 the
// increment.
func evalIdent(which int) func(Objects, qualified) (types.Value, error) {
	return func(objects Objects, q qualified) (types.Value, error) {
		last, seed, increment, ok := objects.IdentCurrent(q.schema, q.name)
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

func evalContextInfo(state State) (types.Value, error) {
	if b := state.ContextInfo(); b != nil {
		return b, nil
	}
	return nil, nil
}

func evalServerProperty(c Connection, name string) (types.Value, error) {
	return property(c.ServerProperty(name))
}

func evalConnectionProperty(c Connection, name string) (types.Value, error) {
	return property(c.ConnectionProperty(name))
}

// optionBits are the bits of @@OPTIONS that SESSIONPROPERTY shows ("user options").
var optionBits = map[string]int{
	"ANSI_NULLS": 32, "ANSI_PADDING": 16, "ANSI_WARNINGS": 8, "ARITHABORT": 64, "CONCAT_NULL_YIELDS_NULL": 4096,
	"NUMERIC_ROUNDABORT": 8192, "QUOTED_IDENTIFIER": 256,
}

func evalSessionProperty(state State, name string) (types.Value, error) {
	bit, ok := optionBits[strings.ToUpper(name)]
	return property(types.BitOf(state.Options()&bit != 0), types.IntType, ok)
}

func evalCursorStatus(state State, scope, name string) (types.Value, error) {
	return int64(state.CursorStatus(strings.ToLower(scope), name)), nil
}

func evalApplockMode(state State, principal, resource, owner string) (types.Value, error) {
	return state.ApplockMode(principal, resource, owner), nil
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

func evalColumnsUpdated(state State) (types.Value, error) {
	bits, ok := state.ColumnsUpdated()
	if !ok {
		return nil, mserr.UpdateOutsideTrigger()
	}
	return bits, nil
}
